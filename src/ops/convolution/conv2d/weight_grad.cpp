// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/weight_grad.hpp"

#include "core/copy/strided_copy.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels.hpp"
#include "ops/convolution/conv2d/images_at_once.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"
#include "ops/convolution/conv2d/window_rows.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/pixels_weight_grad_plan.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <cstdint>
#include <utility>

namespace portops::impl {
namespace {

/// Whether x is a matrix of the windows as it lies.
bool holds_windows(const Windows& windows, const TensorRef& x) {
  return is_pointwise(windows) && is_matrix_of_pixels(x);
}

/// Of rows of out_grad: on a GPU as many as 16 bytes divide, because products of other rows are several times slower.
std::int64_t out_grad_columns(const Context& ctx, const Windows& windows, ElementType type) {
  const std::int64_t pack = ctx.backend() == Backend::cuda && windows.groups == 1 ? unit_of(type) : 1;
  return ceil_div(windows.out_channels, pack) * pack;
}

struct WeightGradMemory {
  std::int64_t step, steps;
  MemoryLayout layout;
  Im2colArrays arrays;
  OutGradRows out_grad;
  WeightGrad weight_grad;

  WeightGradMemory(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad_tensor,
                   const TensorRef& weight_grad_tensor)
      : step(images_at_once(windows, x.type())),
        steps(steps_of(windows.images, step)),
        arrays(layout, ctx, windows, x, weight_grad_tensor, holds_windows(windows, x) ? 0 : step, false),
        out_grad(layout, windows, out_grad_tensor, step, out_grad_columns(ctx, windows, x.type())),
        weight_grad(layout, weight_grad_tensor, steps, out_grad.padding()) {}
};

/// Whether a GPU takes the sums pixel by pixel: for groups of few channels, whose products are few to a sample.
bool takes_pixels(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                  const TensorRef& weight_grad) {
  const bool is_depthwise = windows.group_out_channels() == 1;
  return ctx.backend() == Backend::cuda && ctx.products() != Products::kokkos_kernels && !is_pointwise(windows) &&
         (windows.group_channels() <= PixelsWeightGradPlan::block_channels || is_depthwise) &&
         fits_pixels(windows, {&x, &out_grad, &weight_grad});
}

/// Whether it makes columns of rows of windows, because those of pixels would lie at addresses for a few bytes.
bool takes_window_rows(const Context& ctx, const Windows& windows, const TensorRef& x) {
  const std::int64_t pixel_bytes = windows.channels * static_cast<std::int64_t>(size_of(x.type()));
  return ctx.backend() == Backend::cuda && has_window_rows(windows) && windows.channels > 1 &&
         windows.out_channels > 1 && pixel_bytes % 16 != 0;
}

/// The call with rows of windows for pixels.
struct WindowRowsGrad {
  WindowRows rows;
  ConvolutionTensors tensors;
  std::size_t bytes;

  WindowRowsGrad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                 const TensorRef& weight_grad)
      : rows(windows, {x, {}, weight_grad, {}, {}, out_grad}),
        tensors(rows.tensors(nullptr)),
        bytes(rows.bytes() + weight_grad_workspace(ctx, rows.windows(), tensors.x, out_grad, tensors.weight)) {}
};

void weight_grad_by_window_rows(const Context& ctx, const Windows& windows, const TensorRef& x,
                                const TensorRef& out_grad, const TensorRef& weight_grad, const TensorRef& bias_grad) {
  static const CopyLabels labels("conv2d_grad");
  const WindowRowsGrad call(ctx, windows, x, out_grad, weight_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", call.bytes);
  const std::size_t own = call.rows.bytes();
  const Context lent = Context(ctx).workspace({static_cast<std::byte*>(memory.data()) + own, call.bytes - own});
  call.rows.copy_x(ctx, memory.data());
  const ConvolutionTensors tensors = call.rows.tensors(memory.data());
  conv2d_weight_grad(lent, call.rows.windows(), tensors.x, out_grad, tensors.weight, bias_grad);
  strided_copy(ctx, labels, make_copy_plan(call.rows.weight(memory.data()), weight_grad));
}

std::size_t sums_bytes(const Windows& windows, ElementType type) {
  return chunk_sums_bytes(windows, PixelsWeightGradPlan(windows).chunks(), type);
}

void weight_grad_by_pixels(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                           const TensorRef& weight_grad) {
  const Temporary sums(ctx, "portops::conv2d_grad::workspace", sums_bytes(windows, x.type()));
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    Conv2dKernels<B, T>::pixels_weight_grad(ctx, {.windows = windows, .x = tensor4(x)}, tensor4(out_grad), sums.data(),
                                            tensor4(weight_grad));
  });
}

