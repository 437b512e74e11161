// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"

#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/conv2d/fused/weight_products.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace portops::impl {
namespace {

constexpr const char* label = "portops::conv2d_grad::weight_grad[fused]";
constexpr std::int64_t most_units = INT32_MAX;

/// 16-bit numbers of 16 bytes.
constexpr std::int64_t unit = 8;

/// Whether pixels can be read where they lie: in units of 16 bytes, at places of 32 bits.
bool has_units(const TensorRef& tensor) {
  std::int64_t reach = 0;
  for (const int axis : {0, 2, 3}) {
    if (tensor.extent(axis) <= 1) continue;
    if (tensor.stride(axis) % unit != 0) return false;
    reach += (tensor.extent(axis) - 1) * std::abs(tensor.stride(axis));
  }
  return has_channels_last(tensor) && reinterpret_cast<std::uintptr_t>(tensor.data()) % 16 == 0 &&
         reach / unit < most_units;
}

PixelStrides in_units(const Tensor4& tensor) {
  return {tensor.stride[0] / unit, tensor.stride[2] / unit, tensor.stride[3] / unit};
}

/// A tensor with its channels last, where it is or in a copy.
class ChannelsLast {
 public:
  ChannelsLast(MemoryLayout& layout, const TensorRef& tensor) : tensor_(tensor) {
    if (!has_units(tensor)) copy_ = TemporaryArray(layout, tensor.size(), size_of(tensor.type()));
  }

  Tensor4 in(const Context& ctx, const std::string& copy_label, void* memory) const {
    if (!copy_) return tensor4(tensor_);
    const Rearrangement what = to_channels_last(tensor_, 0, tensor_.extent(0), copy_.in(memory));
    dispatch(ctx.backend(), tensor_.type(),
             [&]<Backend B, class T>() { ConvolutionKernels<B, T>::rearrange(ctx, copy_label, what); });
    const std::int64_t pixel = tensor_.extent(1), row = tensor_.extent(3) * pixel;
    return {copy_.in(memory), {tensor_.extent(2) * row, 1, row, pixel}};
  }

 private:
  const TensorRef& tensor_;
  TemporaryArray copy_;
};

struct WeightProductsMemory {
  MemoryLayout layout;
  WeightProductsPlan plan;
  ChannelsLast x, out_grad;
  TemporaryArray sums;

  WeightProductsMemory(const Context& ctx, const Windows& windows, const TensorRef& x_tensor,
                       const TensorRef& out_grad_tensor)
      : plan(plan_weight_products(windows, multiprocessors(ctx))),
        x(layout, x_tensor),
        out_grad(layout, out_grad_tensor),
        sums(layout, static_cast<std::int64_t>(plan.sums_bytes(windows)), 1) {}
};

}  // namespace

bool suits_weight_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  constexpr std::int64_t least_channels = 32, most_position = INT16_MAX, most_tiles = 65535;
  const std::int64_t channels = windows.group_channels(), out_channels = windows.group_out_channels();
  if (ctx.backend() != Backend::cuda || size_of(x.type()) != 2 || compute_capability(ctx) != 90) return false;
  return ctx.products() != Products::kokkos_kernels && channels >= least_channels && out_channels >= least_channels &&
         channels % unit == 0 && out_channels % unit == 0 && x.size() / unit < most_units &&
         out_grad.size() < most_units && windows.out_channels * windows.group_column() < most_units &&
         windows.groups * (out_channels / 64 + 1) < most_tiles && has_narrow_positions(windows) &&
         std::max({windows.height, windows.width, windows.top, windows.left,
                   (windows.kernel_height - 1) * windows.dilation_y,
                   (windows.kernel_width - 1) * windows.dilation_x}) <= most_position &&
         (windows.out_height - 1) * windows.stride_y <= most_position &&
         (windows.out_width - 1) * windows.stride_x <= most_position;
}

void weight_grad_by_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                             const TensorRef& weight_grad) {
  static const std::string x_label = "portops::conv2d_grad::x[channels_last]";
  static const std::string out_grad_label = "portops::conv2d_grad::out_grad[channels_last]";
  const WeightProductsMemory plan(ctx, windows, x, out_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", plan.layout.bytes());
  const Tensor4 x_pixels = plan.x.in(ctx, x_label, memory.data());
  const Tensor4 out_grad_pixels = plan.out_grad.in(ctx, out_grad_label, memory.data());
  const WeightProductsOperands operands{.x = x_pixels.data,
                                        .x_strides = in_units(x_pixels),
                                        .out_grad = out_grad_pixels.data,
                                        .out_grad_strides = in_units(out_grad_pixels),
                                        .sums = static_cast<float*>(plan.sums.in(memory.data())),
                                        .weight_grad = tensor4(weight_grad)};
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, label);
  multiply_for_weight(cuda_stream(ctx), x.type(), windows, plan.plan, operands);
}

std::size_t weight_products_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                      const TensorRef& out_grad) {
  return WeightProductsMemory(ctx, windows, x, out_grad).layout.bytes();
}

}  // namespace portops::impl
