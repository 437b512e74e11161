// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/node_reader.hpp"

// A layer normalisation in pieces, as operator sets before 17 have it: d = x − mean(x), d / √(mean(d · d) + epsilon),
// the means over the last axes. There is no call of a square root; what it is of is remembered until something is
// divided by it.

namespace portops::impl {

using graph::ValueId;
using Integers = std::vector<std::int64_t>;

namespace {

/// The first of the axes over which a call of mean goes, which are it and all behind it, and stay; −1 where it is none.
int first_axis(NodeReader& node, const graph::Call& call) {
  if (call.op != "mean" || !std::get<bool>(call.attributes.find("keepdim")->second)) return -1;
  const auto& axes = std::get<Integers>(call.attributes.find("axis")->second);
  const int rank = node.extents_of(call.input("x")->value()).rank();
  const int first = rank - static_cast<int>(axes.size());
  std::vector<bool> is_named(static_cast<std::size_t>(rank));
  for (const int axis : node.axes(axes, rank)) is_named[static_cast<std::size_t>(axis)] = true;
  for (int i = 0; i < rank; ++i) {
    if (is_named[static_cast<std::size_t>(i)] != (i >= first)) return -1;
  }
  return axes.empty() ? -1 : first;
}

/// What a call is given for an input, where that is a value.
ValueId value_of(const graph::Call& call, std::string_view input) {
  const graph::Operand* its = call.input(input);
  return its != nullptr && its->is_value() ? its->value() : ValueId();
}

bool read_root(NodeReader& node) {
  if (node.elements(0) != nullptr) return false;
  const graph::Call* sum = maker_of(node, node.input(0));
  if (sum == nullptr || sum->op != "add" || !sum->input("y")->is_number()) return false;
  const graph::Call* mean = maker_of(node, value_of(*sum, "x"));
  if (mean == nullptr || first_axis(node, *mean) < 0) return false;
  const graph::Call* square = maker_of(node, value_of(*mean, "x"));
  if (square == nullptr || square->op != "multiply") return false;
  const ValueId distance = value_of(*square, "x");
  if (!(distance == value_of(*square, "y"))) return false;
  const graph::Call* difference = maker_of(node, distance);
  if (difference == nullptr || difference->op != "subtract") return false;
  const ValueId center = value_of(*difference, "y");
  const graph::Call* inner = center ? maker_of(node, center) : nullptr;
  if (inner == nullptr || first_axis(node, *inner) != first_axis(node, *mean)) return false;
  if (!(value_of(*inner, "x") == value_of(*difference, "x"))) return false;
  node.give(0, Known{.value = distance, .piece = Piece::deviation, .epsilon = sum->input("y")->number()});
  return true;
}

}  // namespace

bool read_layer_norm_step(NodeReader& node) {
  if (node.proto().op_type() == "Sqrt") return read_root(node);
  if (node.proto().op_type() != "Div" || node.elements(0) != nullptr) return false;
  const Known root = node.known(1);
  if (root.piece != Piece::deviation || !(node.input(0) == root.value)) return false;
  const graph::Call difference = *maker_of(node, root.value);
  const int axis = first_axis(node, *maker_of(node, value_of(difference, "y")));
  const graph::Call call =
      node.call({.op = "layer_norm",
                 .inputs = {{"x", difference.input("x")->value()}},
                 .attributes = {{"epsilon", root.epsilon}, {"begin_norm_axis", std::int64_t{axis}}},
                 .place = node.place()});
  node.give(0, call.result("out"));
  return true;
}

}  // namespace portops::impl