DirectCall direct_call(const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  return DirectCall{windows, tensor4(x), tensor4(out_grad)}.reduced();
}

bool suits_direct(const Context& ctx, const DirectCall& call, ElementType type) {
  if (ctx.backend() == Backend::cuda || ctx.products() == Products::kokkos_kernels) return false;
  bool suits = false;
  dispatch(ctx.backend(), type,
           [&]<Backend B, class T>() { suits = Conv2dKernels<B, T>::suits_weight_grad_direct(call.windows); });
  return suits;
}

std::size_t direct_workspace(const Context& ctx, const DirectCall& call, ElementType type) {
  std::size_t bytes = 0;
  dispatch(ctx.backend(), type,
           [&]<Backend B, class T>() { bytes = Conv2dKernels<B, T>::weight_grad_direct_bytes(call); });
  return bytes;
}

void weight_grad_directly(const Context& ctx, const DirectCall& call, const TensorRef& weight_grad) {
  const std::size_t bytes = direct_workspace(ctx, call, weight_grad.type());
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", bytes);
  dispatch(ctx.backend(), weight_grad.type(), [&]<Backend B, class T>() {
    Conv2dKernels<B, T>::weight_grad_direct(ctx, call, tensor4(weight_grad), memory.data());
  });
}

/// The ways to weight_grad.
enum class WeightGradPath : std::uint8_t {
  depthwise,
  few_channels,
  window_rows,
  pixels,
  planes,
  products,
  direct,
  columns
};

WeightGradPath choose_weight_grad_path(const Context& ctx, const Windows& windows, const TensorRef& x,
                                       const TensorRef& out_grad, const TensorRef& weight_grad) {
  if (suits_depthwise(ctx, windows, x, weight_grad, out_grad)) return WeightGradPath::depthwise;
  if (suits_from_few(ctx, windows, FromFewCall::weight_grad, x, weight_grad, out_grad)) {
    return WeightGradPath::few_channels;
  }
  if (takes_window_rows(ctx, windows, x)) return WeightGradPath::window_rows;
  if (takes_pixels(ctx, windows, x, out_grad, weight_grad)) return WeightGradPath::pixels;
  if (suits_products_of_planes(ctx, windows, x, out_grad)) return WeightGradPath::planes;
  if (!holds_windows(windows, x) && suits_weight_products(ctx, windows, x, out_grad)) return WeightGradPath::products;
  const bool direct = suits_direct(ctx, direct_call(windows, x, out_grad), x.type());
  return direct ? WeightGradPath::direct : WeightGradPath::columns;
}

void weight_grad_by_columns(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                            const TensorRef& weight_grad) {
  static const std::string operands_label = "portops::conv2d_grad::operands[channels_last]";
  static const std::string add_label = "portops::conv2d_grad::add[weight_grad]";
  static const std::string label = "portops::conv2d_grad::weight_grad[strided]";
  const WeightGradMemory plan(ctx, windows, x, out_grad, weight_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", plan.layout.bytes());
  const Matrices matrix(ctx, x.type());
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Shared = ConvolutionKernels<B, T>;
    Copies copies;
    const Im2col im2col(ctx, plan.arrays, memory.data(), weight_grad, copies);
    for_steps(windows.images, plan.step, [&](std::int64_t first, std::int64_t count) {
      const TensorRef grads =
          plan.out_grad.rows(ctx, Conv2dConvolution::labels(), windows, out_grad, first, count, memory.data(), copies);
      TensorRef columns;
      ImageStep s;
      if (holds_windows(windows, x)) {
        columns = matrix(tensor4(x, first).data, count * windows.pixels(), windows.group_channels(), pixel_distance(x));
      } else {
        s = im2col.step(windows, first, count, x, {}, {}, copies);
        columns = matrix(s.columns, count * windows.pixels(), windows.group_column(), windows.column());
      }
      Shared::copy(ctx, operands_label, std::exchange(copies, {}));
      if (s.columns != nullptr) Conv2dKernels<B, T>::columns(ctx, s);
      plan.weight_grad.add<B, T>(ctx, add_label, windows, first / plan.step, grads, columns, memory.data(),
                                 im2col.workspace());
    });
    copies.add(plan.weight_grad.finish<B, T>(ctx, add_label, windows, plan.steps, weight_grad, memory.data()));
    Shared::copy_sums(ctx, label, copies);
  });
}

}  // namespace

