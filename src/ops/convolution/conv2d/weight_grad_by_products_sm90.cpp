// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/weight_grad_by_products.hpp"

#include "core/copy/strided_copy.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/fused/patch_products.hpp"
#include "ops/convolution/conv2d/fused/tap_products.hpp"
#include "ops/convolution/conv2d/fused/weight_products.hpp"
#include "ops/convolution/conv2d/fused/window_gemm.hpp"
#include "ops/convolution/conv2d/pointwise.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace portops::impl {
namespace {

constexpr const char* label = "portops::conv2d_grad::weight_grad[fused]";
constexpr const char* patches_label = "portops::conv2d_grad::weight_grad[patches]";
constexpr const char* taps_label = "portops::conv2d_grad::weight_grad[taps]";
constexpr std::int64_t most_units = INT32_MAX;

/// Whether pixels begin at multiples of so many elements, at places of 32 bits in them, and channels are neighbours.
bool has_pixels_at(const TensorRef& tensor, std::int64_t unit) {
  std::int64_t reach = 0;
  for (const int axis : {0, 2, 3}) {
    if (tensor.extent(axis) <= 1) continue;
    if (tensor.stride(axis) % unit != 0) return false;
    reach += (tensor.extent(axis) - 1) * std::abs(tensor.stride(axis));
  }
  return has_channels_last(tensor) && reach / unit < most_units;
}

/// Whether pixels can be read where they lie, in units of 16 bytes.
bool has_units(const TensorRef& tensor) {
  return has_pixels_at(tensor, unit_of(tensor.type())) && reinterpret_cast<std::uintptr_t>(tensor.data()) % 16 == 0;
}

/// Whether planes can be read where they lie: each is whole units of 16 bytes.
bool has_units_of_planes(const TensorRef& tensor) {
  const std::int64_t unit = unit_of(tensor.type());
  std::int64_t reach = tensor.extent(2) * tensor.extent(3);
  if (!has_planes_at_units(tensor) || reach % unit != 0) return false;
  for (const int axis : {0, 1}) {
    if (tensor.extent(axis) > 1) reach += (tensor.extent(axis) - 1) * tensor.stride(axis);
  }
  return reach / unit < most_units;
}

bool reads_planes(const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  return is_pointwise(windows) && has_units_of_planes(x) && has_units_of_planes(out_grad);
}

PixelStrides in_units(const Tensor4& tensor, std::int64_t unit) {
  return {tensor.stride[0] / unit, tensor.stride[2] / unit, tensor.stride[3] / unit};
}

/// x and out_grad with their channels last, copied where they are to be, and the parts of the sums, in one workspace.
struct PartsMemory {
  MemoryLayout layout;
  ChannelsLast x, out_grad;
  TemporaryArray sums;

  PartsMemory(const TensorRef& x_tensor, bool copies_x, const TensorRef& out_grad_tensor, bool copies_out_grad,
              std::size_t sums_bytes)
      : x(layout, x_tensor, copies_x),
        out_grad(layout, out_grad_tensor, copies_out_grad, unit_of(out_grad_tensor.type())),
        sums(layout, static_cast<std::int64_t>(sums_bytes), 1) {}
};

WeightProductsPlan plan_lines(const Context& ctx, const Windows& windows, const TensorRef& x,
                              const TensorRef& out_grad) {
  return plan_weight_products(windows, reads_planes(windows, x, out_grad), multiprocessors(ctx));
}

PartsMemory memory_of_lines(const Windows& windows, const WeightProductsPlan& plan, const TensorRef& x,
                            const TensorRef& out_grad) {
  const auto is_copied = [&](const TensorRef& tensor) { return !plan.of_planes && !has_units(tensor); };
  return {x, is_copied(x), out_grad, is_copied(out_grad), plan.sums_bytes(windows)};
}

/// Whether images, rows and pixels follow each other in this order, none backwards or on another: as the engine for
/// tensor copies wants them.
bool is_in_order(const TensorRef& tensor) {
  std::int64_t inner = 1;
  for (const int axis : {3, 2, 0}) {
    if (tensor.extent(axis) <= 1) continue;
    if (tensor.stride(axis) < inner) return false;
    inner = tensor.stride(axis);
  }
  return true;
}

PartsMemory memory_of_patches(const Windows& windows, const PatchProductsPlan& plan, const TensorRef& x,
                              const TensorRef& out_grad) {
  const auto is_copied = [](const TensorRef& tensor) { return !has_units(tensor) || !is_in_order(tensor); };
  return {x, is_copied(x), out_grad, is_copied(out_grad), plan.sums_bytes(windows)};
}

/// Whether taps take out_grad where it lies, number by number.
bool is_taken_by_numbers(const TensorRef& out_grad) { return !has_units(out_grad) && has_pixels_at(out_grad, 1); }

PartsMemory memory_of_taps(const Windows& windows, const TapProductsPlan& plan, const TensorRef& x,
                           const TensorRef& out_grad) {
  const bool copies_out_grad = !has_units(out_grad) && !is_taken_by_numbers(out_grad);
  return {x, !has_units(x), out_grad, copies_out_grad, plan.sums_bytes(windows)};
}

struct WindowGemmMemory {
  MemoryLayout layout;
  ChannelsLast x;
  OutGradRows out_grad;
  std::int64_t group_sums;
  TemporaryArray sums;
  std::size_t gemm_bytes;
  TemporaryArray gemm;

