// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/verifier.hpp"

#include "graph/verifier_class.hpp"

#include <algorithm>

// Shares no code with the planner, on purpose.

namespace portops::graph {

void Verifier::run() {
  check_form();
  find_order();
  begin();
  for (std::int32_t step = 0; step < finish_; ++step) {
    switch (step_of(step).kind) {
      case Step::Kind::run: add_call(step); break;
      case Step::Kind::view: add_view(step); break;
      case Step::Kind::copy: add_copy(step); break;
    }
  }
  finish();
}

std::string Verifier::step_name(std::int32_t step) const {
  if (step == start) return "the beginning";
  if (step == finish_) return "the end";
  const Step& its = step_of(step);
  const std::string what =
      its.kind == Step::Kind::copy ? "copy" : program_.calls()[static_cast<std::size_t>(its.call)].op;
  return "step " + std::to_string(step) + " (" + what + ")";
}

void Verifier::check_form() {
  if (plan_.constants != constants_ || constants_.size() != program_.values().size()) refuse("other constants");
  if (plan_.outputs.size() != program_.outputs().size()) refuse("other outputs");
  is_left_in_.resize(program_.values().size());
  for (const ProgramOutput& output : program_.outputs()) {
    if (output.over) is_left_in_[static_cast<std::size_t>(output.over.index)] = 1;
  }
  if (plan_.instances < 1 || plan_.arena_bytes < 0) refuse("no instance, or no arena");
  for (std::int32_t step = 0; step < finish_; ++step) {
    const Step& its = step_of(step);
    if (its.instance < 0 || its.instance >= plan_.instances) refuse("step ", step, " on instance ", its.instance);
    for (const std::int32_t each : its.after) {
      if (each < 0 || each >= step) refuse("step ", step, " waits for step ", each);
    }
    if (its.kind == Step::Kind::copy) {
      const auto known = values() + static_cast<std::int32_t>(copied_from_.size());
      if (its.from < 0 || its.from >= known || its.to != known) refuse("step ", step, " copies from nowhere");
      copied_from_.push_back(its.from);
    } else if (its.call < 0 || static_cast<std::size_t>(its.call) >= program_.calls().size()) {
      refuse("step ", step, " is no call");
    }
  }
  if (plan_.places.size() != program_.values().size() + copied_from_.size()) refuse("places of other values");
  for (std::int32_t content = 0; content < static_cast<std::int32_t>(plan_.places.size()); ++content) {
    if (place(content).memory == MemoryKind::none) continue;
    if (place(content).strides.rank() != info(content).extents.rank()) refuse(name(content), " has other axes");
  }
}

/// Inputs and constants are there before the first step.
void Verifier::begin() {
  shown_.assign(static_cast<std::size_t>(values()), nowhere);
  is_written_.assign(plan_.places.size(), 0);
  for (std::int32_t value = 0; value < values(); ++value) {
    const bool is_input = info(value).origin == Origin::input;
    const bool is_constant = plan_.constants[static_cast<std::size_t>(value)] != 0;
    if (!is_input && !is_constant) continue;
    if (is_input && is_constant) refuse("the input ", name(value), " is a constant");
    shown_[static_cast<std::size_t>(value)] = value;
    if (place(value).memory == MemoryKind::none) continue;
    const MemoryKind expected = is_input ? MemoryKind::input : MemoryKind::constant;
    if (place(value).memory != expected || place(value).index != value || place(value).offset != 0 ||
        !is_laid_out_in_rows(value)) {
      refuse(name(value), " does not lie in memory of its own");
    }
    overwrite(access_of(start, value, value));
  }
}

bool Verifier::is_laid_out_in_rows(std::int32_t content) const {
  std::int64_t stride = 1;
  const Extents& extents = info(content).extents;
  for (int axis = extents.rank() - 1; axis >= 0; --axis) {
    if (extents[axis] > 1 && place(content).strides[axis] != stride) return false;
    stride *= extents[axis];
  }
  return true;
}

/// Whether elements lie one after the other, whichever axis is the fastest.
bool Verifier::has_no_gaps(std::int32_t content) const {
  const Extents &extents = info(content).extents, &strides = place(content).strides;
  if (extents.product() == 0) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // of each how far apart elements lie, and how many
  for (int axis = 0; axis < extents.rank(); ++axis) {
    if (extents[axis] > 1) axes.emplace_back(strides[axis], extents[axis]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t stride = 1;
  for (const auto& [distance, count] : axes) {
    if (distance != stride) return false;
    stride *= count;
  }
  return true;
}

/// By the schema: whether the call reads the elements of the input or its extents alone.
bool Verifier::reads_elements(const Call& call, const OperatorInfo& op, const InputInfo& input) const {
  if (input.ragged == Ragged::levels) return false;
  const auto at = std::find(op.no_need_buffer.begin(), op.no_need_buffer.end(), input.name);
  if (at == op.no_need_buffer.end() || !op.no_need_buffer_attribute.empty()) return true;
  if (op.no_need_buffer_unless.empty()) return false;
  const Operand* output = call.output(op.no_need_buffer_unless);
  if (output == nullptr) return false;
  for (const ValueId value : output->values()) {
    if (value && place(value.index).memory != MemoryKind::none) return true;
  }
  return false;
}

void Verifier::add_call(std::int32_t step) {
  const Call& call = program_.calls()[static_cast<std::size_t>(step_of(step).call)];
  const OperatorInfo& op = find_operator(call.op);
  for (const InputInfo& input : op.inputs) {
    const Operand* operand = call.input(input.name);
    if (operand == nullptr || !reads_elements(call, op, input)) continue;
    const std::vector<ValueId> read_values = operand->values();
    for (std::size_t i = 0; i < read_values.size(); ++i) read(step, read_values[i].index, input.name, i);
  }
  for (const OutputInfo& output : op.outputs) {
    const Operand* operand = call.output(output.name);
    if (operand == nullptr) continue;
    for (const ValueId value : operand->values()) {
      if (!value) continue;
      if (output.optional && place(value.index).memory == MemoryKind::none) continue;
      write(step, value.index);
    }
  }
}

/// An axis counted from the first one.
int Verifier::axis_of(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }
/// Along which axis a split divides a tensor of that rank.
int Verifier::split_axis(const Call& call, int rank) {
  return axis_of(std::get<std::int64_t>(call.attributes.at("axis")), rank);
}

/// That each element of `to` lies where the call would take it from. `parts_before`: extents of the parts of a split
/// before this one, added up.
void Verifier::check_shown(std::int32_t step, const Call& call, std::int32_t from, std::int32_t to,
                           std::int64_t parts_before) const {
  const Place &source = place(from), &target = place(to);
  const Extents &before = info(from).extents, &after = info(to).extents;
  const auto wrong = [&] { refuse(step_name(step), ": ", name(to), " does not show ", name(from)); };
  const auto listed = [&](const char* attribute) {
    return std::get<std::vector<std::int64_t>>(call.attributes.at(attribute));
  };
  if (source.memory != target.memory || source.index != target.index || info(from).type != info(to).type) wrong();
  std::int64_t offset = 0;
  Extents strides = source.strides;
  if (call.op == "transpose" || call.op == "transpose_grad") {
    const std::vector<std::int64_t> perm = listed("perm");
    for (int axis = 0; axis < after.rank(); ++axis) {
      const int other = axis_of(perm[static_cast<std::size_t>(axis)], after.rank());
      if (call.op == "transpose") {
        strides[axis] = source.strides[other];
      } else {
        strides[other] = source.strides[axis];
      }
    }
  } else if (call.op == "slice") {
    const std::vector<std::int64_t> axes = listed("axes"), starts = listed("starts"), steps = listed("strides");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const int axis = axis_of(axes[i], before.rank());
      const std::int64_t by = steps.empty() ? 1 : steps[i];
      // The first element that Python's slice takes.
      std::int64_t first = starts[i] < 0 ? starts[i] + before[axis] : starts[i];
      if (by > 0 && first < 0) first = 0;
      if (by < 0 && first >= before[axis]) first = before[axis] - 1;
      offset += first * source.strides[axis];
      if (after[axis] > 1) strides[axis] = by * source.strides[axis];  // of one element any step will do
    }
  } else if (call.op == "split") {
    offset = parts_before * source.strides[split_axis(call, before.rank())];
  } else if (call.op == "reshape" || call.op == "reshape_grad") {
    if (!is_laid_out_in_rows(from) || !is_laid_out_in_rows(to)) wrong();
    strides = target.strides;
  } else {
    wrong();
  }
  if (target.offset != source.offset + offset * static_cast<std::int64_t>(size_of(info(from).type))) wrong();
  for (int axis = 0; axis < after.rank(); ++axis) {
    if (after[axis] > 1 && target.strides[axis] != strides[axis]) wrong();
  }
}

void Verifier::add_view(std::int32_t step) {
  const Call& call = program_.calls()[static_cast<std::size_t>(step_of(step).call)];
  const bool is_gradient = call.op.ends_with("_grad");
  const Operand* input = call.input(is_gradient ? "out_grad" : "x");
  const Operand* output = call.output(is_gradient ? "x_grad" : "out");
  if (input == nullptr || output == nullptr || !input->is_value()) refuse(step_name(step), " shows nothing");
  const std::int32_t from = input->value().index;
  std::int64_t parts_before = 0;
  for (const ValueId shown : output->values()) {
    const std::int32_t to = shown.index;
    if (place(from).memory == MemoryKind::none || place(to).memory == MemoryKind::none) {
      refuse(step_name(step), " shows what lies nowhere");
    }
    if (shown_[static_cast<std::size_t>(from)] == nowhere) {
      refuse(step_name(step), " shows ", name(from), ", which nothing before it makes");
    }
    if (shown_[static_cast<std::size_t>(to)] != nowhere) {
      refuse(step_name(step), " makes ", name(to), ", which is there");
    }
    check_shown(step, call, from, to, parts_before);
    shown_[static_cast<std::size_t>(to)] = shown_[static_cast<std::size_t>(from)];
    if (call.op == "split") parts_before += info(to).extents[split_axis(call, info(to).extents.rank())];
  }
}

void Verifier::add_copy(std::int32_t step) {
  const Step& its = step_of(step);
  if (!is_laid_out_in_rows(its.from)) refuse(step_name(step), " copies ", name(its.from), ", which has gaps");
  if (its.from >= values() && is_written_[static_cast<std::size_t>(its.from)] == 0) {
    refuse(step_name(step), " reads ", name(its.from), ", which nothing before it makes");
  }
  read(step, its.from);
  write(step, its.to);
}

/// What the caller finds.
void Verifier::finish() {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const ProgramOutput& output = program_.outputs()[i];
    const std::int32_t content = plan_.outputs[i];
    if (content < 0 || static_cast<std::size_t>(content) >= plan_.places.size()) refuse(output.name, " is nowhere");
    std::int32_t value = content;
    while (value >= values()) value = copied_from_[static_cast<std::size_t>(value - values())];
    if (value != output.value.index) refuse(output.name, " is ", name(content));
    const Place& its = place(content);
    const MemoryKind expected = output.over ? MemoryKind::input : MemoryKind::output;
    const auto index = output.over ? output.over.index : static_cast<std::int32_t>(i);
    if (its.memory != expected || its.index != index || its.offset != 0 || !is_laid_out_in_rows(content)) {
      refuse(output.name, " is not left where it belongs");
    }
    if (content >= values() && is_written_[static_cast<std::size_t>(content)] == 0) {
      refuse(output.name, " is not copied");
    }
    read(finish_, content);
  }
}

void verify(const Program& program, const Plan& plan, const std::vector<std::uint8_t>& constants) {
  Verifier(program, plan, constants).run();
}

}  // namespace portops::graph
