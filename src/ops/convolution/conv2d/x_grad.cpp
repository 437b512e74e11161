// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/x_grad.hpp"

#include "ops/convolution/bias.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/conv2d/conv2d_paths.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels.hpp"
#include "ops/convolution/conv2d/resident_blocks.hpp"
#include "ops/convolution/conv2d/x_grad_by_columns.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <numeric>

namespace portops::impl {
namespace {

class XGrad {
 public:
  XGrad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad, bool is_padded,
        const TensorRef& x_grad)
      : windows_(windows),
        weight_(weight),
        x_grad_(x_grad),
        is_padded_(is_padded),
        down_(phases_of(windows.height, windows.kernel_height, windows.stride_y, windows.top, windows.dilation_y)),
        across_(phases_of(windows.width, windows.kernel_width, windows.stride_x, windows.left, windows.dilation_x)),
        channels_last_(layout_, out_grad, false) {
    // The weight of a single group is read where it lies by what packs it anyway, and by matrix products.
    const bool on_gpu = ctx.backend() == Backend::cuda;
    if (windows.groups > 1 || (on_gpu && !takes_weight_as_it_lies(ctx))) {
      turned_ = TemporaryArray(layout_, weight.size(), size_of(weight.type()));
    }
    // What each of several convolutions would copy is copied once.
    const bool copies = on_gpu && down_.size() * across_.size() > 1 && !has_channels_last(out_grad);
    const bool pads = copies && windows.groups == 1;
    channels_last_ = ChannelsLast(layout_, out_grad, copies, pads ? unit_of(out_grad.type()) : 1, pads);
    is_padded_ = is_padded_ || pads;
    together_ = down_.size() * across_.size() > 1 && wants_channels_last(ctx);
    if (together_) {
      rest_ = fused_workspace(ctx, Conv2dConvolution::fused(), all_calls(nullptr));
      return;
    }
    for_phases(nullptr, [&](const FusedCall& phase) {
      rest_ = std::max(rest_, convolve_whole_workspace(ctx, phase.windows, phase.tensors));
    });
  }

  std::size_t bytes() const { return layout_.bytes() + rest_; }

  /// Whether it reads out_grad with its channels last.
  bool wants_channels_last(const Context& ctx) const {
    return all_phases(
        [&](const Windows& windows, const ConvolutionTensors& tensors) { return fuses_whole(ctx, windows, tensors); });
  }

  /// Whether it is one convolution whose blocks keep their weight.
  bool is_resident(const Context& ctx) const {
    return down_.size() * across_.size() == 1 &&
           all_phases([&](const Windows& windows, const ConvolutionTensors& tensors) {
             return fuses_whole(ctx, windows, tensors) && has_resident_blocks(ctx, windows, tensors);
           });
  }

  void run(const Context& ctx) const {
    static const std::string label = "portops::conv2d_grad::out_grad[channels_last]";
    const Temporary memory(ctx, "portops::conv2d_grad::workspace", bytes());
    dispatch(ctx.backend(), x_grad_.type(), [&]<Backend B, class T>() {
      if (turned_) turn_weight<B, T>(ctx, tensor4(weight_), turned_.in(memory.data()));
    });
    channels_last_.copied_to(ctx, label, memory.data());
    if (!reaches_all()) fill_with_bias(ctx, Conv2dConvolution::labels(), x_grad_);
    const Context lent = Context(ctx).workspace({static_cast<std::byte*>(memory.data()) + layout_.bytes(), rest_});
    if (together_) return convolve_fused(lent, Conv2dConvolution::fused(), all_calls(memory.data()));
    for_phases(memory.data(), [&](const FusedCall& phase) { convolve_whole(lent, phase.windows, phase.tensors); });
  }

