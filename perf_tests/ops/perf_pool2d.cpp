// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/pool2d.hpp>

namespace portops::perf {
namespace {

struct Shape {
  Extents x;
  std::vector<std::int64_t> kernel_size, stride, padding;
  const char* pooltype;
  bool channels_last = false;
  bool global_pooling = false;

  Pool2dParams params() const {
    return {.kernel_size = kernel_size,
            .stride = stride,
            .padding = padding,
            .pooltype = pooltype,
            .global_pooling = global_pooling};
  }
  Extents out() const {
    return infer("pool2d", Arguments()
                               .set("x", TensorRef::without_data(ElementType::f32, x))
                               .set("kernel_size", Attribute(kernel_size))
                               .set("stride", Attribute(stride))
                               .set("padding", Attribute(padding))
                               .set("global_pooling", global_pooling))
        .at("out")
        .extents;
  }
  std::string name(const std::string& op, ElementType type, const char* what) const {
    const std::string window =
        global_pooling ? "whole" : "kernel:" + text(Extents(kernel_size)) + "/stride:" + text(Extents(stride));
    return op + "/" + std::string(name_of(type)) + "/" + text(x) + "/" + pooltype + what + "/" + window +
           (channels_last ? "/nhwc" : "/nchw");
  }
};

/// Images as the shape says they lie.
TensorRef images(const Tensor& tensor, const Extents& extents, bool channels_last) {
  const TensorRef flat = tensor.ref();
  if (!channels_last) return {flat.data(), flat.type(), extents, extents.row_major_strides(), flat.space()};
  const std::int64_t channels = extents[1], row = extents[3] * channels;
  return {flat.data(), flat.type(), extents, {extents[2] * row, 1, row, channels}, flat.space()};
}

Case forward(ElementType type, const Shape& shape, bool with_index) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const Extents windows = shape.out();
  const std::int64_t moved = size * (shape.x.product() + windows.product()) + (with_index ? 8 * windows.product() : 0);
  return {shape.name("pool2d", type, with_index ? "+index" : ""), moved, [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, {shape.x.product()});
            const Tensor out(type, {windows.product()}, x.ref().space());
            const Tensor index(ElementType::i64, {windows.product()}, x.ref().space());
            return [=] {
              pool2d(ctx, images(x, shape.x, shape.channels_last), images(out, windows, shape.channels_last),
                     with_index ? images(index, windows, shape.channels_last) : TensorRef(), shape.params());
            };
          }};
}

Case gradient(ElementType type, const Shape& shape) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const Extents windows = shape.out();
  const bool is_max = std::string(shape.pooltype) == "max";
  const std::int64_t moved = size * (shape.x.product() + windows.product()) + (is_max ? 8 * windows.product() : 0);
  return {shape.name("pool2d_grad", type, ""), moved, [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, {shape.x.product()});
            const Tensor out = random_tensor(ctx, type, {windows.product()});
            const Tensor index(ElementType::i64, {windows.product()}, x.ref().space());
            const TensorRef from = images(x, shape.x, shape.channels_last);
            Pool2dParams params = shape.params();
            if (is_max) {
              pool2d(ctx, from, images(out, windows, shape.channels_last), images(index, windows, shape.channels_last),
                     params);
              params.index = images(index, windows, shape.channels_last);
            }
            return [=] {
              const TensorRef extents = TensorRef::without_data(type, shape.x);
              pool2d_grad(ctx, extents, images(out, windows, shape.channels_last),
                          images(x, shape.x, shape.channels_last), params);
            };
          }};
}

/// pool2d and pool2d_grad: the windows of image networks, both layouts, and whole images.
void register_cases(Backend backend) {
  const Extents mark{32, 64, 128, 128};
  const Shape tiny{{1, 8, 16, 16}, {2, 2}, {2, 2}, {0, 0}, "max"};
  register_host_time(backend, forward(ElementType::f32, tiny, false));
  register_host_time(backend, gradient(ElementType::f32, tiny));
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    for (const bool channels_last : {false, true}) {
      for (const char* pooltype : {"max", "avg"}) {
        for (const Shape& shape : {Shape{mark, {2, 2}, {2, 2}, {0, 0}, pooltype, channels_last},
                                   Shape{mark, {3, 3}, {2, 2}, {1, 1}, pooltype, channels_last},
                                   Shape{{32, 256, 28, 28}, {3, 3}, {1, 1}, {1, 1}, pooltype, channels_last},
                                   Shape{{8, 512, 20, 20}, {5, 5}, {1, 1}, {2, 2}, pooltype, channels_last},
                                   Shape{{64, 2048, 7, 7}, {1, 1}, {}, {0, 0}, pooltype, channels_last, true}}) {
          register_case(backend, forward(type, shape, false));
          if (std::string(pooltype) == "max") register_case(backend, forward(type, shape, true));
          register_case(backend, gradient(type, shape));
        }
      }
    }
  }
}

const Benchmarks benchmarks("pool2d", register_cases);

}  // namespace
}  // namespace portops::perf
