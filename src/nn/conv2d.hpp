// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/generator.hpp"
#include "portops/nn/module.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace portops::nn {

struct Conv2dParams {
  std::vector<std::int64_t> stride = {1, 1};
  /// Two numbers or four, as the operator's.
  std::vector<std::int64_t> padding = {0, 0};
  std::vector<std::int64_t> dilation = {1, 1};
  std::int64_t groups = 1;
  bool bias = true;
  ElementType type = ElementType::f32;
};

/// The operator conv2d, with its parameters. x is [N, in_channels, H, W], out [N, out_channels, H', W'], of the
/// parameters' type.
///
/// weight [out_channels, in_channels / groups, kernel_size[0], kernel_size[1]] and bias [out_channels] are at first
/// uniform in ±1 / √(in_channels / groups · kernel_size[0] · kernel_size[1]). Names and numbers are those of
/// torch.nn.Conv2d. The errors are those of the operator, and groups that do not divide in_channels.
class Conv2d : public Module {
 public:
  PORTOPS_EXPORT Conv2d(const Context& ctx, Generator& random, std::int64_t in_channels, std::int64_t out_channels,
                        std::array<std::int64_t, 2> kernel_size, const Conv2dParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& x) const;
  void describe(Members& members) override { members.parameter("weight", weight).parameter("bias", bias); }

  Variable weight;
  Variable bias;  ///< empty: none
  Conv2dParams params;
};

}  // namespace portops::nn