void conv2d_weight_grad(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                        const TensorRef& weight_grad, const TensorRef& bias_grad) {
  switch (choose_weight_grad_path(ctx, windows, x, out_grad, weight_grad)) {
    case WeightGradPath::depthwise: return depthwise_weight_grad(ctx, windows, x, out_grad, weight_grad, bias_grad);
    case WeightGradPath::few_channels: return from_few_weight_grad(ctx, windows, x, out_grad, weight_grad);
    case WeightGradPath::window_rows:
      return weight_grad_by_window_rows(ctx, windows, x, out_grad, weight_grad, bias_grad);
    case WeightGradPath::pixels: return weight_grad_by_pixels(ctx, windows, x, out_grad, weight_grad);
    case WeightGradPath::planes: return weight_grad_by_planes(ctx, windows, x, out_grad, weight_grad);
    case WeightGradPath::products: return weight_grad_by_products(ctx, windows, x, out_grad, weight_grad, bias_grad);
    case WeightGradPath::direct: return weight_grad_directly(ctx, direct_call(windows, x, out_grad), weight_grad);
    case WeightGradPath::columns: return weight_grad_by_columns(ctx, windows, x, out_grad, weight_grad);
  }
}

bool weight_grad_gives_bias_grad(const Context& ctx, const Windows& windows, const TensorRef& x,
                                 const TensorRef& out_grad, const TensorRef& weight_grad) {
  switch (choose_weight_grad_path(ctx, windows, x, out_grad, weight_grad)) {
    case WeightGradPath::depthwise: return depthwise_gives_bias_grad(windows, x, out_grad);
    case WeightGradPath::products: return weight_products_give_bias_grad(ctx, windows, x.type());
    case WeightGradPath::window_rows: {
      const WindowRowsGrad call(ctx, windows, x, out_grad, weight_grad);
      return weight_grad_gives_bias_grad(ctx, call.rows.windows(), call.tensors.x, out_grad, call.tensors.weight);
    }
    default: return false;
  }
}

bool weight_grad_wants_channels_last(const Context& ctx, const Windows& windows, const TensorRef& x,
                                     const TensorRef& out_grad, const TensorRef& weight_grad) {
  if (ctx.backend() != Backend::cuda) return false;
  const WeightGradPath path = choose_weight_grad_path(ctx, windows, x, out_grad, weight_grad);
  // Columns want rows that are whole packs.
  return path == WeightGradPath::products ||
         (path == WeightGradPath::columns && out_grad_columns(ctx, windows, x.type()) == windows.out_channels);
}

std::size_t weight_grad_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                  const TensorRef& out_grad, const TensorRef& weight_grad) {
  switch (choose_weight_grad_path(ctx, windows, x, out_grad, weight_grad)) {
    case WeightGradPath::depthwise: return depthwise_weight_grad_workspace(windows, x, out_grad);
    case WeightGradPath::few_channels: return from_few_weight_grad_workspace(ctx, windows, out_grad);
    case WeightGradPath::window_rows: return WindowRowsGrad(ctx, windows, x, out_grad, weight_grad).bytes;
    case WeightGradPath::pixels: return sums_bytes(windows, x.type());
    case WeightGradPath::planes: return weight_grad_by_planes_workspace(ctx, windows, weight_grad);
    case WeightGradPath::products: return weight_products_workspace(ctx, windows, x, out_grad);
    case WeightGradPath::direct: return direct_workspace(ctx, direct_call(windows, x, out_grad), x.type());
    case WeightGradPath::columns: break;
  }
  return WeightGradMemory(ctx, windows, x, out_grad, weight_grad).layout.bytes();
}

}  // namespace portops::impl
