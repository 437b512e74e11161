// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/shown.hpp"
#include "graph/onnx/elements.hpp"
#include "graph/onnx/node_reader.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

// Element by element: arithmetic, activations, and what leaves elements as they are.

namespace portops::impl {

using graph::ValueId;

std::optional<double> number_input(NodeReader& node, std::size_t number, int rank) {
  const Tensor* elements = node.elements(number);
  if (elements == nullptr || elements->ref().type() == ElementType::i64) return std::nullopt;
  if (elements->ref().size() != 1 || elements->ref().rank() > rank) return std::nullopt;
  return numbers_of(*elements).front();
}

namespace {

std::string name_of_arithmetic(const std::string& op) {
  if (op == "Add") return "add";
  if (op == "Sub") return "subtract";
  if (op == "Mul") return "multiply";
  return "divide";
}

/// An input as a number beside another one, of whose element type it has to be.
std::optional<double> number_beside(NodeReader& node, std::size_t number, std::size_t other) {
  return node.type(number) == node.type(other) ? number_input(node, number, node.extents(other).rank()) : std::nullopt;
}

void give_arithmetic(NodeReader& node, const std::string& op, std::size_t x, std::size_t y) {
  if (const auto number = number_beside(node, y, x)) {
    node.give(0, node.call(op, {{"x", node.input(x)}, {"y", *number}}));
  } else {
    node.give(0, node.call(op, {{"x", node.input(x)}, {"y", node.input(y)}}));
  }
}

}  // namespace

void read_element_wise(NodeReader& node) {
  if (read_gelu_step(node) || read_layer_norm_step(node)) return;
  const std::string op = name_of_arithmetic(node.proto().op_type());
  const bool swaps = (op == "add" || op == "multiply") && number_beside(node, 0, 1) && node.elements(1) == nullptr;
  give_arithmetic(node, op, swaps ? 1 : 0, swaps ? 0 : 1);
}

void read_sum_of_several(NodeReader& node) {
  ValueId sum = node.input(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) sum = node.call("add", {{"x", sum}, {"y", node.input(i)}});
  node.give(0, sum);
}

void read_negative(NodeReader& node) { node.give(0, node.call("multiply", {{"x", node.input(0)}, {"y", -1.0}})); }

const graph::Call* maker_of(NodeReader& node, ValueId value) {
  const graph::ValueInfo& info = node.program().value(value);
  return info.origin == graph::Origin::call ? &node.program().calls()[static_cast<std::size_t>(info.call)] : nullptr;
}

namespace {

/// A constant exponent, of any type.
std::optional<double> exponent_of(NodeReader& node) {
  const Tensor* elements = node.elements(1);
  if (elements == nullptr || elements->ref().type() != ElementType::i64) {
    return number_input(node, 1, node.extents(0).rank());
  }
  if (elements->ref().size() != 1 || elements->ref().rank() > node.extents(0).rank()) return std::nullopt;
  return static_cast<double>(*elements->data<std::int64_t>());
}

}  // namespace

void read_pow(NodeReader& node) {
  const auto number = number_input(node, 0, 0), exponent = number_input(node, 1, 0);
  if (number && exponent) {
    node.give(0, converted(number_tensor(std::pow(*number, *exponent)), node.type(0)));
    return;
  }
  const auto power = exponent_of(node);
  if (!power || !(*power == 1.0 || *power == 2.0 || *power == 3.0)) {
    node.refuse("has a power that is no constant 1, 2 or 3, for which alone there are calls");
  }
  const ValueId x = node.input(0);
  ValueId result = x;
  for (int i = 1; i < static_cast<int>(*power); ++i) result = node.call("multiply", {{"x", result}, {"y", x}});
  node.give(0, result);
}

void read_sqrt(NodeReader& node) {
  if (read_layer_norm_step(node)) return;
  const Tensor* elements = node.elements(0);
  if (elements == nullptr || elements->ref().type() == ElementType::i64) {
    node.refuse(
        "no call has the meaning of this operator, but of constants, and in (x − mean) / √(variance + epsilon)");
  }
  std::vector<double> roots = numbers_of(*elements);
  for (double& each : roots) each = std::sqrt(each);
  const Tensor wide(ElementType::f64, elements->ref().extents());
  std::copy(roots.begin(), roots.end(), wide.data<double>());
  node.give(0, converted(wide, elements->ref().type()));
}

void read_activation(NodeReader& node) {
  const std::string& op = node.proto().op_type();
  std::map<std::string, Attribute, std::less<>> attributes;
  if (op == "Gelu") attributes["approximate"] = node.text("approximate", "none");
  std::string name = op;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each; });
  node.give(0, node.call(name, {{"x", node.input(0)}}, attributes));
}

