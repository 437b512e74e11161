// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/softmax.hpp>

#include <array>

namespace portops::perf {
namespace {

/// The extents of x, and the axis.
struct Shape {
  Extents x;
  std::int64_t axis;
};

std::string name_of_case(const std::string& op, ElementType type, const Shape& shape) {
  return op + "/" + std::string(name_of(type)) + "/" + text(shape.x) + "/axis:" + std::to_string(shape.axis);
}

std::int64_t bytes_of(ElementType type, const Shape& shape) {
  return static_cast<std::int64_t>(size_of(type)) * shape.x.product();
}

Case forward(ElementType type, const Shape& shape) {
  return {name_of_case("softmax", type, shape), 2 * bytes_of(type, shape), [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.x);
            const Tensor out(type, shape.x, x.ref().space());
            return [=] { softmax(ctx, x, out, {shape.axis}); };
          }};
}

Case gradient(ElementType type, const Shape& shape) {
  return {name_of_case("softmax_grad", type, shape), 3 * bytes_of(type, shape), [=](const Context& ctx) -> Call {
            const TensorRef x = TensorRef::without_data(type, shape.x);
            const Tensor out = random_tensor(ctx, type, shape.x);
            const Tensor out_grad = random_tensor(ctx, type, shape.x);
            const Tensor x_grad(type, shape.x, out.ref().space());
            return [=] { softmax_grad(ctx, x, out, out_grad, x_grad, {shape.axis}); };
          }};
}

/// softmax and softmax_grad: long and short rows, rows that no thread block keeps, channels of images.
void register_cases(Backend backend) {
  const std::array shapes{Shape{{16384, 4096}, -1}, Shape{{65536, 1000}, -1},     Shape{{4096, 32000}, -1},
                          Shape{{1 << 20, 50}, -1}, Shape{{16, 21, 512, 512}, 1}, Shape{{4, 1 << 22}, -1}};
  register_host_time(backend, forward(ElementType::f32, {{4, 64}, -1}));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const Shape& shape : shapes) {
      register_case(backend, forward(type, shape));
      register_case(backend, gradient(type, shape));
    }
  }
}

const Benchmarks benchmarks("softmax", register_cases);

}  // namespace
}  // namespace portops::perf
