// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/normalization/layer_norm/layer_norm_plan.hpp"
#include "ops/normalization/norm_kernels.hpp"

namespace portops::impl {

/// The launches of layer_norm and its gradient where rows are taken whole, on one backend for one element type. Defined
/// in layer_norm_kernels_impl.hpp and compiled once for each pair.
template <Backend B, class T>
struct LayerNormKernels {
  static void layer_norm(const Context& ctx, const NormLabels& labels, const LayerNormTensors& tensors,
                         const LayerNormPlan& plan);
  /// `memory` is for the columns' sums.
  static void layer_norm_grad(const Context& ctx, const NormLabels& labels, const LayerNormTensors& tensors,
                              const LayerNormPlan& plan, void* memory);
};

}  // namespace portops::impl