void read_swish(NodeReader& node) {
  if (node.number("alpha", 1.0) != 1.0) node.refuse("has the alpha ", node.number("alpha", 1.0), ", expected 1");
  node.give(0, node.call("silu", {{"x", node.input(0)}}));
}

namespace {

double bound(NodeReader& node, std::size_t number, const std::string& name) {
  const Tensor* elements = node.elements(number);
  if (elements == nullptr) node.refuse(name, " is computed when the program runs, expected a constant");
  const TensorRef& its = elements->ref();
  if (its.size() != 1) node.refuse(name, " has extents ", its.extents().to_string(), ", expected one element");
  if (its.type() != node.type(0)) {
    node.refuse(name, " has element type ", name_of(its.type()), ", expected ", name_of(node.type(0)), ", that of x");
  }
  const double value = numbers_of(*elements).front();
  if (std::isnan(value)) node.refuse(name, " is nan, expected a number");
  return value;
}

}  // namespace

void read_clip(NodeReader& node) {
  std::map<std::string, Attribute, std::less<>> bounds;
  if (node.has_input(1)) bounds["min"] = bound(node, 1, "min");
  if (node.has_input(2)) bounds["max"] = bound(node, 2, "max");
  node.give(0, node.call("clip", {{"x", node.input(0)}}, bounds));
}

void read_hard_sigmoid(NodeReader& node) {
  const double slope = node.number("alpha", static_cast<double>(0.2F)), offset = node.number("beta", 0.5);
  node.give(0, node.call("hard_sigmoid", {{"x", node.input(0)}}, {{"slope", slope}, {"offset", offset}}));
}

void read_hard_swish(NodeReader& node) { node.give(0, node.call("hard_swish", {{"x", node.input(0)}})); }

void read_identity(NodeReader& node) { node.give(0, node.known(0)); }

void read_dropout(NodeReader& node) {
  if (node.has_input(2)) {
    const std::vector<std::int64_t> training = node.integers(2);
    if (training.size() != 1 || training[0] != 0) node.refuse("trains: it drops elements at random");
  }
  if (node.has_output(1)) node.refuse("gives a mask, which no call does");
  node.give(0, node.known(0));
}

namespace {

/// A number as an integer of a type of ONNX.
template <class T>
std::int64_t as_integer(const NodeReader& node, T number, int to) {
  if (to == onnx::TensorProto::BOOL) return number != 0 ? 1 : 0;
  if constexpr (std::is_floating_point_v<T>) {
    if (!(std::abs(number) < 0x1p63)) node.refuse("converts ", number, " to ", name_of_onnx_type(to));
  }
  const auto whole = static_cast<std::int64_t>(number);
  if (!has_integer(to, whole))
    node.refuse("converts ", whole, " to ", name_of_onnx_type(to), ", which has no such number");
  return whole;
}

Tensor as_integers(const NodeReader& node, const Tensor& elements, int to) {
  Tensor whole(ElementType::i64, elements.ref().extents());
  auto* out = whole.data<std::int64_t>();
  const auto convert = [&](auto each) { return as_integer(node, each, to); };
  if (elements.ref().type() == ElementType::i64) {
    std::transform(elements.data<std::int64_t>(), elements.data<std::int64_t>() + elements.ref().size(), out, convert);
  } else {
    const std::vector<double> numbers = numbers_of(elements);
    std::transform(numbers.begin(), numbers.end(), out, convert);
  }
  return whole;
}

/// Whether integers that a program computes stay what they are. They are i64 here whatever ONNX calls them, so that a
/// type that has fewer would have to change some. Those of 32 bits are let pass: exporters hand on places in tables as
/// these, and one that does not fit lies outside of the table.
bool leaves_integers(int to) {
  return to == onnx::TensorProto::INT64 || to == onnx::TensorProto::INT32 || to == onnx::TensorProto::UINT32;
}

}  // namespace

void read_cast(NodeReader& node) {
  const int to = static_cast<int>(std::clamp<std::int64_t>(node.integer("to", 0), 0, INT32_MAX));
  const auto type = element_type_of(to);
  if (!type)
    node.refuse("converts to ", name_of_onnx_type(to), ", expected float, double, float16, bfloat16 or integers");
  const ElementType from = node.type(0);
  const Tensor* elements = node.elements(0);
  const bool is_known = elements != nullptr;
  if (from == *type &&
      (from != ElementType::i64 || (is_known ? to == onnx::TensorProto::INT64 : leaves_integers(to)))) {
    node.give(0, node.known(0));
    return;
  }
  if (!is_known) {
    node.refuse("converts ", name_of(from), " to ", name_of_onnx_type(to),
                " when the program runs, which no call does");
  }
  node.give(0, *type == ElementType::i64 ? as_integers(node, *elements, to) : converted(*elements, *type));
}

}  // namespace portops::impl
