// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/conv2d.hpp"
#include "portops/nn/generator.hpp"
#include "portops/nn/module.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace portops::nn {

struct DeformConv2dParams {
  std::vector<std::int64_t> stride = {1, 1};
  /// Two numbers or four, as the operator's.
  std::vector<std::int64_t> padding = {0, 0};
  std::vector<std::int64_t> dilation = {1, 1};
  std::int64_t groups = 1;
  std::int64_t deformable_groups = 1;
  /// The operator's: the most images whose windows are in memory at once. 0: 64, or, where more of them take no more
  /// than 128 MiB, so many.
  std::int64_t im2col_step = 0;
  bool bias = true;
  ElementType type = ElementType::f32;
};

/// The operator deform_conv2d, with its parameters. x is [N, in_channels, H, W], out [N, out_channels, H', W'], of the
/// parameters' type; offset [N, 2 · D · K · L, H', W'] and mask [N, D · K · L, H', W'], or none, come from elsewhere.
///
/// weight [out_channels, in_channels / groups, K, L] and bias [out_channels] are at first as those of Conv2d. Names and
/// numbers are those of torchvision.ops.DeformConv2d. The errors are those of the operator, and groups that do not
/// divide in_channels.
class DeformConv2d : public Module {
 public:
  PORTOPS_EXPORT DeformConv2d(const Context& ctx, Generator& random, std::int64_t in_channels,
                              std::int64_t out_channels, std::array<std::int64_t, 2> kernel_size,
                              const DeformConv2dParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& x, const Variable& offset,
                                     const Variable& mask = {}) const;
  void describe(Members& members) override { members.parameter("weight", weight).parameter("bias", bias); }

  Variable weight;
  Variable bias;  ///< empty: none
  DeformConv2dParams params;
};

/// A deformable convolution with the convolution beside it that gives it offsets and masks:
///
///     conv_offset(x) = [offset, m] along the channels, 2 · D · K · L and D · K · L of them
///     out            = deform_conv2d(x, offset, sigmoid(m))
///
/// conv_offset has the window, stride, padding and dilation of the deformable one, and is 0 at first: no tap is moved,
/// and all masks are 1/2. Names and numbers are those of mmcv's ModulatedDeformConv2dPack, with the order of offsets
/// that the operator has: `weight`, `bias`, `conv_offset.weight`, `conv_offset.bias`.
class DeformConv2dPack : public DeformConv2d {
 public:
  PORTOPS_EXPORT DeformConv2dPack(const Context& ctx, Generator& random, std::int64_t in_channels,
                                  std::int64_t out_channels, std::array<std::int64_t, 2> kernel_size,
                                  const DeformConv2dParams& params = {});
  PORTOPS_EXPORT Variable operator()(const Context& ctx, const Variable& x) const;
  void describe(Members& members) override {
    DeformConv2d::describe(members);
    members.module("conv_offset", conv_offset);
  }

  Conv2d conv_offset;
};

}  // namespace portops::nn
