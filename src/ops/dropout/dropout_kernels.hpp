// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"

#include <cstdint>

namespace portops::impl {

/// What decides which elements are dropped.
struct DropoutNumbers {
  double p;
  std::uint64_t seed;
  std::uint64_t offset;
  const std::int64_t* step;  ///< added to offset; may be null
};

/// The launches of dropout on one backend for one element type. Defined in dropout_kernels_impl.hpp and compiled once
/// for each pair.
template <Backend B, class T>
struct DropoutKernels {
  /// Both tensors have elements; `label` is that of the operator.
  static void dropout(const Context& ctx, bool is_gradient, const TensorRef& x, const TensorRef& out,
                      const DropoutNumbers& numbers);
};

}  // namespace portops::impl
