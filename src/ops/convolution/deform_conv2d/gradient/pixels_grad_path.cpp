// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/gradient/pixels_grad_path.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/pixels_weight_grad_plan.hpp"
#include "ops/convolution/weight_grad.hpp"

namespace portops::impl {
namespace {

struct PixelsGradMemory {
  MemoryLayout layout;
  TemporaryArray x_grad;       ///< sums, where x_grad cannot hold them
  TemporaryArray weight_grad;  ///< sums over chunks

  PixelsGradMemory(const Windows& windows, const DeformConv2dGradTensors& t) {
    const ElementType type = t.x.type();
    const bool is_narrow = size_of(type) < sizeof(float);
    if (t.x_grad && is_narrow) x_grad = TemporaryArray(layout, t.x_grad.size(), sizeof(float));
    if (t.weight_grad) {
      const PixelsWeightGradPlan plan(windows);
      weight_grad = TemporaryArray(layout, plan.chunks() * plan.weights(), arithmetic_size(type));
    }
  }
};

}  // namespace

bool suits_pixels_grad(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t) {
  constexpr std::int64_t few_channels = 16;
  if (t.x_grad && ctx.deterministic()) return false;
  return windows.deformable_channels() <= few_channels &&
         suits_pixels(ctx, windows,
                      {&t.x, &t.offset, &t.weight, &t.mask, &t.out_grad, &t.x_grad, &t.offset_grad, &t.weight_grad,
                       &t.mask_grad});
}

void deform_conv2d_grad_by_pixels(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t) {
  static const std::string zero_label = "portops::deform_conv2d_grad::zeros";
  static const std::string x_grad_label = "portops::deform_conv2d_grad::x_grad[strided]";
  const PixelsGradMemory plan(windows, t);
  const Temporary memory(ctx, "portops::deform_conv2d_grad::workspace", plan.layout.bytes());
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Kernels = DeformConv2dGradKernels<B, T>;
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(t.x)};
    if (t.x_grad || t.offset_grad || t.mask_grad) {
      Tensor4 sums = tensor4(t.x_grad);
      if (plan.x_grad) {
        const Extents strides = t.x_grad.extents().row_major_strides();
        sums = {plan.x_grad.in(memory.data()), {strides[0], strides[1], strides[2], strides[3]}};
        ConvolutionKernels<B, T>::zero(ctx, zero_label, sums.data,
                                       sizeof(float) * static_cast<std::size_t>(t.x_grad.size()));
      } else if (t.x_grad) {
        fill_with_bias(ctx, DeformConv2dConvolution::labels(), t.x_grad);
      }
      Kernels::pixels_grad(ctx, step, tensor4(t.weight), tensor4(t.out_grad), sums, tensor4(t.offset_grad),
                           tensor4(t.mask_grad));
      if (plan.x_grad) {
        ConvolutionKernels<B, T>::rearrange_sums(ctx, x_grad_label,
                                                 from_contiguous(t.x_grad, 0, windows.images, sums.data));
      }
    }
    if (t.weight_grad) {
      Kernels::pixels_weight_grad(ctx, step, tensor4(t.out_grad), plan.weight_grad.in(memory.data()),
                                  tensor4(t.weight_grad));
    }
  });
}

std::size_t pixels_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& tensors) {
  return PixelsGradMemory(windows, tensors).layout.bytes();
}

}  // namespace portops::impl