 private:
  /// Copies the weight as [C, K, L, M / G]: its channels exchanged with the output channels of the group, its taps
  /// counted backwards.
  template <Backend B, class T>
  void turn_weight(const Context& ctx, const Tensor4& weight, void* turned) const {
    static const std::string label = "portops::conv2d_grad::weight[turned]";
    // All taps at once where they lie at one distance, else a row of them after the other.
    const bool are_joined = windows_.kernel_height == 1 || weight.stride[2] == windows_.kernel_width * weight.stride[3];
    const std::int64_t rows = are_joined ? 1 : windows_.kernel_height, taps = windows_.taps() / rows;
    const std::int64_t outs = windows_.group_out_channels(), channels = windows_.group_channels();
    const std::int64_t column = windows_.taps() * outs;
    for (std::int64_t row = 0; row < rows; ++row) {
      T* const last =
          static_cast<T*>(weight.data) + (rows - 1 - row) * weight.stride[2] + (taps - 1) * weight.stride[3];
      Rearrangement what{.batches = windows_.groups,
                         .rows = outs,
                         .height = channels,
                         .width = taps,
                         .from = {last, outs * weight.stride[0], weight.stride[0], weight.stride[1], -weight.stride[3]},
                         .to = {static_cast<T*>(turned) + row * taps * outs, channels * column, 1, column, outs}};
      if (taps == 1) {
        what.height = 1;
        what.width = channels;
        what.from.x = what.from.y;
        what.to.x = what.to.y;
      }
      ConvolutionKernels<B, T>::rearrange(ctx, label, what);
    }
  }

  /// Whether the condition holds for all of the convolutions, which are given a view of the weight unless it is copied.
  template <class Condition>
  bool all_phases(const Condition& condition) const {
    bool all = true;
    for_phases(nullptr, [&](const FusedCall& phase) { all = all && condition(phase.windows, phase.tensors); });
    return all;
  }

  /// Whether all of them take the weight as it lies.
  bool takes_weight_as_it_lies(const Context& ctx) const {
    return all_phases([&](const Windows& windows, const ConvolutionTensors& tensors) {
      return choose_whole_path(ctx, windows, tensors) == WholePath::products || fuses_whole(ctx, windows, tensors);
    });
  }

  /// Whether each pixel of x is in some phase.
  bool reaches_all() const {
    const auto pixels = [](const std::vector<Phase>& phases) {
      std::int64_t sum = 0;
      for (const Phase& phase : phases) sum += phase.extent;
      return sum;
    };
    return pixels(down_) == windows_.height && pixels(across_) == windows_.width;
  }

  std::vector<FusedCall> all_calls(void* memory) const {
    std::vector<FusedCall> calls;
    for_phases(memory, [&](const FusedCall& call) { calls.push_back(call); });
    return calls;
  }

  template <class Action>
  void for_phases(void* memory, const Action& action) const {
    for (const Phase& down : down_) {
      for (const Phase& across : across_) action(convolution(down, across, memory));
    }
  }

  /// Without memory, one of the same extents, strides and alignment.
  FusedCall convolution(const Phase& down, const Phase& across, void* memory) const {
    const std::int64_t images = windows_.images;
    const TensorRef turned = turned_weight(memory);
    const Extents of_turned = turned.strides();
    const Extents of_x = x_grad_.strides();
    return {
        {.images = images,
         .channels = windows_.out_channels,
         .height = windows_.out_height,
         .width = windows_.out_width,
         .out_channels = windows_.channels,
         .out_height = down.extent,
         .out_width = across.extent,
         .kernel_height = down.taps,
         .kernel_width = across.taps,
         .top = down.before,
         .left = across.before,
         .dilation_y = down.dilation,
         .dilation_x = across.dilation,
         .groups = windows_.groups},
        {.x = channels_last_.in(memory),
         .offset = {},
         .weight = moved(turned, down.tap * of_turned[2] + across.tap * of_turned[3],
                         {windows_.channels, windows_.group_out_channels(), down.taps, across.taps},
                         {of_turned[0], of_turned[1], down.tap_step * of_turned[2], across.tap_step * of_turned[3]}),
         .mask = {},
         .bias = {},
         .out = moved(x_grad_, down.first * of_x[2] + across.first * of_x[3],
                      {images, windows_.channels, down.extent, across.extent},
                      {of_x[0], of_x[1], of_x[2] * windows_.stride_y, of_x[3] * windows_.stride_x}),
         .x_is_padded = is_padded_}};
  }

  /// [C, M / G, K, L]: the copy, or a view of the weight.
  TensorRef turned_weight(void* memory) const {
    const std::int64_t outs = windows_.group_out_channels(), height = windows_.kernel_height;
    const std::int64_t width = windows_.kernel_width;
    const Extents extents{windows_.channels, outs, height, width};
    if (turned_) {
      return {
          turned_.in(memory), x_grad_.type(), extents, {height * width * outs, 1, width * outs, outs}, x_grad_.space()};
    }
    return impl::turned_weight(windows_, weight_);
  }

