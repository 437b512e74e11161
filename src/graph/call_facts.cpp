// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/call_facts.hpp"

#include <algorithm>

namespace portops::graph {
namespace {

bool is_computed(const Operand& output, const std::vector<std::uint8_t>& computed) {
  const std::vector<ValueId> values = output.values();
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return value && computed[static_cast<std::size_t>(value.index)] != 0; });
}

const std::vector<std::int64_t>& integers(const Call& call, const char* name) {
  return std::get<std::vector<std::int64_t>>(call.attributes.at(name));
}

/// An axis counted from the first one.
int axis_of(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

ViewLayout transposed_layout(const Call& call, const Extents& strides, bool is_gradient) {
  const std::vector<std::int64_t>& perm = integers(call, "perm");
  ViewLayout layout{.strides = strides};
  for (int axis = 0; axis < strides.rank(); ++axis) {
    const int source = axis_of(perm[static_cast<std::size_t>(axis)], strides.rank());
    if (is_gradient) {
      layout.strides[source] = strides[axis];
    } else {
      layout.strides[axis] = strides[source];
    }
  }
  return layout;
}

/// `sliced`: the extents of what the slice gives.
ViewLayout sliced_layout(const Call& call, const Extents& extents, const Extents& sliced, const Extents& strides) {
  const std::vector<std::int64_t>& axes = integers(call, "axes");
  const std::vector<std::int64_t>& steps = integers(call, "strides");
  ViewLayout layout{.strides = strides};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = axis_of(axes[i], strides.rank());
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    std::int64_t start = integers(call, "starts")[i];
    if (start < 0) start += extents[axis];
    start = step > 0 ? std::clamp<std::int64_t>(start, 0, extents[axis])
                     : std::clamp<std::int64_t>(start, -1, extents[axis] - 1);
    layout.offset += start * strides[axis];
    if (sliced[axis] > 1) layout.strides[axis] = strides[axis] * step;  // a step past the end may be of any size
  }
  return layout;
}

/// Of the parts that a split makes.
std::vector<ViewLayout> divided_layouts(const Program& program, const Call& call, const Extents& strides) {
  const int axis = axis_of(std::get<std::int64_t>(call.attributes.at("axis")), strides.rank());
  std::vector<ViewLayout> layouts;
  std::int64_t offset = 0;
  for (const ValueId part : call.results("out")) {
    const Extents& extents = program.value(part).extents;
    if (extents.product() == 0) return {};
    layouts.push_back({offset, strides});
    offset += extents[axis] * strides[axis];
  }
  return layouts;
}

}  // namespace

bool lie_alike(const Extents& extents, const Extents& strides, const Extents& others) {
  for (int axis = 0; axis < extents.rank(); ++axis) {
    if (extents[axis] > 1 && strides[axis] != others[axis]) return false;
  }
  return true;
}

bool is_row_major(const Extents& extents, const Extents& strides) {
  return lie_alike(extents, strides, extents.row_major_strides());
}

std::int64_t bytes_of(const ValueInfo& value) {
  return value.extents.product() * static_cast<std::int64_t>(size_of(value.type));
}

bool reads_elements(const Call& call, std::string_view input, const std::vector<std::uint8_t>& computed) {
  const OperatorInfo& info = find_operator(call.op);
  const auto& listed = info.no_need_buffer;
  if (std::find(listed.begin(), listed.end(), input) == listed.end()) return true;
  // Whether an attribute makes the elements needed is the operator's own affair: to keep them is always right.
  if (!info.no_need_buffer_attribute.empty()) return true;
  if (info.no_need_buffer_unless.empty()) return false;
  const Operand* output = call.output(info.no_need_buffer_unless);
  return output != nullptr && is_computed(*output, computed);
}

Needs needs_of(const Program& program, const std::vector<std::uint8_t>& constants) {
  const std::vector<Call>& calls = program.calls();
  Needs needs;
  needs.calls.resize(calls.size());
  needs.values.resize(program.values().size());
  needs.reads.resize(calls.size());
  const auto need = [&](ValueId value) {
    if (value) needs.values[static_cast<std::size_t>(value.index)] = 1;
  };
  for (const ProgramOutput& output : program.outputs()) need(output.value);
  for (std::size_t number = calls.size(); number-- > 0;) {
    const Call& call = calls[number];
    bool runs = false;
    for (const NamedOperand& output : call.outputs) {
      for (const ValueId value : output.operand.values()) {
        const auto index = static_cast<std::size_t>(value.index);
        runs = runs || (value && needs.values[index] != 0 && constants[index] == 0);
      }
    }
    if (!runs) continue;
    needs.calls[number] = 1;
    const OperatorInfo& info = find_operator(call.op);
    for (const OutputInfo& output : info.outputs) {
      if (output.optional) continue;
      for (const ValueId value : call.output(output.name)->values()) need(value);
    }
    for (const NamedOperand& input : call.inputs) {
      if (!reads_elements(call, input.name, needs.values)) continue;
      const auto at = std::find_if(info.inputs.begin(), info.inputs.end(),
                                   [&](const InputInfo& each) { return each.name == input.name; });
      if (at->ragged == Ragged::levels) continue;
      for (const ValueId value : input.operand.values()) {
        need(value);
        needs.reads[number].push_back(value);
      }
    }
  }
  return needs;
}

std::vector<View> views_of(const Call& call) {
  std::vector<View> views;
  if (call.op == "split") {
    const ValueId x = call.input("x")->value();
    for (const ValueId part : call.results("out")) views.push_back({x, part});
    return views;
  }
  if (call.op != "reshape" && call.op != "transpose" && call.op != "slice" && call.op != "reshape_grad" &&
      call.op != "transpose_grad") {
    return views;
  }
  const auto& [from, to] = find_operator(call.op).inplace.front();
  if (const Operand* output = call.output(to)) views.push_back({call.input(from)->value(), output->value()});
  return views;
}

std::vector<ViewLayout> view_layouts(const Program& program, const Call& call, const Extents& strides) {
  if (call.op == "split") return divided_layouts(program, call, strides);
  if (call.op == "transpose") return {transposed_layout(call, strides, false)};
  if (call.op == "transpose_grad") return {transposed_layout(call, strides, true)};
  const View view = views_of(call).front();
  const Extents &before = program.value(view.from).extents, &after = program.value(view.to).extents;
  if (call.op == "slice") {
    if (after.product() == 0) return {};
    return {sliced_layout(call, before, after, strides)};
  }
  if (!is_row_major(before, strides)) return {};
  return {ViewLayout{.strides = after.row_major_strides()}};
}

std::vector<InPlacePair> in_place_pairs(const Call& call) {
  std::vector<InPlacePair> pairs;
  if (!views_of(call).empty()) return pairs;
  for (const auto& [from, to] : find_operator(call.op).inplace) {
    const Operand* input = call.input(from);
    const Operand* output = call.output(to);
    if (input == nullptr || output == nullptr) continue;
    const std::vector<ValueId> sources = input->values(), targets = output->values();
    for (std::size_t i = 0; i < std::min(sources.size(), targets.size()); ++i) {
      if (sources[i] && targets[i]) pairs.push_back({sources[i], targets[i]});
    }
  }
  return pairs;
}

bool is_convolution(const Call& call) { return call.op == "conv2d" || call.op == "deform_conv2d"; }

}  // namespace portops::graph
