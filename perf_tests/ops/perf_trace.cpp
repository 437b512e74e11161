// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/trace.hpp>

#include <algorithm>
#include <array>

namespace portops::perf {
namespace {

struct Shape {
  Extents x, out;
  std::int64_t length;  ///< of a diagonal
  TraceParams params;
};

/// Square matrices of a batch.
Shape batch(std::int64_t count, std::int64_t size) { return {{count, size, size}, {count}, size, {0, 1, 2}}; }

std::string name_of_case(const std::string& op, ElementType type, const Shape& shape) {
  return op + "/" + std::string(name_of(type)) + "/" + text(shape.x) + "/axes:" + std::to_string(shape.params.axis1) +
         "," + std::to_string(shape.params.axis2);
}

Case forward(ElementType type, const Shape& shape) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {name_of_case("trace", type, shape), size * shape.out.product() * (shape.length + 1),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.x);
            const Tensor out(type, shape.out, x.ref().space());
            return [=] { trace(ctx, x, out, shape.params); };
          }};
}

Case gradient(ElementType type, const Shape& shape) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {name_of_case("trace_grad", type, shape), size * (shape.x.product() + shape.out.product()),
          [=](const Context& ctx) -> Call {
            const TensorRef x = TensorRef::without_data(type, shape.x);
            const Tensor out_grad = random_tensor(ctx, type, shape.out);
            const Tensor x_grad(type, shape.x, out_grad.ref().space());
            return [=] { trace_grad(ctx, x, out_grad, x_grad, shape.params); };
          }};
}

/// trace and trace_grad: one large matrix, many small ones, and matrices of neighbours.
void register_cases(Backend backend) {
  const std::int64_t size = backend == Backend::cuda ? 8192 : 4096;
  register_host_time(backend, forward(ElementType::f32, batch(4, 16)));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const std::array shapes{Shape{{size, size}, {}, size, {}}, batch(64, 1024), batch(16384, 64), batch(1 << 20, 7),
                            Shape{{256, 256, 1024}, {1024}, 256, {}}};
    for (const Shape& shape : shapes) {
      register_case(backend, forward(type, shape));
      register_case(backend, gradient(type, shape));
    }
  }
}

const Benchmarks benchmarks("trace", register_cases);

}  // namespace
}  // namespace portops::perf
