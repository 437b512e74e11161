// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/gradient/strips_grad_path.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/deform_conv2d/gradient/strips_plan.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {
namespace {

StripsPlan plan_of(const Windows& windows, std::int64_t images) {
  StripsPlan plan{windows};
  plan.windows.images = images;
  return plan;
}

struct StripsGradMemory {
  MemoryLayout layout;
  TemporaryArray weight_grad;  ///< sums over chunks
  TemporaryArray reach, x_grad;

  StripsGradMemory(const Windows& windows, const DeformConv2dGradTensors& t, std::int64_t step) {
    const std::size_t number = t.x.type() == ElementType::f64 ? sizeof(double) : sizeof(float);
    const StripsPlan all = plan_of(windows, windows.images);
    if (t.weight_grad) weight_grad = TemporaryArray(layout, all.chunks() * all.weights(), number);
    if (!t.x_grad) return;
    reach = TemporaryArray(layout, plan_of(windows, step).all_strips() * windows.samples(), sizeof(StripReach));
    x_grad = TemporaryArray(layout, step * windows.channels * windows.area(), number);
  }
};

}  // namespace

void deform_conv2d_grad_by_strips(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t,
                                  std::int64_t step) {
  const StripsGradMemory plan(windows, t, step);
  const Temporary memory(ctx, "portops::deform_conv2d_grad::workspace", plan.layout.bytes());
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    using Kernels = DeformConv2dGradKernels<B, T>;
    const auto images = [&](std::int64_t first, std::int64_t count) {
      ImageStep result{.windows = windows,
                       .offset = tensor4(t.offset, first),
                       .mask = tensor4(t.mask, first),
                       .x = tensor4(t.x, first)};
      result.windows.images = count;
      return result;
    };
    if (t.offset_grad || t.mask_grad || t.weight_grad) {
      Kernels::strips_products(ctx, plan_of(windows, windows.images), images(0, windows.images), tensor4(t.weight),
                               tensor4(t.out_grad), tensor4(t.offset_grad), tensor4(t.mask_grad),
                               plan.weight_grad.in(memory.data()), tensor4(t.weight_grad));
    }
    if (!t.x_grad) return;
    for (std::int64_t first = 0; first < windows.images; first += step) {
      const std::int64_t count = std::min(step, windows.images - first);
      Kernels::strips_x_grad(ctx, plan_of(windows, count), images(first, count), tensor4(t.weight),
                             tensor4(t.out_grad, first), plan.reach.in(memory.data()), plan.x_grad.in(memory.data()),
                             tensor4(t.x_grad, first));
    }
  });
}

std::size_t strips_grad_workspace(const Windows& windows, const DeformConv2dGradTensors& t, std::int64_t step) {
  return StripsGradMemory(windows, t, step).layout.bytes();
}

}  // namespace portops::impl
