// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/ops/p_norm.hpp>

#include <array>
#include <limits>

namespace portops::perf {
namespace {

/// The extents of x and of its norms, and over which axes these are taken.
struct Shape {
  std::string name;
  Extents x, out;
  PNormParams params;
};

struct Order {
  std::string name;
  double value;
};

/// The norms along one axis.
Shape along(int axis, const Extents& x) {
  Shape shape{text(x) + "/axis:" + std::to_string(axis), x, Extents::of_rank(x.rank() - 1), {}};
  const int reduced = axis < 0 ? axis + x.rank() : axis;
  for (int kept = 0; kept < shape.out.rank(); ++kept) shape.out[kept] = x[kept < reduced ? kept : kept + 1];
  shape.params.axis = {axis};
  return shape;
}

/// One norm over all axes.
Shape whole(const Extents& x) {
  Shape shape{text(x) + "/asvector", x, Extents{}, {}};
  shape.params.asvector = true;
  return shape;
}

PNormParams with_order(PNormParams params, const Order& order) {
  params.porder = order.value;
  return params;
}

std::string name_of_case(const std::string& op, ElementType type, const Shape& shape, const Order& order) {
  return op + "/" + std::string(name_of(type)) + "/" + shape.name + "/p:" + order.name;
}

Case forward(ElementType type, const Shape& shape, const Order& order) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {name_of_case("p_norm", type, shape, order), size * (shape.x.product() + shape.out.product()),
          [=](const Context& ctx) -> Call {
            const PNormParams params = with_order(shape.params, order);
            const Tensor x = random_tensor(ctx, type, shape.x);
            const Tensor out(type, shape.out, x.ref().space());
            return [=] { p_norm(ctx, x, out, params); };
          }};
}

Case gradient(ElementType type, const Shape& shape, const Order& order) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  return {name_of_case("p_norm_grad", type, shape, order), 2 * size * (shape.x.product() + shape.out.product()),
          [=](const Context& ctx) -> Call {
            const PNormParams params = with_order(shape.params, order);
            const Tensor x = random_tensor(ctx, type, shape.x);
            const Tensor out(type, shape.out, x.ref().space());
            const Tensor out_grad = random_tensor(ctx, type, shape.out);
            const Tensor x_grad(type, shape.x, x.ref().space());
            p_norm(ctx, x, out, params);
            return [=] { p_norm_grad(ctx, x, out, out_grad, x_grad, params); };
          }};
}

void register_both(Backend backend, ElementType type, const Shape& shape, const Order& order) {
  register_case(backend, forward(type, shape, order));
  register_case(backend, gradient(type, shape, order));
}

/// p_norm and p_norm_grad: the axis in every place, long and short rows, long columns, one long vector; all element
/// types, and orders of every kind.
void register_cases(Backend backend) {
  const Order two{"2", 2.0};
  const std::array orders{two, Order{"3", 3.0}, Order{"2.5", 2.5},
                          Order{"inf", std::numeric_limits<double>::infinity()}};
  const Extents block{300, 250, 250};
  const std::array places{along(-1, block), along(1, block), along(0, block)};
  const std::array others{along(-1, {64, 1000000}), along(0, {1000000, 64}), along(-1, {1000000, 7}),
                          whole({std::int64_t{1} << 26})};
  const Shape tiny = along(-1, {4, 16, 64});
  register_host_time(backend, forward(ElementType::f32, tiny, two));
  register_host_time(backend, gradient(ElementType::f32, tiny, two));
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    for (const Shape& shape : places) {
      for (const Order& order : orders) register_both(backend, type, shape, order);
    }
    for (const Shape& shape : others) register_both(backend, type, shape, two);
  }
  for (const ElementType type : {ElementType::f64, ElementType::bf16}) {
    for (const Shape& shape : places) register_both(backend, type, shape, two);
  }
  register_concurrency(backend, forward(ElementType::f32, along(-1, {1024, 250}), two));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const std::int64_t count : sweep_sizes(backend, 2 * static_cast<std::int64_t>(size_of(type)))) {
      // Rows of 100.
      Shape shape = along(-1, {count / 100, 100});
      shape.name = "size:" + std::to_string(count);
      register_both(backend, type, shape, two);
    }
  }
}

const Benchmarks benchmarks("p_norm", register_cases);

}  // namespace
}  // namespace portops::perf