  WindowGemmMemory(const Context& ctx, const Windows& windows, const TensorRef& x_tensor,
                   const TensorRef& out_grad_tensor, bool sums_out_grad)
      : x(layout, x_tensor, !has_units(x_tensor)),
        out_grad(layout, windows, out_grad_tensor, windows.images, in_whole_units(windows.out_channels),
                 !is_matrix_of_pixels(out_grad_tensor) || !has_units(out_grad_tensor)),
        group_sums((windows.group_column() + (sums_out_grad ? further_rows : 0)) * windows.group_out_channels()),
        sums(layout, windows.groups * group_sums, sizeof(float)),
        gemm_bytes(window_gemm_workspace(windows, multiprocessors(ctx), sums_out_grad)),
        gemm(layout, static_cast<std::int64_t>(gemm_bytes), 1) {}

  static std::int64_t in_whole_units(std::int64_t channels) {
    const std::int64_t unit = unit_of(ElementType::f32);
    return ceil_div(channels, unit) * unit;
  }
};

struct CopyNames {
  std::string x = "portops::conv2d_grad::x[channels_last]";
  std::string out_grad = "portops::conv2d_grad::out_grad[channels_last]";
};
const CopyNames& copy_names() {
  static const CopyNames names;
  return names;
}

WeightParts weight_parts(void* sums, const TensorRef& weight_grad, const TensorRef& bias_grad) {
  WeightParts parts{.sums = static_cast<float*>(sums), .weight_grad = tensor4(weight_grad)};
  if (bias_grad) {
    parts.bias_grad = bias_grad.data();
    parts.bias_grad_stride = bias_grad.stride(0);
  }
  return parts;
}

/// What is multiplied, once its copies are enqueued, and where its sums go.
struct PartsOperands {
  Temporary memory;
  Tensor4 x, out_grad;
  WeightParts parts;

  PartsOperands(const Context& ctx, const PartsMemory& arrays, const TensorRef& weight_grad, const TensorRef& bias_grad)
      : memory(ctx, "portops::conv2d_grad::workspace", arrays.layout.bytes()),
        x(tensor4(arrays.x.copied_to(ctx, copy_names().x, memory.data()))),
        out_grad(tensor4(arrays.out_grad.copied_to(ctx, copy_names().out_grad, memory.data()))),
        parts(weight_parts(arrays.sums.in(memory.data()), weight_grad, bias_grad)) {}
};

/// In 16-bit types.
void by_lines_of_channels(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                          const TensorRef& weight_grad, const TensorRef& bias_grad) {
  const WeightProductsPlan plan = plan_lines(ctx, windows, x, out_grad);
  const PartsOperands its(ctx, memory_of_lines(windows, plan, x, out_grad), weight_grad, bias_grad);
  const std::int64_t unit = unit_of(x.type());
  const WeightProductsOperands operands{.x = its.x.data,
                                        .x_strides = in_units(its.x, unit),
                                        .x_plane = its.x.stride[1] / unit,
                                        .out_grad = its.out_grad.data,
                                        .out_grad_strides = in_units(its.out_grad, unit),
                                        .out_grad_plane = its.out_grad.stride[1] / unit,
                                        .parts = its.parts};
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, label);
  multiply_for_weight(cuda_stream(ctx), x.type(), windows, plan, operands);
}

/// Out of patches.
void by_patches(const Context& ctx, const Windows& windows, const PatchProductsPlan& plan, const TensorRef& x,
                const TensorRef& out_grad, const TensorRef& weight_grad, const TensorRef& bias_grad) {
  const PartsOperands its(ctx, memory_of_patches(windows, plan, x, out_grad), weight_grad, bias_grad);
  const std::int64_t unit = unit_of(x.type());
  const PatchProductsOperands operands{.x = its.x.data,
                                       .x_strides = in_units(its.x, unit),
                                       .out_grad = its.out_grad.data,
                                       .out_grad_strides = in_units(its.out_grad, unit),
                                       .parts = its.parts};
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, patches_label);
  multiply_patches(cuda_stream(ctx), x.type(), windows, plan, operands);
}

