// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/lerp.hpp>

#include <array>

namespace portops::perf {
namespace {

/// The extents of x, y and weight; what they broadcast to is x's.
struct Shapes {
  std::string name;
  Extents x, y, weight;
};

std::int64_t elements(const Extents& extents) { return extents.product(); }

Case forward(ElementType type, const Shapes& shapes) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {"lerp/" + std::string(name_of(type)) + "/" + shapes.name,
          size * (2 * elements(shapes.x) + elements(shapes.y) + elements(shapes.weight)),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shapes.x);
            const Tensor y = random_tensor(ctx, type, shapes.y);
            const Tensor weight = random_tensor(ctx, type, shapes.weight);
            const Tensor out(type, shapes.x, x.ref().space());
            return [=] { lerp(ctx, x, y, weight.ref(), out); };
          }};
}

Case gradient(ElementType type, const Shapes& shapes, bool with_weight) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const std::int64_t own = elements(shapes.x);
  const std::int64_t moved = own + elements(shapes.weight) + own + elements(shapes.y) +
                             (with_weight ? own + elements(shapes.y) + elements(shapes.weight) : 0);
  return {
      "lerp_grad" + std::string(with_weight ? "_xyw" : "_xy") + "/" + std::string(name_of(type)) + "/" + shapes.name,
      size * moved, [=](const Context& ctx) -> Call {
        const Tensor x = random_tensor(ctx, type, shapes.x);
        const Tensor y = random_tensor(ctx, type, shapes.y);
        const Tensor weight = random_tensor(ctx, type, shapes.weight);
        const Tensor out_grad = random_tensor(ctx, type, shapes.x);
        const MemorySpace space = x.ref().space();
        const Tensor x_grad(type, shapes.x, space), y_grad(type, shapes.y, space);
        const Tensor weight_grad = with_weight ? Tensor(type, shapes.weight, space) : Tensor();
        return [=] { lerp_grad(ctx, x, y, weight.ref(), out_grad, x_grad, y_grad, weight_grad.ref()); };
      }};
}

Shapes equal(const Extents& extents) { return {text(extents), extents, extents, extents}; }

/// Every way to broadcast y and weight, each along some of the two axes.
std::vector<Shapes> broadcast_patterns(std::int64_t rows, std::int64_t columns) {
  const std::array patterns{Extents{rows, columns}, Extents{columns}, Extents{rows, 1}, Extents{}};
  std::vector<Shapes> result;
  for (const Extents& y : patterns) {
    for (const Extents& weight : patterns) {
      result.push_back({text({rows, columns}) + "/y:" + text(y) + "/w:" + text(weight), {rows, columns}, y, weight});
    }
  }
  return result;
}

/// lerp and lerp_grad: the shapes of models, all element types, and all patterns in which operands are broadcast.
void register_cases(Backend backend) {
  constexpr std::array types{ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16};
  const std::int64_t rows = backend == Backend::cuda ? 16384 : 4096;
  const Shapes tiny = equal({4, 16, 1, 64});
  register_host_time(backend, forward(ElementType::f32, tiny));
  register_host_time(backend, gradient(ElementType::f32, tiny, false));
  register_host_time(backend, gradient(ElementType::f32, {"4x16x64/y:64", {4, 16, 64}, {64}, {4, 16, 64}}, true));
  register_concurrency(backend, forward(ElementType::f32, equal({16, 12800})));
  for (const ElementType type : types) {
    std::vector<Shapes> shapes{tiny,
                               equal({4, 16, 1024, 1024}),
                               equal({16, 102400}),
                               equal({16, 204800}),
                               equal({3, 5, 197, 175}),
                               {"32x64x128x128/w:64x1x1", {32, 64, 128, 128}, {32, 64, 128, 128}, {64, 1, 1}}};
    for (Shapes& pattern : broadcast_patterns(rows, 4096)) shapes.push_back(std::move(pattern));
    for (const Shapes& shape : shapes) {
      register_case(backend, forward(type, shape));
      register_case(backend, gradient(type, shape, false));
      register_case(backend, gradient(type, shape, true));
    }
    const auto size = static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t count : sweep_sizes(backend, 6 * size)) {
      const Shapes shape{"size:" + std::to_string(count), {count}, {count}, {count}};
      register_case(backend, forward(type, shape));
      register_case(backend, gradient(type, shape, false));
    }
  }
}

const Benchmarks benchmarks("lerp", register_cases);

}  // namespace
}  // namespace portops::perf
