// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "harness.hpp"

#include <array>
#include <utility>

// The cases of operators of two broadcast operands, and of their gradients: the shapes of models, all element types,
// and all patterns in which y is broadcast.

namespace portops::perf {

struct BinaryOperator {
  std::string name;
  void (*call)(const Context&, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out);
  void (*grad)(const Context&, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
               const TensorRef& x_grad, const TensorRef& y_grad);
  bool reads_operands;  ///< whether each gradient depends on the other operand
};

/// What x and y broadcast to is x's extents.
struct BinaryShapes {
  std::string name;
  Extents x, y;

  BinaryShapes(const Extents& both) : name(text(both)), x(both), y(both) {}  // NOLINT: implicit for the lists of cases
  BinaryShapes(const Extents& x_extents, const Extents& y_extents)
      : name(text(x_extents) + "/y:" + text(y_extents)), x(x_extents), y(y_extents) {}
};

inline std::string name_of_case(const std::string& op, ElementType type, const BinaryShapes& shapes) {
  return op + "/" + std::string(name_of(type)) + "/" + shapes.name;
}

inline Case forward(const BinaryOperator& op, ElementType type, const BinaryShapes& shapes) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {name_of_case(op.name, type, shapes), size * (2 * shapes.x.product() + shapes.y.product()),
          [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shapes.x), y = random_tensor(ctx, type, shapes.y);
            const Tensor out(type, shapes.x, x.ref().space());
            return [=] { op.call(ctx, x, y.ref(), out); };
          }};
}

/// Of y alone (`_y`), or of both.
inline Case gradient(const BinaryOperator& op, ElementType type, const BinaryShapes& shapes, bool with_x) {
  const std::int64_t x_size = shapes.x.product(), y_size = shapes.y.product();
  const std::int64_t read = x_size + (op.reads_operands ? x_size + (with_x ? y_size : 0) : 0);
  const std::int64_t written = y_size + (with_x ? x_size : 0);
  return {name_of_case(op.name + (with_x ? "_grad_xy" : "_grad_y"), type, shapes),
          static_cast<std::int64_t>(size_of(type)) * (read + written), [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shapes.x), y = random_tensor(ctx, type, shapes.y);
            const Tensor out_grad = random_tensor(ctx, type, shapes.x);
            const MemorySpace space = out_grad.ref().space();
            const Tensor x_grad = with_x ? Tensor(type, shapes.x, space) : Tensor(), y_grad(type, shapes.y, space);
            return [=] { op.grad(ctx, x, y.ref(), out_grad, x_grad.ref(), y_grad); };
          }};
}

inline void register_binary_cases(Backend backend, const BinaryOperator& op) {
  const std::int64_t rows = backend == Backend::cuda ? 16384 : 4096;
  const BinaryShapes tiny({4, 16, 1, 64});
  register_host_time(backend, forward(op, ElementType::f32, tiny));
  register_host_time(backend, gradient(op, ElementType::f32, {{4, 16, 64}, {64}}, false));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const BinaryShapes& shapes :
         {tiny, BinaryShapes({4, 16, 1024, 1024}), BinaryShapes({16, 102400}), BinaryShapes({3, 5, 197, 175}),
          BinaryShapes({32, 64, 128, 128}, {64, 1, 1}), BinaryShapes({8, 16, 1024, 1024}, {8, 1, 1, 1024}),
          BinaryShapes({rows, 4096}), BinaryShapes({rows, 4096}, {4096}), BinaryShapes({rows, 4096}, {rows, 1}),
          BinaryShapes({rows, 4096}, {})}) {
      register_case(backend, forward(op, type, shapes));
      register_case(backend, gradient(op, type, shapes, false));
      register_case(backend, gradient(op, type, shapes, true));
    }
    for (const std::int64_t count : sweep_sizes(backend, 3 * static_cast<std::int64_t>(size_of(type)))) {
      BinaryShapes shapes({count});
      shapes.name = "size:" + std::to_string(count);
      register_case(backend, forward(op, type, shapes));
    }
  }
}

}  // namespace portops::perf