/// The same windows with strides of 1 where there is one window alone.
Windows with_used_strides(Windows windows) {
  if (windows.out_height == 1) windows.stride_y = 1;
  if (windows.out_width == 1) windows.stride_x = 1;
  return windows;
}

/// In f32, out of tiles.
void by_taps(const Context& ctx, const Windows& windows, const TapProductsPlan& plan, const TensorRef& x,
             const TensorRef& out_grad, const TensorRef& weight_grad, const TensorRef& bias_grad) {
  const PartsOperands its(ctx, memory_of_taps(windows, plan, x, out_grad), weight_grad, bias_grad);
  const std::int64_t unit = unit_of(x.type());
  const bool by_numbers = is_taken_by_numbers(out_grad);
  TapProductsOperands operands{.x = static_cast<const float*>(its.x.data),
                               .x_strides = in_units(its.x, unit),
                               .out_grad = static_cast<const float*>(its.out_grad.data),
                               .out_grad_strides = in_units(its.out_grad, by_numbers ? 1 : unit),
                               .out_grad_by_numbers = by_numbers,
                               .parts = its.parts};
  operands.parts.taps_fastest = weight_grad.stride(1) != 1;
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, taps_label);
  multiply_taps(cuda_stream(ctx), with_used_strides(windows), plan, operands);
}

/// In f32.
void by_gemm(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
             const TensorRef& weight_grad, const TensorRef& bias_grad) {
  static const CopyLabels copy_labels("conv2d_grad");
  const bool sums_out_grad = static_cast<bool>(bias_grad);
  const WindowGemmMemory plan(ctx, windows, x, out_grad, sums_out_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", plan.layout.bytes());
  const Tensor4 x_pixels = tensor4(plan.x.copied_to(ctx, copy_names().x, memory.data()));
  auto* const sums = static_cast<float*>(plan.sums.in(memory.data()));
  Copies copies;
  const TensorRef grads =
      plan.out_grad.rows(ctx, Conv2dConvolution::labels(), windows, out_grad, 0, windows.images, memory.data(), copies);
  ConvolutionKernels<Backend::cuda, float>::copy(ctx, copy_names().out_grad, copies);
  const WindowGemmOperands operands{.x = static_cast<const float*>(x_pixels.data),
                                    .x_strides = in_units(x_pixels, unit_of(x.type())),
                                    .out_grad = static_cast<const float*>(grads.data()),
                                    .out_grad_distance = grads.stride(0),
                                    .sums = sums,
                                    .sums_out_grad = sums_out_grad};
  {
    const CurrentDevice device(ctx);
    const LaunchEvent event(ctx, label);
    multiply_windows(cuda_stream(ctx), multiprocessors(ctx), windows, operands, ctx.math() == Math::tf32,
                     {plan.gemm.in(memory.data()), plan.gemm_bytes});
  }
  const std::int64_t outs = windows.group_out_channels(), channels = windows.group_channels();
  const std::int64_t tap = channels * outs, row = windows.kernel_width * tap;
  const auto copy = [&](float* from, const Extents& from_strides, const TensorRef& to, const Extents& to_strides,
                        const Extents& extents) {
    const auto view = [&](void* data, const Extents& strides) {
      return TensorRef(data, ElementType::f32, extents, strides, to.space());
    };
    strided_copy(ctx, copy_labels, make_copy_plan(view(from, from_strides), view(to.data(), to_strides)));
  };
  const Extents& to = weight_grad.strides();
  copy(sums, {plan.group_sums, 1, outs, row, tap}, weight_grad, {outs * to[0], to[0], to[1], to[2], to[3]},
       {windows.groups, outs, channels, windows.kernel_height, windows.kernel_width});
  if (!sums_out_grad) return;
  const std::int64_t next = bias_grad.stride(0);
  copy(sums + windows.group_column() * outs, {plan.group_sums, 1}, bias_grad, {outs * next, next},
       {windows.groups, outs});
}

/// How f32 goes tap by tap, where not out of patches: without rounding, to few output channels, of which the product's
/// tiles would be less than full.
std::optional<TapProductsPlan> plan_taps(const Context& ctx, const Windows& windows) {
  const bool rounds = ctx.math() == Math::tf32;
  const std::int64_t outs = windows.group_out_channels();
  const bool has_few_outs = outs <= 32 || (outs <= 64 && windows.group_channels() % 64 == 0);
  if (!rounds && !has_few_outs) return std::nullopt;
  return plan_tap_products(with_used_strides(windows), rounds, multiprocessors(ctx));
}

/// How it goes out of patches, where it does; rounded, if more than half of what they multiply is there.
std::optional<PatchProductsPlan> plan_patches(const Context& ctx, const Windows& windows, ElementType type) {
  const int terms = size_of(type) == 2 ? 1 : ctx.math() == Math::tf32 ? 2 : 3;
  const auto plan = plan_patch_products(windows, terms, multiprocessors(ctx));
  if (!plan || terms != 2) return plan;
  constexpr std::int64_t of_patch = PatchProductsPlan::outs * PatchProductsPlan::side * PatchProductsPlan::side;
  const std::int64_t multiplied = of_patch * plan->out_tiles * plan->across * plan->down;
  return 2 * windows.out_channels * windows.pixels() > multiplied ? plan : std::nullopt;
}

/// Whether what kernels know of places fits: positions in an image in 16 bits, pixels and elements in 32.
bool fits(const Windows& w, const TensorRef& x, const TensorRef& out_grad) {
  constexpr std::int64_t most_position = INT16_MAX, most_tiles = 65535;
  return x.size() / unit_of(x.type()) < most_units && out_grad.size() < most_units &&
         w.out_channels * w.group_column() < most_units && w.groups * (w.group_out_channels() / 32 + 1) < most_tiles &&
         has_narrow_positions(w) &&
         std::max({w.height, w.width, w.top, w.left, (w.kernel_height - 1) * w.dilation_y,
                   (w.kernel_width - 1) * w.dilation_x}) <= most_position &&
         (w.out_height - 1) * w.stride_y <= most_position && (w.out_width - 1) * w.stride_x <= most_position;
}

}  // namespace

