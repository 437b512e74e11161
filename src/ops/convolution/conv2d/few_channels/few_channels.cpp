// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/few_channels/few_channels.hpp"

#include "core/exec/dispatch.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels_kernels.hpp"
#include "ops/convolution/conv2d/x_grad.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <cstdint>
#include <string>

namespace portops::impl {

bool suits_few_channels_x_grad(const Context& ctx, const Windows& w, const TensorRef& weight, const TensorRef& out_grad,
                               const TensorRef& x_grad) {
  constexpr std::int64_t most_channels = 4, most_weights = 49;  // of an output channel: with more, columns are faster
  constexpr std::int64_t least_out_channels = 12, least_tiles = 128;  // to have work for lanes and for a GPU
  const bool has_neighbours = w.stride_y == 1 && w.stride_x == 1 && w.dilation_y == 1 && w.dilation_x == 1;
  // Of 16-bit types the products of columns are fast.
  const bool has_few_products = size_of(x_grad.type()) > 2 || w.channels == 1 || w.out_channels <= 32;
  const std::int64_t tiles = w.images * ceil_div(w.height, 16) * ceil_div(w.width, 16);
  return ctx.backend() == Backend::cuda && ctx.products() != Products::kokkos_kernels && w.groups == 1 &&
         has_depthwise_window(w) && has_neighbours && w.channels <= most_channels &&
         w.channels * w.taps() <= most_weights && w.out_channels >= least_out_channels && has_few_products &&
         tiles >= least_tiles && fits_pixels(w, {&weight, &out_grad, &x_grad});
}

void few_channels_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                         const TensorRef& x_grad) {
  static const std::string label = "portops::conv2d_grad::x_grad[few channels]";
  // A convolution of out_grad with the weight turned, whose taps are read backwards.
  Windows w = exchanged(windows);
  w.top = windows.kernel_height - 1 - windows.top;
  w.left = windows.kernel_width - 1 - windows.left;
  const DepthwiseCall call{.windows = w,
                           .from = tensor4(out_grad),
                           .weight = tensor4(turned_weight(windows, weight)),
                           .to = tensor4(x_grad)};
  dispatch(ctx.backend(), x_grad.type(),
           [&]<Backend B, class T>() { FewChannelsKernels<B, T>::convolve(ctx, label, call); });
}

}  // namespace portops::impl
