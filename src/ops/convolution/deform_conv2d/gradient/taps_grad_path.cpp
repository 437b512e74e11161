// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/gradient/taps_grad_path.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/deform_conv2d/sample.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/pixel_sampling.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <cstdint>

namespace portops::impl {
namespace {

/// Whether a tensor like x has the plan's packs where it lies.
bool has_packs(const TapsGradPlan& plan, const TensorRef& tensor) {
  if (plan.pack == 1) return true;
  if (plan.has_padding()) return false;
  return dispatch_type(tensor.type(), [&]<class T>() { return has_channel_packs<T>(tensor4(tensor), plan.pack); });
}

/// Whether x_grad can hold the sums.
bool holds_sums(const TapsGradPlan& plan, const TensorRef& x_grad) {
  return arithmetic_size(x_grad.type()) == size_of(x_grad.type()) && has_packs(plan, x_grad);
}

struct TapsGradMemory {
  TapsGradPlan plan;
  MemoryLayout layout;
  TemporaryArray x;         ///< in packs, unless it lies so
  TemporaryArray out_grad;  ///< with its channels last, unless it lies so
  TemporaryArray x_grad;    ///< sums, where x_grad cannot hold them
  TemporaryArray products;
  TemporaryArray weight_sums;

  TapsGradMemory(const Windows& w, const DeformConv2dGradTensors& t) : plan(w, t.x.type()) {
    const std::int64_t elements = w.images * w.area() * plan.padded_channels;
    if (!has_packs(plan, t.x)) x = TemporaryArray(layout, elements, size_of(t.x.type()));
    if (!has_channels_last(t.out_grad) && !plan.reads_planes()) {
      out_grad = TemporaryArray(layout, t.out_grad.size(), size_of(t.x.type()));
    }
    const std::size_t sum = arithmetic_size(t.x.type());
    if (t.x_grad && !holds_sums(plan, t.x_grad)) x_grad = TemporaryArray(layout, elements, sum);
    if (plan.pack_blocks > 1 && (t.offset_grad || t.mask_grad)) {
      products = TemporaryArray(layout, corners * w.all_samples() * plan.pack_blocks, sum);
    }
    if (t.weight_grad) weight_sums = TemporaryArray(layout, plan.chunks * w.out_channels * w.group_column(), sum);
  }
};

}  // namespace

bool suits_taps_grad(const Context& ctx, const Windows& w, const DeformConv2dGradTensors& t) {
  if (ctx.backend() != Backend::cuda || (t.x_grad && ctx.deterministic())) return false;
  // Beyond these, products in memory cost less than those of threads.
  constexpr std::int64_t few_out_channels = 64, few_products = 64, few_of_many = 32, few_channels = 16;
  const std::int64_t outs = w.group_out_channels();
  const bool has_few_products = outs <= few_out_channels && w.group_column() <= few_products;
  if (!has_few_products && (outs > few_of_many || w.group_channels() > few_channels)) return false;
  const std::int64_t padded = TapsGradPlan(w, t.x.type()).padded_channels;
  return w.images * w.area() <= INT32_MAX / padded &&
         fits_pixels(w, {&t.x, &t.offset, &t.weight, &t.mask, &t.out_grad, &t.x_grad, &t.offset_grad, &t.weight_grad,
                         &t.mask_grad});
}

void deform_conv2d_grad_by_taps(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t) {
  static const std::string operands_label = "portops::deform_conv2d_grad::operands[channels_last]";
  static const std::string x_grad_label = "portops::deform_conv2d_grad::x_grad[strided]";
  const TapsGradMemory memory_plan(windows, t);
  const TapsGradPlan& plan = memory_plan.plan;
  const ConvolutionLabels& labels = DeformConv2dConvolution::labels();
  const Temporary temporary(ctx, "portops::deform_conv2d_grad::workspace", memory_plan.layout.bytes());
  void* const memory = temporary.data();
  // Of a tensor like x in packs.
  const auto packs_in = [&](const TemporaryArray& array) {
    const std::int64_t pixel = plan.padded_channels, row = windows.width * pixel;
    return Tensor4{array.in(memory), {windows.height * row, plan.pack, row, pixel}};
  };
  const auto packs_of = [&](const TensorRef& tensor) {
    Tensor4 packs = tensor4(tensor);
    packs.stride[1] *= plan.pack;
    return packs;
  };
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Shared = ConvolutionKernels<B, T>;
    using Kernels = DeformConv2dGradKernels<B, T>;
    Copies copies;
    ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = packs_of(t.x)};
    if (memory_plan.x) {
      step.x = packs_in(memory_plan.x);
      if (plan.has_padding()) {
        Kernels::pack_channels(ctx, plan, windows, tensor4(t.x), step.x.data);
      } else {
        copies.add(to_channels_last(t.x, 0, windows.images, step.x.data));
      }
    }
    TapsGradTensors tensors{.weight = tensor4(t.weight),
                            .out_grad = tensor4(t.out_grad),
                            .x_grad = packs_of(t.x_grad),
                            .offset_grad = tensor4(t.offset_grad),
                            .mask_grad = tensor4(t.mask_grad),
                            .weight_grad = tensor4(t.weight_grad),
                            .products = memory_plan.products.in(memory),
                            .weight_sums = memory_plan.weight_sums.in(memory)};
    if (memory_plan.out_grad) {
      const TensorRef rows = copy_with_channels_last(t.out_grad, memory_plan.out_grad.in(memory), windows.out_channels);
      copies.add(to_channels_last(t.out_grad, 0, windows.images, rows.data()));
      tensors.out_grad = tensor4(rows);
    }
    if (memory_plan.x_grad) {
      tensors.x_grad = packs_in(memory_plan.x_grad);
      const std::int64_t sums = windows.images * windows.area() * plan.padded_channels;
      copies.add_zeros(tensors.x_grad.data, sizeof(Arithmetic<T>) * static_cast<std::size_t>(sums));
    } else {
      fill_with_bias(ctx, labels, t.x_grad);
    }
    Shared::copy(ctx, operands_label, copies);
    Kernels::taps_grad(ctx, plan, step, tensors);
    if (!memory_plan.x_grad) return;
    if (plan.has_padding()) {
      Kernels::unpack_channels(ctx, plan, windows, tensors.x_grad.data, tensor4(t.x_grad));
    } else {
      Copies results;
      results.add(from_channels_last(t.x_grad, 0, windows.images, tensors.x_grad.data));
      Shared::copy_sums(ctx, x_grad_label, results);
    }
  });
}

std::size_t taps_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& tensors) {
  return TapsGradMemory(windows, tensors).layout.bytes();
}

}  // namespace portops::impl
