// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/core/config.hpp>
#include <portops/ops/deform_conv2d.hpp>

#include <array>
#include <cmath>

namespace portops::perf {
namespace {

struct Shape {
  std::string name;
  Extents x;
  std::int64_t out_channels;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  std::int64_t deformable_groups = 1;
  bool is_warp = false;  ///< without mask and bias

  /// Without a stride the images keep their extents.
  std::int64_t padding() const { return kernel / 2; }
  std::int64_t windows(int axis) const { return (x[axis] + 2 * padding() - kernel) / stride + 1; }
  std::int64_t taps() const { return deformable_groups * kernel * kernel; }
  Extents out() const { return {x[0], out_channels, windows(2), windows(3)}; }
  Extents offset() const { return {x[0], 2 * taps(), windows(2), windows(3)}; }
  Extents mask() const { return {x[0], taps(), windows(2), windows(3)}; }
  Extents weight() const { return {out_channels, x[1] / groups, kernel, kernel}; }
  Extents bias() const { return {out_channels}; }

  /// The elements of all inputs but the bias, which the gradient does not need, and of the output.
  std::int64_t elements() const {
    return x.product() + offset().product() + weight().product() + (is_warp ? 0 : mask().product()) + out().product();
  }
  /// Of one matrix product: of the samples and the weights, or in the gradient, which has two.
  double flops() const {
    const Extents filters = weight();
    return 2.0 * static_cast<double>(out().product()) * static_cast<double>(filters[1] * filters[2] * filters[3]);
  }
};

/// How a call computes.
struct Mode {
  ElementType type;
  Math math = Math::ieee;
  bool deterministic = false;
  portops::Products products = portops::Products::automatic;

