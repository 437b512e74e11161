// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/node_reader.hpp"

#include <array>
#include <cmath>

// A gelu in pieces, as operator sets before 20 have it: 0.5 · x · (1 + erf(x / √2)), the factors in any order. There is
// no call of erf; the pieces are remembered until they are a gelu.

namespace portops::impl {

using graph::ValueId;

namespace {

/// How far from √2 and its inverse constants of a type may lie, relatively: files have them in six digits and more,
/// which types of 16 bits round.
double rounding_of(ElementType type) {
  if (type == ElementType::f16) return 0x1p-11;
  return type == ElementType::bf16 ? 0x1p-8 : 1e-6;
}

bool is_about(double number, double expected, double rounding) {
  return std::abs(number - expected) <= rounding * expected;
}

/// The x of which `value` is x times `factor`, up to the rounding of it; none where it is none.
ValueId multiplicand(NodeReader& node, ValueId value, double factor, double rounding) {
  const graph::Call* call = maker_of(node, value);
  if (call == nullptr || (call->op != "multiply" && call->op != "divide")) return {};
  const graph::Operand* y = call->input("y");
  if (!y->is_number() || !is_about(call->op == "multiply" ? y->number() : 1.0 / y->number(), factor, rounding)) {
    return {};
  }
  return call->input("x")->value();
}

bool is_number(NodeReader& node, std::size_t input, double number) {
  const auto its = number_input(node, input, node.extents(1 - input).rank());
  return its && *its == number;
}

void give_part(NodeReader& node, Piece part, ValueId x) { node.give(0, Known{.value = x, .piece = part}); }

void give_gelu(NodeReader& node, ValueId x) { node.give(0, node.call("gelu", {{"x", x}})); }

}  // namespace

void read_erf(NodeReader& node) {
  const ValueId x = multiplicand(node, node.input(0), std::sqrt(0.5), rounding_of(node.type(0)));
  if (!x) node.refuse("no call has the meaning of this operator, but in x · (1 + erf(x / √2)) / 2");
  give_part(node, Piece::erf, x);
}

bool read_gelu_step(NodeReader& node) {
  const std::string& op = node.proto().op_type();
  for (const std::size_t here : {0, 1}) {
    const std::size_t other = 1 - here;
    // A copy: reading the other input may move what is known.
    const Known part = node.known(here);
    if (part.piece == Piece::none || part.piece == Piece::deviation) continue;
    if (op == "Add" && part.piece == Piece::erf && is_number(node, other, 1.0)) {
      return give_part(node, Piece::one_and_erf, part.value), true;
    }
    const bool halves =
        (op == "Mul" && is_number(node, other, 0.5)) || (op == "Div" && here == 0 && is_number(node, other, 2.0));
    if (part.piece == Piece::one_and_erf && halves) return give_part(node, Piece::half_of_these, part.value), true;
    if (part.piece == Piece::x_times_these && halves) return give_gelu(node, part.value), true;
    if (op != "Mul" || node.elements(other) != nullptr) return false;
    const ValueId factor = node.input(other);
    if (part.piece == Piece::one_and_erf && factor == part.value) {
      return give_part(node, Piece::x_times_these, part.value), true;
    }
    if (part.piece == Piece::half_of_these && factor == part.value) return give_gelu(node, part.value), true;
    if (part.piece == Piece::one_and_erf && multiplicand(node, factor, 0.5, 0.0) == part.value) {
      return give_gelu(node, part.value), true;
    }
    return false;
  }
  return false;
}

}  // namespace portops::impl
