// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/generator.hpp"
#include "portops/nn/module.hpp"

#include <cstdint>

namespace portops::nn {

struct LinearParams {
  bool bias = true;
  ElementType type = ElementType::f32;
};

/// out[…, n] = bias[n] + Σ x[…, k] · weight[n, k] over k: the operator linear with transpose_weight. x is […,
/// in_features], out […, out_features], of the parameters' type.
///
/// weight [out_features, in_features] and bias [out_features] are at first uniform in ±1 / √in_features. Names and
/// numbers are those of torch.nn.Linear. The errors are those of the operator.
class Linear : public Module {
 public:
  PORTOPS_EXPORT Linear(const Context& ctx, Generator& random, std::int64_t in_features, std::int64_t out_features,
                        const LinearParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& x) const;
  void describe(Members& members) override { members.parameter("weight", weight).parameter("bias", bias); }

  Variable weight;
  Variable bias;  ///< empty: none
};

}  // namespace portops::nn