  std::string name() const {
    const bool is_automatic = products == portops::Products::automatic;
    return (math == Math::tf32 ? "tf32" : std::string(name_of(type))) + (deterministic ? "/deterministic" : "") +
           (is_automatic ? "" : "/products:" + std::string(name_of(products)));
  }
  Context context(Context ctx) const { return ctx.math(math).deterministic(deterministic).products(products); }
};

struct Inputs {
  Tensor x, offset, weight, mask, bias;
  DeformConv2dParams params;
};

Inputs random_inputs(const Context& ctx, const Shape& shape, ElementType type) {
  Inputs result{random_tensor(ctx, type, shape.x),        random_tensor(ctx, type, shape.offset(), Random::normal),
                random_tensor(ctx, type, shape.weight()), random_tensor(ctx, type, shape.mask(), Random::positive),
                random_tensor(ctx, type, shape.bias()),   {}};
  if (!shape.is_warp) {
    result.params.mask = result.mask;
    result.params.bias = result.bias;
  }
  result.params.stride = {shape.stride, shape.stride};
  result.params.padding = {shape.padding(), shape.padding()};
  result.params.groups = shape.groups;
  result.params.deformable_groups = shape.deformable_groups;
  return result;
}

Case forward(const Shape& shape, const Mode& mode) {
  const auto size = static_cast<std::int64_t>(size_of(mode.type));
  return {"deform_conv2d/" + shape.name + "/" + mode.name(),
          size * (shape.elements() + (shape.is_warp ? 0 : shape.out_channels)),
          [=](const Context& given) -> Call {
            const Context ctx = mode.context(given);
            const Inputs in = random_inputs(ctx, shape, mode.type);
            const Tensor out(mode.type, shape.out(), in.x.ref().space());
            return [=] { deform_conv2d(ctx, in.x, in.offset, in.weight, out, in.params); };
          },
          Products{shape.flops(), mode.type, mode.math}};
}

/// All five gradients; of a warp three.
Case gradient(const Shape& shape, const Mode& mode) {
  const auto size = static_cast<std::int64_t>(size_of(mode.type));
  const std::int64_t written = shape.elements() - shape.out().product() + (shape.is_warp ? 0 : shape.out_channels);
  return {"deform_conv2d_grad/" + shape.name + "/" + mode.name(), size * (shape.elements() + written),
          [=](const Context& given) -> Call {
            const Context ctx = mode.context(given);
            const Inputs in = random_inputs(ctx, shape, mode.type);
            const Tensor out_grad = random_tensor(ctx, mode.type, shape.out());
            const auto result = [&](const Extents& extents) { return Tensor(mode.type, extents, in.x.ref().space()); };
            const Tensor x_grad = result(shape.x), offset_grad = result(shape.offset());
            const Tensor weight_grad = result(shape.weight()), mask_grad = result(shape.mask());
            const Tensor bias_grad = result(shape.bias());
            return [=] {
              deform_conv2d_grad(ctx, in.x, in.offset, in.weight, out_grad, x_grad, offset_grad, weight_grad,
                                 shape.is_warp ? TensorRef() : TensorRef(mask_grad),
                                 shape.is_warp ? TensorRef() : TensorRef(bias_grad), in.params);
            };
          },
          Products{2.0 * shape.flops(), mode.type, mode.math}};
}

void register_both(Backend backend, const Shape& shape, const Mode& mode) {
  register_case(backend, forward(shape, mode));
  register_case(backend, gradient(shape, mode));
}

/// deform_conv2d and deform_conv2d_grad with mask and bias: all element types, and f32 as tf32, on three shapes; other
/// extents, windows, strides and groups; windows of few products; the gradient in deterministic mode too; f64 and f32
/// by products of Kokkos Kernels.
void register_cases(Backend backend) {
  const bool is_device = backend == Backend::cuda;
  const Shape tiny{"tiny", {1, 16, 8, 8}, 16};
  const Shape seed{"seed", {6, 512, 19, 34}, 256};
  const Extents res4{2, 256, 50, 84};
  std::vector<Shape> shapes{seed, {"res4", res4, 256}};
  if (is_device) shapes.push_back({"big", {16, 256, 64, 64}, 256});
  const std::array others{Shape{"128x100x168", {2, 128, 100, 168}, 128},
                          Shape{"512x25x42", {2, 512, 25, 42}, 512},
                          Shape{"res4_batch:1", {1, 256, 50, 84}, 256},
                          Shape{"res4_groups:4", res4, 256, 3, 1, 4, 4},
                          Shape{"res4_1x1", res4, 256, 1},
                          Shape{"res4_5x5", res4, 256, 5},
                          Shape{"res4_stride:2", res4, 256, 3, 2},
                          Shape{"depthwise", {2, 64, 56, 56}, 64, 3, 1, 64},
                          Shape{"first_layer", {2, 3, 224, 224}, 32, 3, 2},
                          Shape{"warp", {1, 3, 480, 640}, 3, 1, 1, 3, 1, true}};
  std::vector<Mode> modes{{ElementType::f32}, {ElementType::f16}, {ElementType::bf16}};
  if (is_device) modes.push_back({ElementType::f32, Math::tf32});

  register_host_time(backend, forward(tiny, {ElementType::f32}));
  register_host_time(backend, gradient(tiny, {ElementType::f32}));
  register_both(backend, seed, {ElementType::f64});
#if defined(PORTOPS_HAS_KOKKOS_KERNELS)
  constexpr auto kokkos_kernels = portops::Products::kokkos_kernels;
  register_both(backend, seed, {.type = ElementType::f64, .products = kokkos_kernels});
  for (const Shape& shape : shapes)
    register_both(backend, shape, {.type = ElementType::f32, .products = kokkos_kernels});
#endif
  for (const Shape& shape : shapes) {
    for (const Mode& mode : modes) {
      register_both(backend, shape, mode);
      register_case(backend, gradient(shape, {mode.type, mode.math, true}));
    }
  }
  for (const Shape& shape : others) {
    for (const Mode& mode : modes) register_both(backend, shape, mode);
  }
  register_concurrency(backend, forward({"1x256x32x32", {1, 256, 32, 32}, 256}, {ElementType::f32}));
  for (const Mode& mode : modes) {
    // Columns, where there are some, take nine times what x takes.
    for (const std::int64_t count : sweep_sizes(backend, 25 * static_cast<std::int64_t>(size_of(mode.type)))) {
      const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count) / 64.0));
      if (side < 3 || (!is_device && count > 10000000)) continue;
      register_both(backend, {"size:" + std::to_string(count), {1, 64, side, side}, 64}, mode);
    }
  }
}

const Benchmarks benchmarks("deform_conv2d", register_cases);

}  // namespace
}  // namespace portops::perf
