// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/mean.hpp>
#include <portops/ops/sum.hpp>

#include <array>

namespace portops::perf {
namespace {

/// The extents of x and of its sums, and the axes.
struct Shape {
  Extents x, out;
  std::vector<std::int64_t> axis;
};

std::string name_of_case(const std::string& op, ElementType type, const Shape& shape) {
  std::string name = op + "/" + std::string(name_of(type)) + "/" + text(shape.x) + "/axes:";
  if (shape.axis.empty()) return name + "all";
  for (std::size_t k = 0; k < shape.axis.size(); ++k)
    name.append(k == 0 ? "" : ",").append(std::to_string(shape.axis[k]));
  return name;
}

std::int64_t bytes_of(ElementType type, const Shape& shape) {
  return static_cast<std::int64_t>(size_of(type)) * (shape.x.product() + shape.out.product());
}

Case forward(ElementType type, const Shape& shape, bool is_mean) {
  return {name_of_case(is_mean ? "mean" : "sum", type, shape), bytes_of(type, shape), [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, shape.x);
            const Tensor out(type, shape.out, x.ref().space());
            if (is_mean) return [=] { mean(ctx, x, out, {shape.axis}); };
            return [=] { sum(ctx, x, out, {shape.axis}); };
          }};
}

Case gradient(ElementType type, const Shape& shape) {
  return {name_of_case("mean_grad", type, shape), bytes_of(type, shape), [=](const Context& ctx) -> Call {
            const TensorRef x = TensorRef::without_data(type, shape.x);
            const Tensor out_grad = random_tensor(ctx, type, shape.out);
            const Tensor x_grad(type, shape.x, out_grad.ref().space());
            return [=] { mean_grad(ctx, x, out_grad, x_grad, {shape.axis}); };
          }};
}

/// sum, mean and their gradient: over channels of images, along rows, down columns, over everything.
void register_cases(Backend backend) {
  const std::array shapes{Shape{{32, 64, 128, 128}, {64}, {0, 2, 3}}, Shape{{16384, 4096}, {16384}, {-1}},
                          Shape{{16384, 4096}, {4096}, {0}}, Shape{{32, 64, 128, 128}, {}, {}}};
  register_host_time(backend, forward(ElementType::f32, {{4, 16, 64}, {4, 16}, {-1}}, false));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const Shape& shape : shapes) {
      register_case(backend, forward(type, shape, false));
      register_case(backend, forward(type, shape, true));
      register_case(backend, gradient(type, shape));
    }
  }
}

const Benchmarks benchmarks("sums", register_cases);

}  // namespace
}  // namespace portops::perf
