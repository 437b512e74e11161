// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/deform_conv2d_rules.hpp"

#include "ops/convolution/window_rules.hpp"

namespace portops::impl {

DeformConv2dExtents deform_conv2d_extents(std::string_view op, const TensorRef& x, const TensorRef& weight,
                                          const DeformConv2dParams& params) {
  const Windows windows = make_windows(
      op, x, weight, {params.stride, params.padding, params.dilation, params.groups, params.deformable_groups});
  check_positive(op, "im2col_step", params.im2col_step);
  const std::int64_t n = windows.images, height = windows.out_height, width = windows.out_width;
  return {windows,
          {{n, 2 * windows.samples(), height, width}, "2 · deformable_groups · taps channels, and the extents of out"},
          {{n, windows.samples(), height, width}, "deformable_groups · taps channels, and the extents of out"},
          {{windows.out_channels}, "axis 0 of weight"},
          {{n, windows.out_channels, height, width}, "the extents that x, weight, stride, padding and dilation give"}};
}

}  // namespace portops::impl
