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

/// Of images with their channels last: fewer do not fill vectors.
constexpr std::int64_t least_channels = 16;

/// Whether it is one of these operators, or the gradient of one.
template <std::size_t n>
bool is_any(std::string_view op, const std::array<std::string_view, n>& all) {
  constexpr std::string_view gradient = "_grad";
  if (op.ends_with(gradient)) op.remove_suffix(gradient.size());
  return std::find(all.begin(), all.end(), op) != all.end();
}

bool is_convolution(std::string_view op) {
  return is_any(op, std::array<std::string_view, 2>{"conv2d", "deform_conv2d"});
}
bool is_pool(std::string_view op) { return is_any(op, std::array<std::string_view, 1>{"pool2d"}); }
bool is_sum(std::string_view op) { return is_any(op, std::array<std::string_view, 2>{"mean", "sum"}); }
/// Whether operands of one extent go together element by element.
bool is_element_wise(std::string_view op) {
  constexpr std::array<std::string_view, 14> all{"add",     "batch_norm",   "clip",       "divide",   "gelu",
                                                 "lerp",    "hard_sigmoid", "hard_swish", "multiply", "relu",
                                                 "sigmoid", "silu",         "subtract",   "tanh"};
  return is_any(op, all);
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
  void keep_all_in_rows(const Call& call) {
    for_values(call, [&](const std::string& /*name*/, ValueId value) { keep_in_rows(value); });
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
    if (program_.value(value).extents[1] < least_channels) return keep_in_rows(value);
    if (has_orders(value)) is_convolved_[index_of(value)] = 1;
  }

  void add(const Call& call) {
    if (is_convolution(call.op)) return add_convolution(call);
    if (is_pool(call.op)) return link_all(call, {});
    if (call.op == "concat") return add_concat(call);
    if (is_sum(call.op)) return add_sum(call);
    if (is_element_wise(call.op)) return link_all(call, largest(call));
    keep_all_in_rows(call);
  }
  void add_convolution(const Call& call) {
    const Extents* images[2] = {};
    for_values(call, [&](const std::string& name, ValueId value) {
      if (name == "x" || name == "x_grad") images[0] = &program_.value(value).extents;
      if (name == "out" || name == "out_grad") images[1] = &program_.value(value).extents;
    });
    const std::int64_t groups = std::get<std::int64_t>(call.attributes.at("groups"));
    const bool is_depthwise =
        images[0] != nullptr && images[1] != nullptr && groups == (*images[0])[1] && groups == (*images[1])[1];
    if (groups != 1 && !is_depthwise) return keep_all_in_rows(call);
    for_values(call, [&](const std::string& name, ValueId value) {
      const bool is_image = name == "x" || name == "out" || name == "x_grad" || name == "out_grad";
      is_image ? convolve(value) : keep_in_rows(value);
    });
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
    if (axes.size() != 2 || !std::all_of(axes.begin(), axes.end(), is_of_pixels)) keep_all_in_rows(call);
  }
  /// Has all images of a call, of the extents that are given, lie in one order, and others in rows.
  void link_all(const Call& call, const Extents& extents) {
    ValueId linked;
    for_values(call, [&](const std::string& /*name*/, ValueId value) {
      if (!has_orders(value)) return;
      if (extents.rank() > 0 && program_.value(value).extents != extents) return keep_in_rows(value);
      if (linked) link(value, linked);
      linked = value;
    });
  }
  /// The extents of the largest operand.
  Extents largest(const Call& call) const {
    Extents extents;
    for_values(call, [&](const std::string& /*name*/, ValueId value) {
      const Extents& its = program_.value(value).extents;
      if (extents.rank() == 0 || its.product() > extents.product()) extents = its;
    });
    return extents;
  }

  /// Calls action(name, value) for all that a call reads and makes.
  template <class Action>
  static void for_values(const Call& call, const Action& action) {
    for (const std::vector<NamedOperand>* operands : {&call.inputs, &call.outputs}) {
      for (const NamedOperand& each : *operands) {
        for (const ValueId value : each.operand.values()) {
          if (value) action(each.name, value);
        }
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