  Windows windows_;
  TensorRef weight_, x_grad_;
  bool is_padded_;  ///< out_grad
  std::vector<Phase> down_, across_;
  MemoryLayout layout_;
  TemporaryArray turned_;
  ChannelsLast channels_last_;  ///< out_grad
  bool together_ = false;       ///< whether several convolutions are launched together
  std::size_t rest_ = 0;        ///< what the convolutions need
};

/// Whether columns in memory are multiplied: of few channels, unless blocks keep their weight, which need none.
bool goes_by_columns(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                     bool is_padded, const TensorRef& x_grad) {
  return suits_x_grad_by_columns(ctx, windows, weight, out_grad, x_grad) &&
         !XGrad(ctx, windows, weight, out_grad, is_padded, x_grad).is_resident(ctx);
}

}  // namespace

std::vector<Phase> phases_of(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t before,
                             std::int64_t dilation) {
  // Tap k of the turned weight reaches pixel h from h + before − (kernel − 1 − k) · dilation, where stride divides it.
  const std::int64_t common = std::gcd(stride, dilation);
  const std::int64_t tap_step = stride / common;
  std::vector<Phase> phases;
  for (std::int64_t tap = 0; tap < std::min(tap_step, kernel); ++tap) {
    const std::int64_t from = before - (kernel - 1 - tap) * dilation;
    const std::int64_t first = ((-from) % stride + stride) % stride;
    if (first >= extent) continue;
    phases.push_back({.first = first,
                      .extent = (extent - first - 1) / stride + 1,
                      .tap = tap,
                      .tap_step = tap_step,
                      .taps = (kernel - tap - 1) / tap_step + 1,
                      .before = -((first + from) / stride),
                      .dilation = dilation / common});
  }
  return phases;
}

TensorRef turned_weight(const Windows& windows, const TensorRef& weight) {
  const Extents& strides = weight.strides();
  return moved(weight, (windows.kernel_height - 1) * strides[2] + (windows.kernel_width - 1) * strides[3],
               {windows.channels, windows.group_out_channels(), windows.kernel_height, windows.kernel_width},
               {strides[1], strides[0], -strides[2], -strides[3]});
}

void conv2d_x_grad(const Context& ctx, const Windows& windows, const TensorRef& weight, const TensorRef& out_grad,
                   bool is_padded, const TensorRef& x_grad) {
  if (suits_depthwise(ctx, windows, x_grad, weight, out_grad)) {
    return depthwise_x_grad(ctx, windows, weight, out_grad, x_grad);
  }
  if (suits_few_channels_x_grad(ctx, windows, weight, out_grad, x_grad)) {
    return few_channels_x_grad(ctx, windows, weight, out_grad, x_grad);
  }
  if (goes_by_columns(ctx, windows, weight, out_grad, is_padded, x_grad)) {
    return conv2d_x_grad_by_columns(ctx, windows, weight, out_grad, x_grad);
  }
  XGrad(ctx, windows, weight, out_grad, is_padded, x_grad).run(ctx);
}

bool x_grad_wants_channels_last(const Context& ctx, const Windows& windows, const TensorRef& weight,
                                const TensorRef& out_grad, const TensorRef& x_grad) {
  return !suits_depthwise(ctx, windows, x_grad, weight, out_grad) &&
         !suits_few_channels_x_grad(ctx, windows, weight, out_grad, x_grad) &&
         !goes_by_columns(ctx, windows, weight, out_grad, false, x_grad) &&
         XGrad(ctx, windows, weight, out_grad, false, x_grad).wants_channels_last(ctx);
}

std::size_t x_grad_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight,
                             const TensorRef& out_grad, bool is_padded, const TensorRef& x_grad) {
  if (suits_depthwise(ctx, windows, x_grad, weight, out_grad) ||
      suits_few_channels_x_grad(ctx, windows, weight, out_grad, x_grad)) {
    return 0;
  }
  if (goes_by_columns(ctx, windows, weight, out_grad, is_padded, x_grad)) {
    return x_grad_by_columns_workspace(ctx, windows, weight, out_grad);
  }
  return XGrad(ctx, windows, weight, out_grad, is_padded, x_grad).bytes();
}

}  // namespace portops::impl
