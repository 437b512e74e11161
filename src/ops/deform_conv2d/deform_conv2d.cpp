// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/deform_conv2d.hpp"

#include "blas/gemm.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "core/loop/axes.hpp"
#include "core/loop/loop.hpp"
#include "generated/checks.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/deform_conv2d_tensors.hpp"
#include "ops/deform_conv2d/fused/fused.hpp"
#include "ops/deform_conv2d/im2col.hpp"
#include "ops/deform_conv2d/layouts.hpp"
#include "ops/deform_conv2d/pixels.hpp"
#include "ops/deform_conv2d/strips.hpp"
#include "ops/deform_conv2d/tiles.hpp"

#include <algorithm>
#include <limits>

namespace portops {
namespace {

using impl::DeformConv2dGradTensors;
using impl::DeformConv2dTensors;
using impl::Windows;

std::int64_t step_of(const Windows& windows, const DeformConv2dParams& params) {
  return std::min(windows.images, params.im2col_step);
}

/// The ways to the result of the forward pass.
enum class Path : std::uint8_t { fused, pixels, strips, tiles, im2col };

Path choose_path(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors) {
  // A library multiplies columns that are in memory.
  if (ctx.products() == Products::kokkos_kernels) return Path::im2col;
  if (impl::can_fuse(ctx, windows, tensors)) return Path::fused;
  if (impl::suits_pixels(ctx, windows, tensors)) return Path::pixels;
  if (impl::suits_strips(ctx, windows, tensors.x)) return Path::strips;
  return ctx.backend() == Backend::cuda ? Path::im2col : Path::tiles;
}

Windows check_forward(const Context& ctx, const DeformConv2dTensors& t, const DeformConv2dParams& params) {
  const Windows windows = impl::check_deform_conv2d(ctx, t.x, t.offset, t.weight, t.out, params).windows;
  blas::check_products("deform_conv2d", ctx, t.x.type());
  return windows;
}

/// Writes a channel's bias to all of its pixels, or 0.
void fill(const Context& ctx, const TensorRef& tensor, const TensorRef& bias = {}) {
  if (!tensor || tensor.size() == 0) return;
  const auto axis = [&](int k) { return k < tensor.rank() ? tensor.extent(k) : 1; };
  const auto stride = [&](int k) { return k < tensor.rank() ? tensor.stride(k) : 0; };
  impl::dispatch(ctx.backend(), tensor.type(), [&]<Backend B, class T>() {
    impl::DeformConv2dKernels<B, T>::fill(ctx, {axis(0), axis(1), axis(2), axis(3)},
                                          {tensor.data(), {stride(0), stride(1), stride(2), stride(3)}},
                                          bias ? bias.data() : nullptr, bias ? bias.stride(0) : 0);
  });
}

/// The sum over all axes of out_grad but the channels.
impl::ReducePlan bias_grad_plan(const DeformConv2dGradTensors& t) {
  const impl::AxisSet reduced{true, false, true, true};
  const TensorRef bias_grad = impl::with_reduced_axes(t.bias_grad, t.out_grad.extents(), reduced, false);
  return impl::make_reduce_plan(impl::make_reduction(t.out_grad, bias_grad, reduced));
}

void sum_bias_grad(const Context& ctx, const DeformConv2dGradTensors& t) {
  if (t.out_grad.size() == 0) return fill(ctx, t.bias_grad);
  const impl::ReducePlan plan = bias_grad_plan(t);
  impl::dispatch(ctx.backend(), t.out_grad.type(),
                 [&]<Backend B, class T>() { impl::DeformConv2dGradKernels<B, T>::bias_grad(ctx, plan); });
}

std::size_t bias_grad_workspace(const DeformConv2dGradTensors& t) {
  return t.bias_grad && t.out_grad.size() > 0 ? impl::reduce_workspace(bias_grad_plan(t), t.out_grad.type()) : 0;
}

/// Whether the gradients that need the windows are sums over nothing.
bool has_no_windows(const Windows& windows) {
  return windows.images == 0 || windows.pixels() == 0 || windows.out_channels == 0 || windows.channels == 0;
}

bool wants_windows(const DeformConv2dGradTensors& t) {
  return t.x_grad || t.offset_grad || t.weight_grad || t.mask_grad;
}

/// Whether the gradient needs no columns in memory.
bool takes_strips(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors) {
  return ctx.products() != Products::kokkos_kernels && impl::suits_strips(ctx, windows, tensors.x);
}

std::size_t grad_workspace(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                           const DeformConv2dParams& params) {
  const std::size_t bias_bytes = bias_grad_workspace(tensors);
  if (!wants_windows(tensors) || has_no_windows(windows)) return bias_bytes;
  if (takes_strips(ctx, windows, tensors)) {
    return std::max(bias_bytes, impl::strips_grad_workspace(windows, tensors, step_of(windows, params)));
  }
  return std::max(bias_bytes, impl::im2col_grad_workspace(ctx, windows, tensors, step_of(windows, params)));
}

/// What a GPU lists for x_grad in deterministic mode numbers the pixels of out_grad by as many bits as it adds up with.
void check_lists(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t) {
  if (!t.x_grad || !ctx.deterministic() || ctx.backend() != Backend::cuda || t.x.type() == ElementType::f64) return;
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  if (windows.pixels() <= most) return;
  impl::fail("portops::deform_conv2d_grad: out_grad has ", windows.pixels(), " pixels an image, expected at most ",
             most, " for a deterministic x_grad on a GPU");
}

Windows check_grad(const Context& ctx, const DeformConv2dGradTensors& t, const DeformConv2dParams& params) {
  const Windows windows = impl::check_deform_conv2d_grad(ctx, t.x, t.offset, t.weight, t.out_grad, t.x_grad,
                                                         t.offset_grad, t.weight_grad, t.mask_grad, t.bias_grad, params)
                              .windows;
  blas::check_products("deform_conv2d_grad", ctx, t.x.type());
  check_lists(ctx, windows, t);
  return windows;
}

}  // namespace

void deform_conv2d(const Context& ctx, const TensorRef& x, const TensorRef& offset, const TensorRef& weight,
                   const TensorRef& out, const DeformConv2dParams& params) {
  const impl::Region region("portops::deform_conv2d");
  const DeformConv2dTensors tensors{x, offset, weight, params.mask, params.bias, out};
  const Windows windows = check_forward(ctx, tensors, params);
  if (out.size() == 0) return;
  if (windows.channels == 0) return fill(ctx, out, params.bias);
  switch (choose_path(ctx, windows, tensors)) {
    case Path::fused: return impl::deform_conv2d_fused(ctx, windows, tensors);
    case Path::pixels: return impl::deform_conv2d_by_pixels(ctx, windows, tensors);
    case Path::strips: return impl::deform_conv2d_by_strips(ctx, windows, tensors);
    case Path::tiles: return impl::deform_conv2d_by_tiles(ctx, windows, tensors, step_of(windows, params));
    case Path::im2col: return impl::deform_conv2d_by_im2col(ctx, windows, tensors, step_of(windows, params));
  }
}

std::size_t deform_conv2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                    const TensorRef& weight, const TensorRef& out, const DeformConv2dParams& params) {
  const DeformConv2dTensors tensors{x, offset, weight, params.mask, params.bias, out};
  const Windows windows = check_forward(ctx, tensors, params);
  if (out.size() == 0 || windows.channels == 0) return 0;
  switch (choose_path(ctx, windows, tensors)) {
    case Path::fused: return impl::fused_workspace(ctx, windows, tensors);
    case Path::pixels:
    case Path::strips: return 0;
    case Path::tiles: return impl::tiles_workspace(ctx, windows, tensors, step_of(windows, params));
    case Path::im2col: break;
  }
  return impl::im2col_workspace(ctx, windows, tensors, step_of(windows, params));
}

