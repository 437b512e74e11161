// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/clip.hpp>
#include <portops/ops/gelu.hpp>
#include <portops/ops/hard_sigmoid.hpp>
#include <portops/ops/hard_swish.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sigmoid.hpp>
#include <portops/ops/silu.hpp>
#include <portops/ops/tanh.hpp>

#include "harness.hpp"

namespace portops::perf {
namespace {

struct Activation {
  std::string name;
  void (*call)(const Context&, const TensorRef& x, const TensorRef& out);
  void (*grad)(const Context&, const TensorRef& kept, const TensorRef& out_grad, const TensorRef& x_grad);
};

const Activation activations[] = {
    {"relu", relu, relu_grad},
    {"clip",
     [](const Context& ctx, const TensorRef& x, const TensorRef& out) { clip(ctx, x, out, {.min = 0.0, .max = 6.0}); },
     [](const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
       clip_grad(ctx, x, out_grad, x_grad, {.min = 0.0, .max = 6.0});
     }},
    {"gelu", [](const Context& ctx, const TensorRef& x, const TensorRef& out) { gelu(ctx, x, out); },
     [](const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
       gelu_grad(ctx, x, out_grad, x_grad);
     }},
    {"gelu_tanh",
     [](const Context& ctx, const TensorRef& x, const TensorRef& out) { gelu(ctx, x, out, {.approximate = "tanh"}); },
     [](const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
       gelu_grad(ctx, x, out_grad, x_grad, {.approximate = "tanh"});
     }},
    {"hard_sigmoid", [](const Context& ctx, const TensorRef& x, const TensorRef& out) { hard_sigmoid(ctx, x, out); },
     [](const Context& ctx, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad) {
       hard_sigmoid_grad(ctx, out, out_grad, x_grad);
     }},
    {"hard_swish", hard_swish, hard_swish_grad},
    {"silu", silu, silu_grad},
    {"sigmoid", sigmoid, sigmoid_grad},
    {"tanh", tanh, tanh_grad},
};

std::string name_of_case(const std::string& op, ElementType type, const Extents& extents) {
  return op + "/" + std::string(name_of(type)) + "/" + text(extents);
}

Case forward(const Activation& op, ElementType type, const Extents& extents) {
  const auto bytes = static_cast<std::int64_t>(size_of(type)) * extents.product();
  return {name_of_case(op.name, type, extents), 2 * bytes, [=](const Context& ctx) -> Call {
            const Tensor x = random_tensor(ctx, type, extents, Random::normal), out(type, extents, x.ref().space());
            return [=] { op.call(ctx, x, out); };
          }};
}

Case gradient(const Activation& op, ElementType type, const Extents& extents) {
  const auto bytes = static_cast<std::int64_t>(size_of(type)) * extents.product();
  return {name_of_case(op.name + "_grad", type, extents), 3 * bytes, [=](const Context& ctx) -> Call {
            const Tensor kept = random_tensor(ctx, type, extents, Random::normal);
            const Tensor out_grad = random_tensor(ctx, type, extents), x_grad(type, extents, kept.ref().space());
            return [=] { op.grad(ctx, kept, out_grad, x_grad); };
          }};
}

void register_cases(Backend backend) {
  const Extents matrix{backend == Backend::cuda ? 16384 : 4096, 4096};
  register_host_time(backend, forward(activations[0], ElementType::f32, {4, 16, 64}));
  for (const Activation& op : activations) {
    for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
      for (const Extents& extents : {matrix, Extents{4, 16, 64}, Extents{3, 5, 197, 175}}) {
        register_case(backend, forward(op, type, extents));
        register_case(backend, gradient(op, type, extents));
      }
    }
  }
}

const Benchmarks benchmarks("activations", register_cases);

}  // namespace
}  // namespace portops::perf
