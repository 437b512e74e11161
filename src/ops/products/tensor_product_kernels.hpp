// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "ops/products/tensor_product.hpp"

namespace portops::impl {

/// The launches of products that are element-wise, with or without sums.
template <Backend B, class T>
struct TensorProductKernels {
  /// Operands: two factors, the larger one first → the product, or its sums.
  static void sum(const Context& ctx, ProductOperator op, const Loop& loop);
};

}  // namespace portops::impl
