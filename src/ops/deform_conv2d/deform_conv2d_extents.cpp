// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/deform_conv2d_extents.hpp"

#include "ops/deform_conv2d/check_deform_conv2d.hpp"

namespace portops::impl {

std::map<std::string, Extents, std::less<>> deform_conv2d_extents(std::string_view op, const TensorRef& x,
                                                                  const TensorRef& weight,
                                                                  const DeformConv2dParams& params) {
  const Windows windows = make_windows(op, x, weight, params);
  const std::int64_t n = windows.images, height = windows.out_height, width = windows.out_width;
  const Extents offset{n, 2 * windows.samples(), height, width};
  const Extents mask{n, windows.samples(), height, width};
  const Extents bias{windows.out_channels};
  const Extents out{n, windows.out_channels, height, width};
  return {{"offset", offset},
          {"mask", mask},
          {"bias", bias},
          {"out", out},
          {"x_grad", x.extents()},
          {"offset_grad", offset},
          {"weight_grad", weight.extents()},
          {"mask_grad", mask},
          {"bias_grad", bias},
          {"out_grad", out}};
}

}  // namespace portops::impl
