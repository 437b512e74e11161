// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/join.hpp"

#include "graph/call_facts.hpp"
#include "graph/plan_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace portops::graph {
namespace {

class StepJoins {
 public:
  StepJoins(const PlanFacts& facts, Backend backend)
      : facts_(facts), program_(facts.program()), is_on_host_(backend != Backend::cuda) {}

  /// What the step can make, if anything.
  std::optional<JoinedSteps> from(std::size_t step) const {
    if (!facts_.is_run(step)) return {};
    const Call& maker = facts_.call_of(step);
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
    if (is_on_host_ || !facts_.is_run(step)) return {};
    const Call& relu = facts_.call_of(step);
    const auto next = facts_.next_run(step, "batch_norm_grad");
    if (relu.op != "relu_grad" || !next) return {};
    const Call& grad = facts_.call_of(*next);
    const ValueId passed = relu.result("x_grad"), out = value_of(relu.input("out"));
    const Call* const norm = norm_before_relu(out);
    const ReluGradient found{step, *next, value_of(relu.input("out_grad")), value_of(grad.input("bias"))};
    const bool fits = value_of(grad.input("out_grad")) == passed && facts_.is_read_once(passed) && norm != nullptr &&
                      found.out_grad && is_gradient_of_norm(grad, *norm);
    // Nobody reads the parameters of one that was computed beforehand.
    if (!fits || facts_.is_constant(out)) return {};
    return is_readable(found, grad) && facts_.is_untouched(found.bias, *next) ? std::optional(found) : std::nullopt;
  }

 private:
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
  /// Whether out_grad stays what it is while the call writes.
  bool is_readable(const ReluGradient& joined, const Call& grad) const {
    const ValueId x_grad = grad.result("x_grad");
    return std::ranges::all_of(grad.outputs, [&](const NamedOperand& output) {
      const ValueId value = output.operand.value();
      if (!value || !facts_.overlap(joined.out_grad, value)) return true;
      return value == x_grad && facts_.lies_like(value, joined.out_grad) &&
             facts_.place_of(value).offset == facts_.place_of(joined.out_grad).offset;
    });
  }

  /// Adds the next step, if it may be joined.
  bool take_next(JoinedSteps& joined, const Call& maker) const {
    if (!facts_.is_read_once(joined.result)) return false;
    const std::optional<std::size_t> next = facts_.next_run(joined.last);
    if (!next) return false;
    const Call& call = facts_.call_of(*next);
    if (call.op == "add") {
      const ValueId addend = addend_of(call, joined.result);
      if (joined.addend || !addend || !facts_.lies_like(addend, maker.result("out"))) return false;
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

  bool is_writable(const JoinedSteps& joined, const Call& maker) const {
    const ValueId own = maker.result("out");
    return facts_.lies_like(joined.result, own) && !facts_.writes_over_others(maker, own, joined.result) &&
           (!joined.addend || !facts_.overlap(joined.result, joined.addend) ||
            facts_.place_of(joined.result).offset == facts_.place_of(joined.addend).offset);
  }

  const PlanFacts& facts_;
  const Program& program_;
  bool is_on_host_;
};

}  // namespace

Joins find_joins(const Program& program, const Plan& plan, Backend backend) {
  Joins all;
  if (plan.instances > 1) return all;
  const PlanFacts facts(program, plan);
  if (backend == Backend::cuda) all.maxima = find_joined_maxima(facts);
  std::vector<std::uint8_t> is_taken(plan.steps.size());
  const auto take = [&](std::size_t first, std::size_t last) {
    std::fill(is_taken.begin() + static_cast<std::ptrdiff_t>(first),
              is_taken.begin() + static_cast<std::ptrdiff_t>(last) + 1, std::uint8_t{1});
  };
  for (const JoinedMaxima& joined : all.maxima) {
    take(joined.norm, joined.last);
    if (joined.gradient) take(joined.gradient->first, joined.gradient->norm_grad);
  }
  const StepJoins joins(facts, backend);
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    if (is_taken[step] != 0) continue;
    if (const auto joined = joins.from(step)) {
      take(joined->first, joined->last);
      all.steps.push_back(*joined);
    } else if (const auto gradient = joins.relu_gradient_from(step)) {
      all.relu_gradients.push_back(*gradient);
    }
  }
  return all;
}

}  // namespace portops::graph
