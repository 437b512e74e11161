// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/join.hpp"

#include "core/types/tensor_ref.hpp"
#include "graph/call_facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace portops::graph {
namespace {

class Joins {
 public:
  Joins(const Program& program, const Plan& plan, Backend backend)
      : program_(program),
        plan_(plan),
        is_on_host_(backend != Backend::cuda),
        uses_(program.values().size()),
        first_write_(program.values().size(), plan.steps.size()) {
    const auto use = [&](ValueId value) {
      if (value) ++uses_[static_cast<std::size_t>(value.index)];
    };
    for (const Step& step : plan.steps) {
      if (step.kind == Step::Kind::copy) continue;
      for (const NamedOperand& input : call_of(step).inputs) {
        for (const ValueId value : input.operand.values()) use(value);
      }
    }
    for (const ProgramOutput& output : program.outputs()) use(output.value);
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      for_written(plan.steps[step], [&](const Place& place) {
        if (place.memory != MemoryKind::input) return;
        std::size_t& first = first_write_[static_cast<std::size_t>(place.index)];
        first = std::min(first, step);
      });
    }
  }

  /// What the step can make, if anything.
  std::optional<JoinedSteps> from(std::size_t step) const {
    if (!is_run(step)) return {};
    const Call& maker = call_of(plan_.steps[step]);
    const bool is_norm = maker.op == "batch_norm";
    if (!is_norm && !(is_on_host_ && is_convolution(maker))) return {};
    std::optional<JoinedSteps> found;
    JoinedSteps joined{step, step, maker.result("out")};
    while (!joined.bounds && take_next(joined, maker)) {
      const bool is_taken = !is_norm || (!joined.addend && joined.bounds == impl::Bounds{.min = 0.0});
      if (is_taken && is_writable(joined, maker)) found = joined;
    }
    return found;
  }

  /// What the step, the gradient of a batch norm's relu, leaves to the batch norm's own, if anything.
  std::optional<ReluGradient> relu_gradient_from(std::size_t step) const {
    if (is_on_host_ || !is_run(step)) return {};
    const Call& relu = call_of(plan_.steps[step]);
    const std::optional<std::size_t> next = next_run(step);
    if (relu.op != "relu_grad" || !next) return {};
    const Call& grad = call_of(plan_.steps[*next]);
    const ValueId passed = relu.result("x_grad");
    if (grad.op != "batch_norm_grad" || value_of(grad.input("out_grad")) != passed) return {};
    const Call* const norm = norm_before_relu(value_of(relu.input("out")));
    const ReluGradient found{step, *next, value_of(relu.input("out_grad")), value_of(grad.input("bias"))};
    const bool is_alone = uses_[static_cast<std::size_t>(passed.index)] == 1;
    if (norm == nullptr || !found.out_grad || !is_alone || !is_gradient_of(grad, *norm)) return {};
    // Nobody reads the parameters of one that was computed beforehand.
    if (plan_.constants[static_cast<std::size_t>(value_of(relu.input("out")).index)] != 0) return {};
    return is_readable(found, grad) ? std::optional(found) : std::nullopt;
  }

 private:
  bool is_run(std::size_t step) const { return step < plan_.steps.size() && plan_.steps[step].kind == Step::Kind::run; }
  const Call& call_of(const Step& step) const { return program_.calls()[static_cast<std::size_t>(step.call)]; }
  const Place& place_of(ValueId value) const { return plan_.places[static_cast<std::size_t>(value.index)]; }

  /// The step behind this one, but for views, if it is a call.
  std::optional<std::size_t> next_run(std::size_t step) const {
    do ++step;
    while (step < plan_.steps.size() && plan_.steps[step].kind == Step::Kind::view);
    return is_run(step) ? std::optional(step) : std::nullopt;
  }

