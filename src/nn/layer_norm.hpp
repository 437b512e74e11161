// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/module.hpp"

namespace portops::nn {

struct LayerNormParams {
  double epsilon = 1e-5;
  bool bias = true;
  /// f32 is right for 16-bit x, too.
  ElementType type = ElementType::f32;
};

/// The operator layer_norm, with its parameters, over the last axes of x, which have the extents `normalized_shape`.
///
/// weight is 1 at first, bias 0, both of these extents. Names are those of torch.nn.LayerNorm. The errors are those of
/// the operator.
class LayerNorm : public Module {
 public:
  PORTOPS_EXPORT LayerNorm(const Context& ctx, const Extents& normalized_shape, const LayerNormParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& x) const;
  void describe(Members& members) override { members.parameter("weight", weight).parameter("bias", bias); }

  Variable weight;
  Variable bias;  ///< empty: none
  LayerNormParams params;
};

}  // namespace portops::nn