void deform_conv2d_grad(const Context& ctx, const TensorRef& x, const TensorRef& offset, const TensorRef& weight,
                        const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& offset_grad,
                        const TensorRef& weight_grad, const TensorRef& mask_grad, const TensorRef& bias_grad,
                        const DeformConv2dParams& params) {
  const impl::Region region("portops::deform_conv2d_grad");
  const DeformConv2dGradTensors tensors{x,      offset,      weight,      params.mask, out_grad,
                                        x_grad, offset_grad, weight_grad, mask_grad,   bias_grad};
  const Windows windows = check_grad(ctx, tensors, params);
  // Taken at once for all, so that too small a workspace is refused before anything is enqueued.
  const std::size_t bytes = grad_workspace(ctx, windows, tensors, params);
  const impl::Temporary memory(ctx, "portops::deform_conv2d_grad::workspace", bytes);
  const Context lent = Context(ctx).workspace({memory.data(), bytes});
  if (bias_grad) sum_bias_grad(lent, tensors);
  if (!wants_windows(tensors)) return;
  if (has_no_windows(windows)) {
    for (const TensorRef* result : {&x_grad, &offset_grad, &weight_grad, &mask_grad}) fill(ctx, *result);
    return;
  }
  if (takes_strips(ctx, windows, tensors)) {
    return impl::deform_conv2d_grad_by_strips(lent, windows, tensors, step_of(windows, params));
  }
  impl::deform_conv2d_grad_by_im2col(lent, windows, tensors, step_of(windows, params));
}

std::size_t deform_conv2d_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                         const TensorRef& weight, const TensorRef& out_grad, const TensorRef& x_grad,
                                         const TensorRef& offset_grad, const TensorRef& weight_grad,
                                         const TensorRef& mask_grad, const TensorRef& bias_grad,
                                         const DeformConv2dParams& params) {
  const DeformConv2dGradTensors tensors{x,      offset,      weight,      params.mask, out_grad,
                                        x_grad, offset_grad, weight_grad, mask_grad,   bias_grad};
  const Windows windows = check_grad(ctx, tensors, params);
  return grad_workspace(ctx, windows, tensors, params);
}

}  // namespace portops