  /// What an operand is, or none where it is not given or no value.
  static ValueId value_of(const Operand* operand) {
    return operand != nullptr && operand->is_value() ? operand->value() : ValueId();
  }
  /// The call of that operator that makes a value, or null.
  const Call* maker_of(ValueId value, std::string_view op) const {
    if (!value || program_.value(value).origin != Origin::call) return nullptr;
    const Call& call = program_.calls()[static_cast<std::size_t>(program_.value(value).call)];
    return call.op == op ? &call : nullptr;
  }
  /// The batch norm of whose result relu makes the value, or null.
  const Call* norm_before_relu(ValueId value) const {
    const Call* const relu = maker_of(value, "relu");
    const Call* const norm = relu == nullptr ? nullptr : maker_of(value_of(relu->input("x")), "batch_norm");
    return norm != nullptr && value_of(norm->output("out")) == value_of(relu->input("x")) ? norm : nullptr;
  }
  /// Whether the call is the gradient of the other one, in training.
  static bool is_gradient_of(const Call& grad, const Call& norm) {
    const auto is_in_training = [](const Call& call) { return !std::get<bool>(call.attributes.at("is_test")); };
    const auto is_same = [](const Operand* its, const Operand* other) {
      return (its == nullptr) == (other == nullptr) && value_of(its) == value_of(other);
    };
    return is_in_training(grad) && is_in_training(norm) && value_of(grad.output("x_grad")) &&
           grad.attributes.at("data_layout") == norm.attributes.at("data_layout") &&
           std::ranges::all_of(std::array{"x", "scale", "bias"},
                               [&](const char* name) { return is_same(grad.input(name), norm.input(name)); }) &&
           std::ranges::all_of(std::array{"saved_mean", "saved_inv_std"},
                               [&](const char* name) { return is_same(grad.input(name), norm.output(name)); });
  }
  /// Whether out_grad stays what it is while the call writes, and bias what the batch norm had.
  bool is_readable(const ReluGradient& joined, const Call& grad) const {
    const ValueId x_grad = grad.result("x_grad");
    for (const NamedOperand& output : grad.outputs) {
      const ValueId value = output.operand.value();
      if (!value || !overlap(joined.out_grad, value)) continue;
      const bool is_in_place = value == x_grad && lies_like(value, joined.out_grad) &&
                               place_of(value).offset == place_of(joined.out_grad).offset;
      if (!is_in_place) return false;
    }
    if (!joined.bias) return true;
    const Place& bias = place_of(joined.bias);
    if (bias.memory == MemoryKind::constant) return true;
    return bias.memory == MemoryKind::input && first_write_[static_cast<std::size_t>(bias.index)] > joined.norm_grad;
  }

  /// Adds the next step, if it may be joined.
  bool take_next(JoinedSteps& joined, const Call& maker) const {
    if (uses_[static_cast<std::size_t>(joined.result.index)] != 1) return false;
    const std::optional<std::size_t> next = next_run(joined.last);
    if (!next) return false;
    const Call& call = call_of(plan_.steps[*next]);
    if (call.op == "add") {
      const ValueId addend = addend_of(call, joined.result);
      if (joined.addend || !addend || !lies_like(addend, maker.result("out"))) return false;
      joined.addend = addend;
    } else {
      const auto bounds = bounds_of(call);
      if (!bounds || call.input("x")->value() != joined.result) return false;
      joined.bounds = *bounds;
    }
    joined.last = *next;
    joined.result = call.result("out");
    return true;
  }

  /// Between which numbers the call clips, if it does. Those that it would refuse are its own affair.
  static std::optional<impl::Bounds> bounds_of(const Call& call) {
    if (call.op == "relu") return impl::Bounds{.min = 0.0};
    if (call.op != "clip") return {};
    const auto number = [&](const char* name) { return std::get<double>(call.attributes.at(name)); };
    const impl::Bounds bounds{number("min"), number("max")};
    if (!bounds || std::isnan(bounds.min) || std::isnan(bounds.max)) return {};
    return bounds;
  }

  /// What the call adds to a value, or none.
  static ValueId addend_of(const Call& call, ValueId value) {
    const Operand *const x = call.input("x"), *const y = call.input("y");
    if (!x->is_value() || !y->is_value()) return {};
    if (x->value() == value) return y->value();
    return y->value() == value ? x->value() : ValueId();
  }

