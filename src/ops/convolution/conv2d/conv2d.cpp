// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/conv2d.hpp"

#include "blas/gemm.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "generated/checks.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/conv2d/conv2d_paths.hpp"
#include "ops/convolution/conv2d/weight_grad.hpp"
#include "ops/convolution/conv2d/x_grad.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <string>

namespace portops {
namespace {

using impl::Conv2dConvolution;
using impl::ConvolutionTensors;
using impl::Windows;

Windows check_forward(const Context& ctx, const ConvolutionTensors& t, const Conv2dParams& params) {
  const Windows windows = impl::check_conv2d(ctx, t.x, t.weight, t.out, params).windows;
  blas::check_products("conv2d", ctx, t.x.type());
  return windows;
}

/// The tensors of a call of the gradient.
struct GradTensors {
  TensorRef x, weight, out_grad;
  TensorRef x_grad, weight_grad, bias_grad;
};

Windows check_grad(const Context& ctx, const GradTensors& t, const Conv2dParams& params) {
  const Windows windows =
      impl::check_conv2d_grad(ctx, t.x, t.weight, t.out_grad, t.x_grad, t.weight_grad, t.bias_grad, params).windows;
  blas::check_products("conv2d_grad", ctx, t.x.type());
  return windows;
}

/// Whether the gradients that need the windows are sums over nothing, or there are none.
bool has_no_windows(const Windows& windows) {
  return windows.images == 0 || windows.pixels() == 0 || windows.out_channels == 0 || windows.channels == 0 ||
         windows.area() == 0;
}

/// Whether the gradients of x and weight both read out_grad with its channels last, and one at least from a copy.
bool share_out_grad(const Context& ctx, const Windows& windows, const GradTensors& t) {
  if (ctx.backend() != Backend::cuda || !t.x_grad || !t.weight_grad || has_no_windows(windows)) return false;
  const bool has_whole_units = t.out_grad.extent(1) % impl::unit_of(t.out_grad.type()) == 0;
  if (has_whole_units ? impl::is_matrix_of_pixels(t.out_grad) : windows.groups > 1) return false;
  return impl::x_grad_wants_channels_last(ctx, windows, t.weight, t.out_grad, t.x_grad) &&
         impl::weight_grad_wants_channels_last(ctx, windows, t.x, t.out_grad, t.weight_grad);
}

/// out_grad as the gradients of x and weight read it: copied once, where they share it, with zeros that fill up the
/// last 16 bytes of its pixels.
struct SharedOutGrad {
  impl::MemoryLayout layout;
  impl::ChannelsLast tensor;

  SharedOutGrad(const Context& ctx, const Windows& windows, const GradTensors& t)
      : tensor(layout, t.out_grad, share_out_grad(ctx, windows, t), impl::unit_of(t.out_grad.type()), true) {}
};

std::size_t grad_workspace(const Context& ctx, const Windows& windows, const GradTensors& t,
                           const SharedOutGrad& shared) {
  const std::size_t bytes = impl::bias_grad_workspace(t.out_grad, t.bias_grad);
  if (has_no_windows(windows)) return bytes;
  const TensorRef out_grad = shared.tensor.in(nullptr);
  std::size_t of_gradients = 0;
  if (t.x_grad) {
    of_gradients = impl::x_grad_workspace(ctx, windows, t.weight, out_grad, shared.tensor.is_copied(), t.x_grad);
  }
  if (t.weight_grad) {
    of_gradients = std::max(of_gradients, impl::weight_grad_workspace(ctx, windows, t.x, out_grad, t.weight_grad));
  }
  return std::max(bytes, shared.layout.bytes() + of_gradients);
}

}  // namespace

void conv2d(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
            const Conv2dParams& params) {
  const impl::Region region("portops::conv2d");
  const ConvolutionTensors tensors{x, {}, weight, {}, params.bias, out, impl::ProgramCallScope::current()};
  const Windows windows = check_forward(ctx, tensors, params);
  if (out.size() == 0) return;
  const bool finishes = tensors.finishes() && windows.channels > 0 && impl::finishes_whole(ctx, windows, tensors);
  impl::convolve_and_finish<Conv2dConvolution>(ctx, tensors, finishes, [&](const ConvolutionTensors& t) {
    if (windows.channels == 0) return impl::fill_with_bias(ctx, impl::Conv2dConvolution::labels(), t.out, t.bias);
    impl::convolve_whole(ctx, windows, t);
  });
}

std::size_t conv2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                             const Conv2dParams& params) {
  const ConvolutionTensors tensors{x, {}, weight, {}, params.bias, out};
  const Windows windows = check_forward(ctx, tensors, params);
  if (out.size() == 0 || windows.channels == 0) return 0;
  return impl::convolve_whole_workspace(ctx, windows, tensors);
}

void conv2d_grad(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out_grad,
                 const TensorRef& x_grad, const TensorRef& weight_grad, const TensorRef& bias_grad,
                 const Conv2dParams& params) {
  const impl::Region region("portops::conv2d_grad");
  const GradTensors tensors{x, weight, out_grad, x_grad, weight_grad, bias_grad};
  const Windows windows = check_grad(ctx, tensors, params);
  // Taken at once for all, so that too small a workspace is refused before anything is enqueued.
  const SharedOutGrad shared(ctx, windows, tensors);
  const std::size_t bytes = grad_workspace(ctx, windows, tensors, shared);
  const impl::Temporary memory(ctx, "portops::conv2d_grad::workspace", bytes);
  const Context lent = Context(ctx).workspace({memory.data(), bytes});
  const impl::ConvolutionLabels& labels = impl::Conv2dConvolution::labels();
  const bool has_windows = !has_no_windows(windows);
  const bool sums_together =
      has_windows && bias_grad && weight_grad &&
      impl::weight_grad_gives_bias_grad(ctx, windows, x, shared.tensor.in(memory.data()), weight_grad);
  if (bias_grad && !sums_together) impl::sum_bias_grad(lent, "conv2d_grad", labels, out_grad, bias_grad);
  if (!has_windows) {
    for (const TensorRef* result : {&x_grad, &weight_grad}) impl::fill_with_bias(ctx, labels, *result);
    return;
  }
  static const std::string copy_label = "portops::conv2d_grad::out_grad[channels_last]";
  const TensorRef grads = shared.tensor.copied_to(ctx, copy_label, memory.data());
  const std::size_t own = shared.layout.bytes();
  const Context rest = Context(ctx).workspace({static_cast<std::byte*>(memory.data()) + own, bytes - own});
  if (x_grad) impl::conv2d_x_grad(rest, windows, weight, grads, shared.tensor.is_copied(), x_grad);
  if (weight_grad) {
    impl::conv2d_weight_grad(rest, windows, x, grads, weight_grad, sums_together ? bias_grad : TensorRef());
  }
}

std::size_t conv2d_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                  const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& weight_grad,
                                  const TensorRef& bias_grad, const Conv2dParams& params) {
  const GradTensors tensors{x, weight, out_grad, x_grad, weight_grad, bias_grad};
  const Windows windows = check_grad(ctx, tensors, params);
  return grad_workspace(ctx, windows, tensors, SharedOutGrad(ctx, windows, tensors));
}

}  // namespace portops
