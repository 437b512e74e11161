// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/multiply.hpp>

namespace portops::perf {
namespace {

Case forward(ElementType type, const Extents& x_shape, const Extents& y_shape) {
  const std::int64_t moved = 2 * x_shape.product() + y_shape.product();
  return {"multiply/" + std::string(name_of(type)) + "/" + text(x_shape) + "/y:" + text(y_shape),
          static_cast<std::int64_t>(size_of(type)) * moved, [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, x_shape), y = random_tensor(ctx, type, y_shape);
            const Tensor out(type, x_shape, x.ref().space());
            return [=] { multiply(ctx, x, y.ref(), out); };
          }};
}

/// Of both operands.
Case gradient(ElementType type, const Extents& x_shape, const Extents& y_shape) {
  const std::int64_t moved = 3 * x_shape.product() + 2 * y_shape.product();
  return {"multiply_grad_xy/" + std::string(name_of(type)) + "/" + text(x_shape) + "/y:" + text(y_shape),
          static_cast<std::int64_t>(size_of(type)) * moved, [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, x_shape), y = random_tensor(ctx, type, y_shape);
            const Tensor out_grad = random_tensor(ctx, type, x_shape);
            const Tensor x_grad(type, x_shape, x.ref().space()), y_grad(type, y_shape, x.ref().space());
            return [=] { multiply_grad(ctx, x, y.ref(), out_grad, x_grad.ref(), y_grad); };
          }};
}

/// multiply and multiply_grad: y like x, a row, a column, one for each channel.
void register_cases(Backend backend) {
  const std::int64_t rows = backend == Backend::cuda ? 16384 : 4096;
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const auto& [x, y] : {std::pair<Extents, Extents>{{rows, 4096}, {rows, 4096}},
                               {{rows, 4096}, {4096}},
                               {{rows, 4096}, {rows, 1}},
                               {{32, 64, 128, 128}, {64, 1, 1}}}) {
      register_case(backend, forward(type, x, y));
      register_case(backend, gradient(type, x, y));
    }
  }
}

const Benchmarks benchmarks("multiply", register_cases);

}  // namespace
}  // namespace portops::perf