  /// Whether a value has the elements of another one at the same distances.
  bool lies_like(ValueId value, ValueId other) const {
    const ValueInfo &its = program_.value(value), &others = program_.value(other);
    return its.type == others.type && its.extents == others.extents &&
           lie_alike(its.extents, place_of(value).strides, place_of(other).strides);
  }

  /// Calls action(place) for all that the step writes.
  template <class Action>
  void for_written(const Step& step, const Action& action) const {
    if (step.kind == Step::Kind::view) return;
    if (step.kind == Step::Kind::copy) return action(memory_of(plan_.places[static_cast<std::size_t>(step.to)]));
    for (const NamedOperand& output : call_of(step).outputs) {
      for (const ValueId value : output.operand.values()) {
        if (value) action(memory_of(value));
      }
    }
  }

  /// Where a value lies; of a result that is left in an input, in that.
  Place memory_of(ValueId value) const { return memory_of(place_of(value)); }
  Place memory_of(Place place) const {
    if (place.memory == MemoryKind::output) {
      if (const ValueId over = program_.outputs()[static_cast<std::size_t>(place.index)].over) {
        place.memory = MemoryKind::input;
        place.index = over.index;
      }
    }
    return place;
  }
  /// The bytes from a value's first element to its last one, which views may have in any order, and others between.
  struct Span {
    std::int64_t begin, end;
  };
  Span span_of(ValueId value) const {
    const ValueInfo& info = program_.value(value);
    const Place& place = place_of(value);
    if (info.extents.product() == 0) return {place.offset, place.offset};
    std::int64_t first = 0, last = 1;
    for (int axis = 0; axis < info.extents.rank(); ++axis) {
      const std::int64_t way = (info.extents[axis] - 1) * place.strides[axis];
      (way < 0 ? first : last) += way;
    }
    const auto size = static_cast<std::int64_t>(size_of(info.type));
    return {place.offset + first * size, place.offset + last * size};
  }
  bool overlap(ValueId a, ValueId b) const {
    const Place one = memory_of(a), other = memory_of(b);
    const Span of_a = span_of(a), of_b = span_of(b);
    return one.memory == other.memory && one.index == other.index && of_a.begin < of_b.end && of_b.begin < of_a.end;
  }

  bool is_writable(const JoinedSteps& joined, const Call& maker) const {
    if (!lies_like(joined.result, maker.result("out"))) return false;
    // Nor may it lie where the maker leaves something else.
    for (const std::vector<NamedOperand>* operands : {&maker.inputs, &maker.outputs}) {
      for (const NamedOperand& each : *operands) {
        for (const ValueId value : each.operand.values()) {
          if (value && value != maker.result("out") && overlap(joined.result, value)) return false;
        }
      }
    }
    return !joined.addend || !overlap(joined.result, joined.addend) ||
           place_of(joined.result).offset == place_of(joined.addend).offset;
  }

  const Program& program_;
  const Plan& plan_;
  bool is_on_host_;
  std::vector<std::int32_t> uses_;        ///< of each value how often it is read or a result
  std::vector<std::size_t> first_write_;  ///< of each input the first step that writes there, or behind the last
};

}  // namespace

std::vector<JoinedSteps> join_steps(const Program& program, const Plan& plan, Backend backend) {
  std::vector<JoinedSteps> all;
  if (plan.instances > 1) return all;
  const Joins joins(program, plan, backend);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    if (const auto joined = joins.from(step)) {
      all.push_back(*joined);
      step = joined->last;
    }
  }
  return all;
}

std::vector<ReluGradient> join_relu_gradients(const Program& program, const Plan& plan, Backend backend) {
  std::vector<ReluGradient> all;
  if (plan.instances > 1) return all;
  const Joins joins(program, plan, backend);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    if (const auto joined = joins.relu_gradient_from(step)) all.push_back(*joined);
  }
  return all;
}

}  // namespace portops::graph
