// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/add.hpp>

#include <array>

namespace portops::perf {
namespace {

/// The extents of x and y; what they broadcast to is x's.
struct Shapes {
  std::string name;
  Extents x, y;
};

Shapes equal(const Extents& extents) { return {text(extents), extents, extents}; }

Shapes broadcast(const Extents& x, const Extents& y) { return {text(x) + "/y:" + text(y), x, y}; }

std::string name_of_case(const std::string& op, ElementType type, const Shapes& shapes) {
  return op + "/" + std::string(name_of(type)) + "/" + shapes.name;
}

Case forward(ElementType type, const Shapes& shapes) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {name_of_case("add", type, shapes), size * (2 * shapes.x.product() + shapes.y.product()),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shapes.x);
            const Tensor y = random_tensor(ctx, type, shapes.y);
            const Tensor out(type, shapes.x, x.ref().space());
            return [=] { add(ctx, x, y.ref(), out); };
          }};
}

/// Of y alone (`_y`), or of both.
Case gradient(ElementType type, const Shapes& shapes, bool with_x) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const std::int64_t moved = shapes.x.product() * (with_x ? 2 : 1) + shapes.y.product();
  return {name_of_case(with_x ? "add_grad_xy" : "add_grad_y", type, shapes), size * moved,
          [=](const Context& ctx) -> Call {
            const TensorRef x = TensorRef::without_data(type, shapes.x);
            const TensorRef y = TensorRef::without_data(type, shapes.y);
            const Tensor out_grad = random_tensor(ctx, type, shapes.x);
            const MemorySpace space = out_grad.ref().space();
            const Tensor x_grad = with_x ? Tensor(type, shapes.x, space) : Tensor(), y_grad(type, shapes.y, space);
            return [=] { add_grad(ctx, x, y, out_grad, x_grad.ref(), y_grad); };
          }};
}

/// add and add_grad: the shapes of models, all element types, and all patterns in which y is broadcast.
void register_cases(Backend backend) {
  const std::int64_t rows = backend == Backend::cuda ? 16384 : 4096;
  const Shapes tiny = equal({4, 16, 1, 64});
  register_host_time(backend, forward(ElementType::f32, tiny));
  register_host_time(backend, gradient(ElementType::f32, broadcast({4, 16, 64}, {64}), false));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const std::array shapes{tiny,
                            equal({4, 16, 1024, 1024}),
                            equal({16, 102400}),
                            equal({3, 5, 197, 175}),
                            broadcast({32, 64, 128, 128}, {64, 1, 1}),
                            broadcast({8, 16, 1024, 1024}, {8, 1, 1, 1024}),
                            equal({rows, 4096}),
                            broadcast({rows, 4096}, {4096}),
                            broadcast({rows, 4096}, {rows, 1}),
                            broadcast({rows, 4096}, {})};
    for (const Shapes& shape : shapes) {
      register_case(backend, forward(type, shape));
      register_case(backend, gradient(type, shape, false));
      register_case(backend, gradient(type, shape, true));
    }
    for (const std::int64_t count : sweep_sizes(backend, 3 * static_cast<std::int64_t>(size_of(type)))) {
      register_case(backend, forward(type, {"size:" + std::to_string(count), {count}, {count}}));
    }
  }
}

const Benchmarks benchmarks("add", register_cases);

}  // namespace
}  // namespace portops::perf
