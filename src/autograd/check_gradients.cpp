// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/check_gradients.hpp"

#include "autograd/backward.hpp"
#include "autograd/memory.hpp"
#include "core/types/fail.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace portops::autograd {
namespace {

using Function = std::function<Variable(const std::vector<Variable>& variables)>;

constexpr const char* name = "portops::autograd::check_gradients";

Tensor on_host(const Context& ctx, const TensorRef& tensor) {
  Tensor result(tensor.type(), tensor.extents());
  copy(ctx, tensor, result);
  ctx.fence();
  return result;
}

/// Numbers between 0.5 and 1.5, of either sign: none of them hides an element.
Tensor random_weights(const Extents& extents) {
  Tensor weights(ElementType::f64, extents);
  std::uint64_t state = 1;
  const std::int64_t count = extents.product();
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth's linear congruential generator
    const double uniform = static_cast<double>(state >> 12) * 0x1p-52;
    weights.data<double>()[i] = (state & (1U << 11)) != 0 ? 0.5 + uniform : -0.5 - uniform;
  }
  return weights;
}

/// The function of copies of the variables whose elements can be changed.
class Probe {
 public:
  Probe(const Context& ctx, const Function& function, const std::vector<Variable>& variables)
      : ctx_(ctx), function_(function) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const TensorRef& tensor = variables[i].tensor();
      if (!tensor || tensor.type() != ElementType::f64 || !impl::is_contiguous(tensor)) {
        impl::fail(name, ": variables[", i, "] is ", !tensor ? "empty" : "not f64, or not contiguous",
                   ", expected a contiguous tensor of f64");
      }
      const Tensor elements(ElementType::f64, tensor.extents(), tensor.space());
      copy(ctx, tensor, elements);
      host_.push_back(on_host(ctx, tensor));
      copies_.emplace_back(elements.ref(), variables[i].levels(), Gradient::wanted);
      memory_.push_back(elements);
    }
  }

  Variable result() const { return function_(copies_); }
  const std::vector<Variable>& variables() const { return copies_; }

  /// Σ weight · out, with `shift` added to one element of a variable.
  double objective(std::size_t variable, std::int64_t element, double shift, const Tensor& weights) {
    double& value = host_[variable].data<double>()[element];
    const double before = std::exchange(value, value + shift);
    copy(ctx_, host_[variable], memory_[variable]);
    ctx_.fence();
    const Tensor out = on_host(ctx_, result().tensor());
    double sum = 0.0;
    for (std::int64_t i = 0; i < out.ref().size(); ++i) sum += weights.data<double>()[i] * out.data<double>()[i];
    value = before;
    copy(ctx_, host_[variable], memory_[variable]);
    ctx_.fence();
    return sum;
  }

 private:
  const Context& ctx_;
  const Function& function_;
  std::vector<Tensor> host_;
  std::vector<Tensor> memory_;
  std::vector<Variable> copies_;
};

}  // namespace

void check_gradients(const Context& ctx, const Function& function, const std::vector<Variable>& variables,
                     const CheckGradientsParams& params) {
  Probe probe(ctx, function, variables);
  const Variable out = probe.result();
  if (!out.wants_gradient()) impl::fail(name, ": what the function gave was made from none of the variables");
  if (out.tensor().type() != ElementType::f64) {
    impl::fail(name, ": the function gave elements of type ", portops::name_of(out.tensor().type()), ", expected f64");
  }
  const Tensor weights = random_weights(out.tensor().extents());
  const Tensor loss_grad(ElementType::f64, out.tensor().extents(), out.tensor().space());
  copy(ctx, weights, loss_grad);
  ctx.fence();
  const std::vector<Variable> grads = gradients(ctx, {out}, probe.variables(), {.loss_grads = {loss_grad}});
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor grad = grads[i] ? on_host(ctx, grads[i].tensor()) : Tensor();
    const std::int64_t count = variables[i].tensor().size();
    for (std::int64_t element = 0; element < count; ++element) {
      const double found = grads[i] ? grad.data<double>()[element] : 0.0;
      const double above = probe.objective(i, element, params.step, weights);
      const double below = probe.objective(i, element, -params.step, weights);
      const double slope = (above - below) / (2 * params.step);
      if (std::abs(found - slope) <= params.tolerance * (1.0 + std::abs(slope))) continue;
      impl::fail(name, ": the gradient of variables[", i, "] at element ", element, " is ", found, ", expected ", slope,
                 " (by central differences of step ", params.step, ")");
    }
  }
}

}  // namespace portops::autograd
