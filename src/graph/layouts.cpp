// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/layouts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <variant>

namespace portops::graph {
namespace {

/// Of convolutions that make images with their channels last: fewer do not fill vectors.
constexpr std::int64_t least_out_channels = 16;

bool is_element_wise(std::string_view op) {
  constexpr std::array<std::string_view, 13> all{"add",        "clip",     "divide",   "gelu", "hard_sigmoid",
                                                 "hard_swish", "lerp",     "multiply", "relu", "sigmoid",
                                                 "silu",       "subtract", "tanh"};
  return std::find(all.begin(), all.end(), op) != all.end();
}

class ChannelOrders {
 public:
  ChannelOrders(const Program& program, const Needs& needs)
      : program_(program),
        needs_(needs),
        group_(program.values().size()),
        must_lie_in_rows_(group_.size()),
        is_convolved_(group_.size()) {
    std::iota(group_.begin(), group_.end(), 0);
  }

  std::vector<std::uint8_t> find(const std::vector<std::uint8_t>& constants) {
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (constants[i] != 0 || program_.values()[i].origin != Origin::call) must_lie_in_rows_[i] = 1;
    }
    for (const ProgramOutput& output : program_.outputs()) keep_in_rows(output.value);
    for (std::size_t number = 0; number < program_.calls().size(); ++number) {
      if (needs_.calls[number] != 0) add(program_.calls()[number]);
    }
    std::vector<std::uint8_t> found(group_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto group = static_cast<std::size_t>(group_of(static_cast<std::int32_t>(i)));
      found[i] = is_convolved_[group] != 0 && must_lie_in_rows_[group] == 0 ? 1 : 0;
    }
    return found;
  }

 private:
  /// Whether the two orders of a value differ.
  bool has_orders(ValueId value) const {
    const Extents& extents = program_.value(value).extents;
    return extents.rank() == 4 && extents.product() > 0 && extents[1] > 1 && (extents[2] > 1 || extents[3] > 1);
  }
  std::int32_t group_of(std::int32_t value) {
    const auto next = [this](std::int32_t each) -> std::int32_t& { return group_[static_cast<std::size_t>(each)]; };
    while (next(value) != value) value = next(value) = next(next(value));
    return value;
  }
  std::size_t index_of(ValueId value) { return static_cast<std::size_t>(group_of(value.index)); }

  void keep_in_rows(ValueId value) {
    if (value && has_orders(value)) must_lie_in_rows_[index_of(value)] = 1;
  }
  void keep_in_rows(const std::vector<NamedOperand>& operands) {
    for (const NamedOperand& each : operands) {
      for (const ValueId value : each.operand.values()) keep_in_rows(value);
    }
  }
  /// Has both values lie in one order.
  void link(ValueId value, ValueId other) {
    if (!has_orders(value) || !has_orders(other)) return;
    const std::size_t from = index_of(value), to = index_of(other);
    must_lie_in_rows_[to] |= must_lie_in_rows_[from];
    is_convolved_[to] |= is_convolved_[from];
    group_[from] = static_cast<std::int32_t>(to);
  }
  void convolve(ValueId value) {
    if (has_orders(value)) is_convolved_[index_of(value)] = 1;
  }

  void add(const Call& call) {
    if (call.op == "conv2d") return add_convolution(call);
    if (call.op == "pool2d") return add_pool(call);
    if (call.op == "concat") return add_concat(call);
    if (call.op == "mean" || call.op == "sum") return add_sum(call);
    if (is_element_wise(call.op)) return add_element_wise(call);
    keep_in_rows(call.inputs);
    keep_in_rows(call.outputs);
  }
  void add_convolution(const Call& call) {
    const ValueId x = call.input("x")->value(), weight = call.input("weight")->value(), out = call.result("out");
    keep_in_rows(weight);
    const std::int64_t groups = std::get<std::int64_t>(call.attributes.at("groups"));
    const bool is_depthwise = groups == program_.value(x).extents[1] && groups == program_.value(out).extents[1];
    if (groups != 1 && !is_depthwise) {
      keep_in_rows(x);
      return keep_in_rows(out);
    }
    convolve(x);
    convolve(out);
    if (program_.value(out).extents[1] < least_out_channels) keep_in_rows(out);
  }
  void add_pool(const Call& call) {
    const ValueId x = call.input("x")->value(), out = call.result("out");
    const Operand* const index = call.output("index");
    const bool has_index =
        index != nullptr && index->value() && needs_.values[static_cast<std::size_t>(index->value().index)] != 0;
    link(x, out);
    if (!has_index) return;
    keep_in_rows(x);
    keep_in_rows(index->value());
  }
  void add_concat(const Call& call) {
    const ValueId out = call.result("out");
    const std::int64_t axis = std::get<std::int64_t>(call.attributes.at("axis"));
    if (axis != 1 && axis != 1 - program_.value(out).extents.rank()) keep_in_rows(out);
    for (const ValueId value : call.input("x")->values()) link(value, out);
  }
  void add_sum(const Call& call) {
    // Over the pixels of each channel.
    const auto& axes = std::get<std::vector<std::int64_t>>(call.attributes.at("axis"));
    const auto is_of_pixels = [](std::int64_t axis) { return axis == 2 || axis == 3 || axis == -1 || axis == -2; };
    const bool suits = axes.size() == 2 && std::all_of(axes.begin(), axes.end(), is_of_pixels);
    if (!suits) keep_in_rows(call.inputs);
    keep_in_rows(call.outputs);
  }
  void add_element_wise(const Call& call) {
    const ValueId out = call.result("out");
    for (const NamedOperand& input : call.inputs) {
      for (const ValueId value : input.operand.values()) {
        const bool is_whole = program_.value(value).extents == program_.value(out).extents;
        is_whole ? link(value, out) : keep_in_rows(value);
      }
    }
  }

  const Program& program_;
  const Needs& needs_;
  std::vector<std::int32_t> group_;                            ///< of each value another one of its group, or itself
  std::vector<std::uint8_t> must_lie_in_rows_, is_convolved_;  ///< of each group, by the value that is none but itself
};

}  // namespace

std::vector<std::uint8_t> find_channels_last(const Program& program, const Needs& needs,
                                             const std::vector<std::uint8_t>& constants) {
  return ChannelOrders(program, needs).find(constants);
}

Extents channels_last_strides(const Extents& extents) {
  return {extents[1] * extents[2] * extents[3], 1, extents[3] * extents[1], extents[1]};
}

}  // namespace portops::graph
