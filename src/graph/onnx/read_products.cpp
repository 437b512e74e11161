// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx/node_reader.hpp"

#include <algorithm>

// Matrix products.

namespace portops::impl {

using graph::ValueId;

void read_matmul(NodeReader& node) { node.give(0, node.call("matmul", {{"x", node.input(0)}, {"y", node.input(1)}})); }

/// alpha · A · B + beta · C.
void read_gemm(NodeReader& node) {
  const bool transposes_a = node.flag("transA", false), transposes_b = node.flag("transB", false);
  const double alpha = node.number("alpha", 1.0), beta = node.number("beta", 1.0);
  if (node.extents(0).rank() != 2 || node.extents(1).rank() != 2) node.refuse("has operands that are no matrices");
  const bool has_bias = node.has_input(2) && beta != 0.0;
  const ValueId a = node.input(0), b = node.input(1);
  const std::int64_t columns = node.extents(1)[transposes_b ? 0 : 1];
  const std::int64_t rows = node.extents(0)[transposes_a ? 1 : 0];
  if (has_bias && alpha == 1.0 && beta == 1.0 && node.extents(2) == Extents{columns}) {
    const ValueId x = transposes_a ? node.transposed(a, {1, 0}) : a;
    node.give(0, node.call("linear", {{"x", x}, {"weight", b}, {"bias", node.input(2)}},
                           {{"transpose_weight", transposes_b}}));
    return;
  }
  ValueId out =
      node.call("matmul", {{"x", a}, {"y", b}}, {{"transpose_x", transposes_a}, {"transpose_y", transposes_b}});
  if (alpha != 1.0) out = node.call("multiply", {{"x", out}, {"y", alpha}});
  if (has_bias) {
    const Extents& its = node.extents(2);
    const bool fits = its.rank() <= 2 &&
                      (its.rank() < 1 || its[its.rank() - 1] == 1 || its[its.rank() - 1] == columns) &&
                      (its.rank() < 2 || its[0] == 1 || its[0] == rows);
    if (!fits) {
      node.refuse("adds C of extents ", its.to_string(), ", which does not broadcast to ",
                  Extents{rows, columns}.to_string());
    }
    ValueId c = node.input(2);
    if (beta != 1.0) c = node.call("multiply", {{"x", c}, {"y", beta}});
    out = node.call("add", {{"x", out}, {"y", c}});
  }
  node.give(0, out);
}

}  // namespace portops::impl
