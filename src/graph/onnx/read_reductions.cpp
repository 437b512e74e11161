// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/elements.hpp"
#include "graph/onnx/node_reader.hpp"

#include <algorithm>
#include <numeric>

// Normalisations, softmax and reductions.

namespace portops::impl {

using graph::ValueId;
using Integers = std::vector<std::int64_t>;

namespace {

/// A statistic in the type of sums: a constant of 16 bits is widened.
ValueId statistic(NodeReader& node, std::size_t number, ElementType type_of_x) {
  const ElementType wanted = type_of_x == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  const ElementType given = node.type(number);
  if (given == wanted) return node.input(number);
  const Tensor* elements = node.elements(number);
  if (elements == nullptr || given == ElementType::i64 || given == ElementType::f64) {
    node.refuse("has statistics of ", name_of(given), ", expected ", name_of(wanted), " or constants of 16 bits");
  }
  node.take(static_cast<std::uint64_t>(elements->ref().size()) * size_of(wanted));
  return node.constant(converted(*elements, wanted));
}

}  // namespace

/// X, scale, B, input_mean, input_var.
void read_batch_normalization(NodeReader& node) {
  if (node.flag("training_mode", false)) node.refuse("trains, and programs of files infer");
  for (std::size_t i = 1; i < node.outputs(); ++i) {
    if (node.has_output(i)) node.refuse("gives statistics, which is for training");
  }
  const ElementType type = node.type(0);
  const graph::CallRequest request{.op = "batch_norm",
                                   .inputs = {{"x", node.input(0)},
                                              {"scale", node.input(1)},
                                              {"bias", node.input(2)},
                                              {"mean", statistic(node, 3, type)},
                                              {"variance", statistic(node, 4, type)}},
                                   .attributes = {{"epsilon", node.number("epsilon", 1e-5F)}, {"is_test", true}},
                                   .place = node.place()};
  node.give(0, node.call(request).result("out"));
}

/// X, Scale, B; Y, Mean, InvStdDev.
void read_layer_normalization(NodeReader& node) {
  const Extents x = node.extents(0);
  const int axis = node.axis(node.integer("axis", -1), x.rank());
  if (node.integer("stash_type", 1) != 1) node.refuse("stash_type is ", node.integer("stash_type", 1), ", expected 1");
  graph::CallRequest request{.op = "layer_norm",
                             .inputs = {{"x", node.input(0)}, {"scale", node.input(1)}},
                             .attributes = {{"epsilon", node.number("epsilon", 1e-5F)}, {"begin_norm_axis", axis}},
                             .place = node.place()};
  if (node.has_input(2)) request.inputs.emplace("bias", node.input(2));
  const graph::Call call = node.call(request);
  node.give(0, call.result("out"));
  // There the axes that were normalised stay.
  Extents statistics = x;
  for (int i = axis; i < x.rank(); ++i) statistics[i] = 1;
  if (node.has_output(1)) node.give(1, node.reshaped(call.result("mean"), statistics));
  if (node.has_output(2)) node.give(2, node.reshaped(call.result("inv_std"), statistics));
}

void read_softmax(NodeReader& node) {
  const Extents x = node.extents(0);
  const bool is_of_one_axis = node.operator_set() >= 13;
  const int axis = node.axis(node.integer("axis", is_of_one_axis ? -1 : 1), x.rank());
  if (is_of_one_axis || axis == x.rank() - 1) {
    node.give(0, node.call("softmax", {{"x", node.input(0)}}, {{"axis", axis}}));
    return;
  }
  // Before operator set 13 it is over all axes from that one on.
  const Extents rows{product_of(x, 0, axis), product_of(x, axis, x.rank())};
  const ValueId out = node.call("softmax", {{"x", node.reshaped(node.input(0), rows)}}, {{"axis", 1}});
  node.give(0, node.reshaped(out, x));
}

/// ReduceSum, ReduceMean, ReduceL1, ReduceL2.
void read_reduction(NodeReader& node) {
  const std::string& op = node.proto().op_type();
  const bool is_norm = op == "ReduceL1" || op == "ReduceL2";
  const int rank = node.extents(0).rank();
  Integers axes = node.integers("axes").value_or(Integers());
  if (node.has_input(1)) axes = node.integers(1);
  if (axes.empty() && node.flag("noop_with_empty_axes", false)) {
    if (is_norm) node.refuse("has no axes and noop_with_empty_axes");
    node.give(0, node.known(0));
    return;
  }
  const std::vector<int> numbers = node.axes(axes, rank);
  axes.assign(numbers.begin(), numbers.end());
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const bool keeps = node.flag("keepdims", true);
  if (is_norm) {
    node.give(0, node.call("p_norm", {{"x", node.input(0)}},
                           {{"porder", op == "ReduceL1" ? 1.0 : 2.0},
                            {"axis", axes},
                            {"keepdim", keeps},
                            {"asvector", axes.empty()}}));
  } else {
    node.give(
        0, node.call(op == "ReduceSum" ? "sum" : "mean", {{"x", node.input(0)}}, {{"axis", axes}, {"keepdim", keeps}}));
  }
}

}  // namespace portops::impl
