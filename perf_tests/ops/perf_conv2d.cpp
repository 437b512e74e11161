// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/conv2d.hpp>

namespace portops::perf {
namespace {

struct Shape {
  std::string name;
  Extents x;
  std::int64_t out_channels;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t groups = 1;

  /// Without a stride the images keep their extents.
  std::int64_t padding() const { return kernel / 2; }
  std::int64_t windows(int axis) const { return (x[axis] + 2 * padding() - kernel) / stride + 1; }
  Extents out() const { return {x[0], out_channels, windows(2), windows(3)}; }
  Extents weight() const { return {out_channels, x[1] / groups, kernel, kernel}; }
  std::int64_t elements() const { return x.product() + weight().product() + out().product(); }
  /// Of one matrix product; the gradient has two.
  double flops() const {
    const Extents filters = weight();
    return 2.0 * static_cast<double>(out().product()) * static_cast<double>(filters[1] * filters[2] * filters[3]);
  }
  Conv2dParams params() const {
    return {.bias = {}, .stride = {stride, stride}, .padding = {padding(), padding()}, .groups = groups};
  }
};

/// How a call computes, and how its images lie.
struct Mode {
  ElementType type;
  Math math = Math::ieee;
  bool channels_last = false;

  std::string name() const {
    return (math == Math::tf32 ? "tf32" : std::string(name_of(type))) + (channels_last ? "/nhwc" : "/nchw");
  }
};

/// A tensor of four axes as the mode says it lies.
TensorRef laid(const Tensor& tensor, const Extents& e, const Mode& mode) {
  const TensorRef flat = tensor.ref();
  if (!mode.channels_last) return {flat.data(), flat.type(), e, e.row_major_strides(), flat.space()};
  return {flat.data(), flat.type(), e, {e[2] * e[3] * e[1], 1, e[3] * e[1], e[1]}, flat.space()};
}

Case forward(const Shape& shape, const Mode& mode) {
  const auto size = static_cast<std::int64_t>(size_of(mode.type));
  return {"conv2d/" + shape.name + "/" + mode.name(), size * (shape.elements() + shape.out_channels),
          [=](const Context& given) -> Call {
            const Context ctx = Context(given).math(mode.math);
            const Tensor x = random_tensor(ctx, mode.type, {shape.x.product()});
            const Tensor weight = random_tensor(ctx, mode.type, {shape.weight().product()});
            const Tensor bias = random_tensor(ctx, mode.type, {shape.out_channels});
            const Tensor out(mode.type, {shape.out().product()}, x.ref().space());
            return [=] {
              Conv2dParams params = shape.params();
              params.bias = bias;
              conv2d(ctx, laid(x, shape.x, mode), laid(weight, shape.weight(), mode), laid(out, shape.out(), mode),
                     params);
            };
          },
          Products{shape.flops(), mode.type, mode.math}};
}

/// All three gradients.
Case gradient(const Shape& shape, const Mode& mode) {
  const auto size = static_cast<std::int64_t>(size_of(mode.type));
  return {"conv2d_grad/" + shape.name + "/" + mode.name(),
          size * (2 * shape.elements() - shape.out().product() + shape.out_channels),
          [=](const Context& given) -> Call {
            const Context ctx = Context(given).math(mode.math);
            const Tensor x = random_tensor(ctx, mode.type, {shape.x.product()});
            const Tensor weight = random_tensor(ctx, mode.type, {shape.weight().product()});
            const Tensor out_grad = random_tensor(ctx, mode.type, {shape.out().product()});
            const auto result = [&](const Extents& extents) {
              return Tensor(mode.type, {extents.product()}, x.ref().space());
            };
            const Tensor x_grad = result(shape.x), weight_grad = result(shape.weight());
            const Tensor bias_grad = result({shape.out_channels});
            return [=] {
              conv2d_grad(ctx, laid(x, shape.x, mode), laid(weight, shape.weight(), mode),
                          laid(out_grad, shape.out(), mode), laid(x_grad, shape.x, mode),
                          laid(weight_grad, shape.weight(), mode), bias_grad, shape.params());
            };
          },
          Products{2.0 * shape.flops(), mode.type, mode.math}};
}

void register_both(Backend backend, const Shape& shape, const Mode& mode) {
  register_case(backend, forward(shape, mode));
  register_case(backend, gradient(shape, mode));
}

/// conv2d with a bias and conv2d_grad, in both layouts: windows of 3 by 3 and others, strides, groups, few channels.
void register_cases(Backend backend) {
  const bool is_device = backend == Backend::cuda;
  const Shape tiny{"tiny", {1, 16, 8, 8}, 16};
  register_host_time(backend, forward(tiny, {ElementType::f32}));
  register_host_time(backend, gradient(tiny, {ElementType::f32}));
  std::vector<Shape> shapes{{"res4", {2, 256, 50, 84}, 256},
                            {"res4_1x1", {2, 256, 50, 84}, 256, 1},
                            {"res4_stride:2", {2, 256, 50, 84}, 256, 3, 2},
                            {"depthwise", {2, 64, 56, 56}, 64, 3, 1, 64},
                            {"first_layer", {2, 3, 224, 224}, 32, 3, 2}};
  if (is_device) {
    shapes.push_back({"big", {16, 256, 64, 64}, 256});
    shapes.push_back({"32_channels", {256, 32, 28, 28}, 64});
    shapes.push_back({"64_channels", {32, 64, 56, 56}, 64});
  }
  for (const Shape& shape : shapes) {
    for (const bool channels_last : {false, true}) {
      register_both(backend, shape, {ElementType::f32, Math::ieee, channels_last});
      register_both(backend, shape, {ElementType::f16, Math::ieee, channels_last});
      if (is_device) register_both(backend, shape, {ElementType::f32, Math::tf32, channels_last});
    }
  }
  register_both(backend, shapes[0], {ElementType::f64});
  register_both(backend, shapes[0], {ElementType::bf16});
}

const Benchmarks benchmarks("conv2d", register_cases);

}  // namespace
}  // namespace portops::perf