bool suits_weight_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad) {
  const std::int64_t channels = windows.group_channels(), out_channels = windows.group_out_channels();
  if (ctx.backend() != Backend::cuda || compute_capability(ctx) != 90 || ctx.products() == Products::kokkos_kernels ||
      !fits(windows, x, out_grad)) {
    return false;
  }
  const std::int64_t unit = unit_of(x.type());
  constexpr std::int64_t least_out_channels = 16;
  if (x.type() == ElementType::f32) {
    return channels % unit == 0 && out_channels >= least_out_channels &&
           (windows.groups == 1 || out_channels % unit == 0);
  }
  constexpr std::int64_t least_channels = 8;
  return size_of(x.type()) == 2 && channels >= least_channels && out_channels >= least_out_channels &&
         channels % unit == 0 && (windows.groups == 1 || out_channels % unit == 0);
}

bool takes_patches(const Context& ctx, const Windows& windows, ElementType type) {
  return plan_patches(ctx, windows, type).has_value();
}

void weight_grad_by_products(const Context& ctx, const Windows& windows, const TensorRef& x, const TensorRef& out_grad,
                             const TensorRef& weight_grad, const TensorRef& bias_grad) {
  if (const auto plan = plan_patches(ctx, windows, x.type())) {
    return by_patches(ctx, windows, *plan, x, out_grad, weight_grad, bias_grad);
  }
  if (x.type() != ElementType::f32) return by_lines_of_channels(ctx, windows, x, out_grad, weight_grad, bias_grad);
  if (const auto plan = plan_taps(ctx, windows)) {
    return by_taps(ctx, windows, *plan, x, out_grad, weight_grad, bias_grad);
  }
  by_gemm(ctx, windows, x, out_grad, weight_grad, bias_grad);
}

bool weight_products_give_bias_grad(const Context& ctx, const Windows& windows, ElementType type) {
  return type != ElementType::f32 || plan_patches(ctx, windows, type) || plan_taps(ctx, windows) ||
         window_gemm_sums_out_grad(windows);
}

std::size_t weight_products_workspace(const Context& ctx, const Windows& windows, const TensorRef& x,
                                      const TensorRef& out_grad) {
  if (const auto plan = plan_patches(ctx, windows, x.type())) {
    return memory_of_patches(windows, *plan, x, out_grad).layout.bytes();
  }
  if (x.type() != ElementType::f32) {
    return memory_of_lines(windows, plan_lines(ctx, windows, x, out_grad), x, out_grad).layout.bytes();
  }
  if (const auto plan = plan_taps(ctx, windows)) {
    return memory_of_taps(windows, *plan, x, out_grad).layout.bytes();
  }
  const auto bytes = [&](bool sums_out_grad) {
    return WindowGemmMemory(ctx, windows, x, out_grad, sums_out_grad).layout.bytes();
  };
  return std::max(bytes(false), window_gemm_sums_out_grad(windows) ? bytes(true) : 0);
}

}  // namespace portops::impl
