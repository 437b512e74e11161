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
  /// The sums of so many parts, of the arithmetic of T, each as the dense `out` lies, rounded once.
  static void add_parts(const Context& ctx, ProductOperator op, const void* parts, std::int64_t count,
                        const TensorRef& out);
};

}  // namespace portops::impl
