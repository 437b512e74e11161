// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/linear.hpp>
#include <portops/ops/matmul.hpp>

#include <string>
#include <vector>

namespace portops::perf {
namespace {

/// Matrices of M rows, N columns and K terms; of a batch, `count` of them.
struct Shape {
  std::int64_t count, rows, columns, inner;

  Extents extents(std::int64_t a, std::int64_t b) const { return count == 1 ? Extents{a, b} : Extents{count, a, b}; }
  double flops() const { return 2.0 * static_cast<double>(count * rows * columns) * static_cast<double>(inner); }
  std::int64_t numbers() const { return count * (rows * inner + inner * columns + rows * columns); }
};

std::string name_of_case(const std::string& op, ElementType type, Math math, const Shape& s) {
  return op + "/" + (math == Math::tf32 ? "tf32" : std::string(name_of(type))) + "/" +
         text(s.extents(s.rows, s.inner)) + "/" + text(s.extents(s.inner, s.columns));
}

Case matmul_case(ElementType type, Math math, const Shape& s) {
  return {name_of_case("matmul", type, math, s),
          s.numbers() * static_cast<std::int64_t>(size_of(type)),
          [=](const Context& given) -> Call {
            const Context ctx = Context(given).math(math);
            const Tensor x = random_tensor(ctx, type, s.extents(s.rows, s.inner));
            const Tensor y = random_tensor(ctx, type, s.extents(s.inner, s.columns));
            const Tensor out(type, s.extents(s.rows, s.columns), x.ref().space());
            return [=] { matmul(ctx, x, y, out); };
          },
          {s.flops(), type, math}};
}

Case linear_case(ElementType type, Math math, const Shape& s) {
  return {name_of_case("linear", type, math, s),
          s.numbers() * static_cast<std::int64_t>(size_of(type)),
          [=](const Context& given) -> Call {
            const Context ctx = Context(given).math(math);
            const Tensor x = random_tensor(ctx, type, {s.rows, s.inner});
            const Tensor weight = random_tensor(ctx, type, {s.inner, s.columns});
            const Tensor bias = random_tensor(ctx, type, {s.columns});
            const Tensor out(type, {s.rows, s.columns}, x.ref().space());
            return [=] { linear(ctx, x, weight, out, {bias}); };
          },
          {s.flops(), type, math}};
}

Case linear_grad_case(ElementType type, Math math, const Shape& s) {
  return {name_of_case("linear_grad", type, math, s),
          2 * s.numbers() * static_cast<std::int64_t>(size_of(type)),
          [=](const Context& given) -> Call {
            const Context ctx = Context(given).math(math);
            const Tensor x = random_tensor(ctx, type, {s.rows, s.inner});
            const Tensor weight = random_tensor(ctx, type, {s.inner, s.columns});
            const Tensor out_grad = random_tensor(ctx, type, {s.rows, s.columns});
            const Tensor x_grad(type, {s.rows, s.inner}, x.ref().space());
            const Tensor weight_grad(type, {s.inner, s.columns}, x.ref().space());
            const Tensor bias_grad(type, {s.columns}, x.ref().space());
            return [=] { linear_grad(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad); };
          },
          {2 * s.flops(), type, math}};
}

/// Layers of models, products in batches, and those of vectors.
void register_cases(Backend backend) {
  const bool is_gpu = backend == Backend::cuda;
  register_host_time(backend, linear_case(ElementType::f32, Math::ieee, {1, 16, 16, 16}));
  std::vector<Shape> layers{{1, 256, 1000, 512}, {1, 16384, 256, 256}};
  if (is_gpu) layers.insert(layers.end(), {{1, 4096, 4096, 4096}, {1, 8192, 4096, 1024}});
  std::vector<Shape> products{{64, 128, 128, 64}, {4096, 16, 16, 16}, {1, 1, 4096, 4096},
                              {1, 4096, 1, 4096}, {1, 4096, 4096, 1}, {64, 1, 1024, 128}};
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const Math math : {Math::ieee, Math::tf32}) {
      if (math == Math::tf32 && (type != ElementType::f32 || !is_gpu)) continue;
      for (const Shape& shape : layers) {
        register_case(backend, linear_case(type, math, shape));
        register_case(backend, linear_grad_case(type, math, shape));
      }
      for (const Shape& shape : products) register_case(backend, matmul_case(type, math, shape));
    }
  }
}

const Benchmarks benchmarks("products", register_cases);

}  // namespace
}  // namespace portops::perf
