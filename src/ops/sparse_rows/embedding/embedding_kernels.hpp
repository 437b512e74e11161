// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

namespace portops::impl {

/// The launches of embedding_grad on one backend for one element type. Defined in embedding_kernels_impl.hpp and
/// compiled once for each pair.
template <Backend B, class T>
struct EmbeddingKernels {
  /// Operands: out_grad, weight_grad. `zeros` fills weight_grad: 0 → weight_grad.
  static void grad(const Context& ctx, const SparseRows& sparse, const Loop& zeros);
};

}  // namespace portops::impl
