// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/deform_conv2d.hpp"

#include "blas/gemm.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "generated/checks.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/convolve.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/gradient/im2col_grad.hpp"
#include "ops/convolution/deform_conv2d/gradient/strips_grad_path.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad_path.hpp"
#include "ops/convolution/deform_conv2d/small_path.hpp"
#include "ops/convolution/deform_conv2d/taps_path.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace portops {
namespace {

using impl::ConvolutionTensors;
using impl::DeformConv2dConvolution;
using impl::DeformConv2dGradTensors;

using impl::Windows;

std::int64_t step_of(const Windows& windows, const DeformConv2dParams& params) {
  return std::min(windows.images, params.im2col_step);
}

Windows check_forward(const Context& ctx, const ConvolutionTensors& t, const DeformConv2dParams& params) {
  const Windows windows = impl::check_deform_conv2d(ctx, t.x, t.offset, t.weight, t.out, params).windows;
  blas::check_products("deform_conv2d", ctx, t.x.type());
  return windows;
}

/// The ways to the result: `shared` are those of all convolutions.
enum class ForwardPath : std::uint8_t { small, taps, shared };

ForwardPath choose_forward_path(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  if (impl::suits_small(ctx, windows, tensors)) return ForwardPath::small;
  return impl::suits_taps(ctx, windows, tensors) ? ForwardPath::taps : ForwardPath::shared;
}

/// Whether the gradients that need the windows are sums over nothing.
bool has_no_windows(const Windows& windows) {
  return windows.images == 0 || windows.pixels() == 0 || windows.out_channels == 0 || windows.channels == 0;
}

bool wants_windows(const DeformConv2dGradTensors& t) {
  return t.x_grad || t.offset_grad || t.weight_grad || t.mask_grad;
}

/// The ways to the gradient.
enum class GradPath : std::uint8_t { strips, taps, im2col };

GradPath choose_grad_path(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors) {
  if (ctx.products() == Products::kokkos_kernels) return GradPath::im2col;
  if (impl::suits_strips<DeformConv2dConvolution>(ctx, windows, tensors.x)) return GradPath::strips;
  return impl::suits_taps_grad(ctx, windows, tensors) ? GradPath::taps : GradPath::im2col;
}

std::size_t grad_workspace(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                           const DeformConv2dParams& params) {
  const std::size_t bias_bytes = impl::bias_grad_workspace(tensors.out_grad, tensors.bias_grad);
  if (!wants_windows(tensors) || has_no_windows(windows)) return bias_bytes;
  std::size_t bytes = 0;
  switch (choose_grad_path(ctx, windows, tensors)) {
    case GradPath::strips: bytes = impl::strips_grad_workspace(windows, tensors, step_of(windows, params)); break;
    case GradPath::taps: bytes = impl::taps_grad_workspace(windows, tensors); break;
    case GradPath::im2col: bytes = impl::im2col_grad_workspace(ctx, windows, tensors, step_of(windows, params)); break;
  }
  return std::max(bias_bytes, bytes);
}

/// In deterministic mode a GPU's lists for x_grad number the samples of an image and deformable group by as many bits
/// as it adds up with.
void check_lists(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t) {
  if (!t.x_grad || !ctx.deterministic() || ctx.backend() != Backend::cuda || t.x.type() == ElementType::f64) return;
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  if (has_no_windows(windows) || windows.pixels() * windows.taps() <= most) return;
  impl::fail("portops::deform_conv2d_grad: out_grad has ", windows.pixels(), " pixels an image, and weight ",
             windows.taps(), " taps, expected a product of at most ", most, " for a deterministic x_grad on a GPU");
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
  const ConvolutionTensors tensors{x, offset, weight, params.mask, params.bias, out, impl::ProgramCallScope::current()};
  const Windows windows = check_forward(ctx, tensors, params);
  if (out.size() == 0) return;
  const bool finishes = tensors.finishes() && windows.channels > 0 &&
                        impl::finishes_convolve<DeformConv2dConvolution>(ctx, windows, tensors);
  impl::convolve_and_finish<DeformConv2dConvolution>(ctx, tensors, finishes, [&](const ConvolutionTensors& t) {
    if (windows.channels == 0) return impl::fill_with_bias(ctx, impl::DeformConv2dConvolution::labels(), t.out, t.bias);
    switch (choose_forward_path(ctx, windows, t)) {
      case ForwardPath::small: return impl::deform_conv2d_small(ctx, windows, t);
      case ForwardPath::taps: return impl::deform_conv2d_by_taps(ctx, windows, t);
      case ForwardPath::shared: break;
    }
    impl::convolve<DeformConv2dConvolution>(ctx, windows, t, step_of(windows, params));
  });
}

std::size_t deform_conv2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& offset,
                                    const TensorRef& weight, const TensorRef& out, const DeformConv2dParams& params) {
  const ConvolutionTensors tensors{x, offset, weight, params.mask, params.bias, out};
  const Windows windows = check_forward(ctx, tensors, params);
  if (out.size() == 0 || windows.channels == 0) return 0;
  switch (choose_forward_path(ctx, windows, tensors)) {
    case ForwardPath::small: return 0;
    case ForwardPath::taps: return impl::taps_workspace(windows, tensors);
    case ForwardPath::shared: break;
  }
  return impl::convolve_workspace<DeformConv2dConvolution>(ctx, windows, tensors, step_of(windows, params));
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
  const impl::ConvolutionLabels& labels = impl::DeformConv2dConvolution::labels();
  if (bias_grad) impl::sum_bias_grad(lent, "deform_conv2d_grad", labels, out_grad, bias_grad);
  if (!wants_windows(tensors)) return;
  if (has_no_windows(windows)) {
    for (const TensorRef* result : {&x_grad, &offset_grad, &weight_grad, &mask_grad}) {
      impl::fill_with_bias(ctx, labels, *result);
    }
    return;
  }
  const std::int64_t step = step_of(windows, params);
  switch (choose_grad_path(ctx, windows, tensors)) {
    case GradPath::strips: return impl::deform_conv2d_grad_by_strips(lent, windows, tensors, step);
    case GradPath::taps: return impl::deform_conv2d_grad_by_taps(lent, windows, tensors);
    case GradPath::im2col: return impl::deform_conv2d_grad_by_im2col(lent, windows, tensors, step);
  }
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
