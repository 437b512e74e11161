// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/plan_facts.hpp"

#include "core/types/tensor_ref.hpp"
#include "graph/call_facts.hpp"

#include <algorithm>
#include <array>

namespace portops::graph {

PlanFacts::PlanFacts(const Program& program, const Plan& plan)
    : program_(program),
      plan_(plan),
      readers_(program.values().size()),
      first_write_(program.values().size(), plan.steps.size()) {
  std::vector<std::uint8_t> computed;
  for (std::size_t value = 0; value < readers_.size(); ++value) {
    computed.push_back(plan.places[value].memory != MemoryKind::none ? 1 : 0);
  }
  const auto write = [&](const Place& place, std::size_t step) {
    const Place memory = memory_of(place);
    if (memory.memory != MemoryKind::input) return;
    std::size_t& first = first_write_[static_cast<std::size_t>(memory.index)];
    first = std::min(first, step);
  };
  for (std::size_t number = 0; number < plan.steps.size(); ++number) {
    const Step& step = plan.steps[number];
    if (step.kind == Step::Kind::copy) {
      write(plan.places[static_cast<std::size_t>(step.to)], number);
      continue;
    }
    const Call& call = call_of(number);
    for (const NamedOperand& input : call.inputs) {
      if (!reads_elements(call, input.name, computed)) continue;
      for (const ValueId value : input.operand.values()) {
        if (value) readers_[index_of(value)].push_back(number);
      }
    }
    if (step.kind == Step::Kind::view) continue;
    for (const NamedOperand& output : call.outputs) {
      for (const ValueId value : output.operand.values()) {
        if (value) write(place_of(value), number);
      }
    }
  }
  for (const ProgramOutput& output : program.outputs()) readers_[index_of(output.value)].push_back(plan.steps.size());
}

std::optional<std::size_t> PlanFacts::next_run(std::size_t step) const {
  do ++step;
  while (step < plan_.steps.size() && plan_.steps[step].kind == Step::Kind::view);
  return is_run(step) ? std::optional(step) : std::nullopt;
}

std::optional<std::size_t> PlanFacts::next_run(std::size_t step, std::string_view op) const {
  const std::optional<std::size_t> next = next_run(step);
  return next && call_of(*next).op == op ? next : std::nullopt;
}

std::optional<std::size_t> PlanFacts::previous_run(std::size_t step, std::string_view op) const {
  while (step > 0 && plan_.steps[step - 1].kind == Step::Kind::view) --step;
  return step > 0 && is_run(step - 1) && call_of(step - 1).op == op ? std::optional(step - 1) : std::nullopt;
}

bool PlanFacts::lies_like(ValueId value, ValueId other) const {
  const ValueInfo &its = program_.value(value), &others = program_.value(other);
  return its.type == others.type && its.extents == others.extents &&
         lie_alike(its.extents, place_of(value).strides, place_of(other).strides);
}

Place PlanFacts::memory_of(Place place) const {
  if (place.memory == MemoryKind::output) {
    if (const ValueId over = program_.outputs()[static_cast<std::size_t>(place.index)].over) {
      place.memory = MemoryKind::input;
      place.index = over.index;
    }
  }
  return place;
}

PlanFacts::Span PlanFacts::span_of(ValueId value) const {
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

bool PlanFacts::overlap(ValueId a, ValueId b) const {
  const Place one = memory_of(place_of(a)), other = memory_of(place_of(b));
  const Span of_a = span_of(a), of_b = span_of(b);
  return one.memory == other.memory && one.index == other.index && of_a.begin < of_b.end && of_b.begin < of_a.end;
}

bool PlanFacts::writes_over_others(const Call& call, ValueId own, ValueId written) const {
  const auto overlaps = [&](const NamedOperand& each) {
    return std::ranges::any_of(each.operand.values(),
                               [&](ValueId value) { return value && value != own && overlap(written, value); });
  };
  return std::ranges::any_of(call.inputs, overlaps) || std::ranges::any_of(call.outputs, overlaps);
}

bool PlanFacts::is_untouched(ValueId parameter, std::size_t step) const {
  if (!parameter) return true;
  const Place& place = place_of(parameter);
  if (place.memory == MemoryKind::constant) return true;
  return place.memory == MemoryKind::input && first_write_[static_cast<std::size_t>(place.index)] > step;
}

bool is_gradient_of_norm(const Call& grad, const Call& norm) {
  const auto is_in_training = [](const Call& call) { return !std::get<bool>(call.attributes.at("is_test")); };
  const auto is_same = [](const Operand* its, const Operand* other) {
    return (its == nullptr) == (other == nullptr) && value_of(its) == value_of(other);
  };
  return grad.op == "batch_norm_grad" && norm.op == "batch_norm" && is_in_training(grad) && is_in_training(norm) &&
         value_of(grad.output("x_grad")) && grad.attributes.at("data_layout") == norm.attributes.at("data_layout") &&
         std::ranges::all_of(std::array{"x", "scale", "bias"},
                             [&](const char* name) { return is_same(grad.input(name), norm.input(name)); }) &&
         std::ranges::all_of(std::array{"saved_mean", "saved_inv_std"},
                             [&](const char* name) { return is_same(grad.input(name), norm.output(name)); });
}

}  // namespace portops::graph
