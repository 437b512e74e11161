// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/reshape.hpp>

#include <array>

namespace portops::perf {
namespace {

/// x as a part of memory of extents `memory`: of so many extents and strides, as a contiguous tensor of one axis.
struct Shape {
  std::string name;
  Extents memory, x, strides;
};

Shape contiguous(const Extents& x) { return {text(x), x, x, x.row_major_strides()}; }

/// Without the last `columns` of each row.
Shape cut(const Extents& memory, std::int64_t columns) {
  Shape shape = contiguous(memory);
  shape.x[memory.rank() - 1] -= columns;
  shape.name = text(shape.x) + "/cut:" + std::to_string(columns);
  return shape;
}

/// With two axes exchanged.
Shape exchanged(const Extents& memory, int a, int b) {
  Shape shape = contiguous(memory);
  std::swap(shape.x[a], shape.x[b]);
  std::swap(shape.strides[a], shape.strides[b]);
  shape.name = text(memory) + "/exchanged:" + std::to_string(a) + "," + std::to_string(b);
  return shape;
}

Case forward(ElementType type, const Shape& shape) {
  return {"reshape/" + std::string(name_of(type)) + "/" + shape.name,
          2 * shape.x.product() * static_cast<std::int64_t>(size_of(type)), [=](const Context& ctx) -> Call {
            const Tensor memory = random_tensor(ctx, type, shape.memory);
            const Tensor out(type, {shape.x.product()}, memory.ref().space());
            return [=] {
              const TensorRef x(memory.ref().data(), type, shape.x, shape.strides, memory.ref().space());
              reshape(ctx, x, out, {{-1}});
            };
          }};
}

/// reshape where the elements move: contiguous, cut out of a larger tensor, and with axes exchanged.
void register_cases(Backend backend) {
  const std::int64_t rows = backend == Backend::cuda ? 16384 : 4096;
  register_host_time(backend, forward(ElementType::f32, exchanged({4, 16, 64}, 0, 1)));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const std::array shapes{contiguous({rows, 4096}),
                            cut({rows, 4096}, 16),
                            cut({rows, 4096}, 1),
                            exchanged({rows, 4096}, 0, 1),
                            exchanged({32, 512, 16, 64}, 1, 2),
                            exchanged({64, 1024, 1024}, 1, 2)};
    for (const Shape& shape : shapes) register_case(backend, forward(type, shape));
  }
}

const Benchmarks benchmarks("reshape", register_cases);

}  // namespace
}  // namespace portops::perf
