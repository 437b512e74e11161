// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/ops/multiply.hpp>

#include <utility>

namespace portops::perf {
namespace {

namespace ag = portops::autograd;

/// Calls one after the other, each with its gradient: what the host needs of them is what the tape adds.
constexpr int length = 32;
const Extents extents{64};  // small: what is measured is not to be the memory of the host

Case plain() {
  return {"autograd/multiply/calls:32/plain", 0, [](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, ElementType::f32, extents),
                         y = random_tensor(ctx, ElementType::f32, extents);
            const Tensor out(ElementType::f32, extents, x.ref().space()),
                x_grad(ElementType::f32, extents, x.ref().space()), y_grad(ElementType::f32, extents, x.ref().space());
            return [=] {
              for (int i = 0; i < length; ++i) multiply(ctx, x, y.ref(), out);
              for (int i = 0; i < length; ++i) multiply_grad(ctx, x, y.ref(), out, x_grad, y_grad);
            };
          }};
}

Case tape() {
  return {"autograd/multiply/calls:32/tape", 0, [](const Context& ctx) -> Call {
            const ag::Variable x(random_tensor(ctx, ElementType::f32, extents), ag::Gradient::wanted);
            const ag::Variable loss_grad(random_tensor(ctx, ElementType::f32, extents));
            std::vector<ag::Variable> factors;
            for (int i = 0; i < length; ++i) {
              factors.emplace_back(random_tensor(ctx, ElementType::f32, extents), ag::Gradient::wanted);
            }
            return [=] {
              ag::Variable out = x;
              for (const ag::Variable& factor : factors) out = ag::multiply(ctx, out, factor);
              ag::backward(ctx, out, {.loss_grads = {loss_grad}});
              for (ag::Variable factor : factors) factor.clear_grad();
              ag::Variable(x).clear_grad();
            };
          }};
}

void register_cases(Backend backend) {
  register_host_time(backend, plain());
  register_host_time(backend, tape());
}

const Benchmarks benchmarks("autograd", register_cases);

}  // namespace
}  // namespace portops::perf
