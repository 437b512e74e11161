// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/conv2d_rules.hpp"

#include "ops/convolution/window_rules.hpp"

namespace portops::impl {

Conv2dExtents conv2d_extents(std::string_view op, const TensorRef& x, const TensorRef& weight,
                             const Conv2dParams& params) {
  const Windows windows = make_windows(op, x, weight, {params.stride, params.padding, params.dilation, params.groups});
  return {windows,
          {{windows.out_channels}, "axis 0 of weight"},
          {{windows.images, windows.out_channels, windows.out_height, windows.out_width},
           "the extents that x, weight, stride, padding and dilation give"}};
}

}  // namespace portops::impl
