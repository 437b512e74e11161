// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/join.hpp"

#include "core/types/tensor_ref.hpp"
#include "graph/call_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace portops::graph {
namespace {

class Joins {
 public:
  Joins(const Program& program, const Plan& plan, Backend backend)
      : program_(program), plan_(plan), is_on_host_(backend != Backend::cuda), uses_(program.values().size()) {
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

 private:
  bool is_run(std::size_t step) const { return step < plan_.steps.size() && plan_.steps[step].kind == Step::Kind::run; }
  const Call& call_of(const Step& step) const { return program_.calls()[static_cast<std::size_t>(step.call)]; }
  const Place& place_of(ValueId value) const { return plan_.places[static_cast<std::size_t>(value.index)]; }

  /// Adds the next step, if it may be joined.
  bool take_next(JoinedSteps& joined, const Call& maker) const {
    if (uses_[static_cast<std::size_t>(joined.result.index)] != 1) return false;
    std::size_t next = joined.last + 1;
    while (next < plan_.steps.size() && plan_.steps[next].kind == Step::Kind::view) ++next;
    if (!is_run(next)) return false;
    const Call& call = call_of(plan_.steps[next]);
    if (call.op == "add") {
      const ValueId addend = addend_of(call, joined.result);
      if (joined.addend || !addend || !lies_like(addend, maker.result("out"))) return false;
      joined.addend = addend;
    } else {
      const auto bounds = bounds_of(call);
      if (!bounds || call.input("x")->value() != joined.result) return false;
      joined.bounds = *bounds;
    }
    joined.last = next;
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

  /// Where a value lies; of a result that is left in an input, in that.
  Place memory_of(ValueId value) const {
    Place place = place_of(value);
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
  std::vector<std::int32_t> uses_;  ///< of each value how often it is read or a result
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

}  // namespace portops::graph
