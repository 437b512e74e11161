// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace portops::graph {

/// What is asked of a verified plan to find steps that calls may make for others: who reads what, and where it lies.
class PlanFacts {
 public:
  PlanFacts(const Program& program, const Plan& plan);

  const Program& program() const { return program_; }
  const Plan& plan() const { return plan_; }

  bool is_run(std::size_t step) const { return step < plan_.steps.size() && plan_.steps[step].kind == Step::Kind::run; }
  /// Of a step that is a run or a view.
  const Call& call_of(std::size_t step) const {
    return program_.calls()[static_cast<std::size_t>(plan_.steps[step].call)];
  }
  /// The step behind this one, but for views, if it is a call; and the one behind or before it, if it is one of that
  /// operator.
  std::optional<std::size_t> next_run(std::size_t step) const;
  std::optional<std::size_t> next_run(std::size_t step, std::string_view op) const;
  std::optional<std::size_t> previous_run(std::size_t step, std::string_view op) const;

  /// The steps that read the elements of a value, one for each operand; one behind the last for a program's output.
  const std::vector<std::size_t>& readers(ValueId value) const { return readers_[index_of(value)]; }
  bool is_read_once(ValueId value) const { return readers(value).size() == 1; }

  const Place& place_of(ValueId value) const { return plan_.places[index_of(value)]; }
  bool is_constant(ValueId value) const { return plan_.constants[index_of(value)] != 0; }
  /// Whether a value has the elements of another one at the same distances.
  bool lies_like(ValueId value, ValueId other) const;
  /// Whether any of the bytes from a value's first element to its last one are bytes of the other one.
  bool overlap(ValueId a, ValueId b) const;
  /// Whether, written by the call, it would lie where the call has other operands than its own one.
  bool writes_over_others(const Call& call, ValueId own, ValueId written) const;
  /// Whether a parameter, which may be none, is at the step what it was when the program began.
  bool is_untouched(ValueId parameter, std::size_t step) const;

 private:
  static std::size_t index_of(ValueId value) { return static_cast<std::size_t>(value.index); }
  /// Where a place's bytes lie: of a result that is left in an input, in that.
  Place memory_of(Place place) const;
  /// The bytes from a value's first element to its last one, which views may have in any order, and others between.
  struct Span {
    std::int64_t begin, end;
  };
  Span span_of(ValueId value) const;

  const Program& program_;
  const Plan& plan_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> first_write_;  ///< of each input the first step that writes there, or behind the last
};

/// What an operand is, or none where it is not given or no value.
inline ValueId value_of(const Operand* operand) {
  return operand != nullptr && operand->is_value() ? operand->value() : ValueId();
}

/// Whether the call is the gradient of that batch norm, in training, with respect to x at least.
bool is_gradient_of_norm(const Call& grad, const Call& norm);

}  // namespace portops::graph
