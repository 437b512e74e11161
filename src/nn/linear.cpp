// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nn/linear.hpp"

#include "autograd/gradient_call.hpp"
#include "autograd/observer.hpp"
#include "autograd/recording.hpp"
#include "nn/uniform_bound.hpp"
#include "ops/products/linear/linear_rules.hpp"
#include "ops/products/tensor_product.hpp"
#include "portops/ops/linear.hpp"

namespace portops::nn {
namespace {

/// [n, k] as the [k, n] that the operator takes: a view. What is no matrix is left to the operator's checks.
TensorRef exchanged(const TensorRef& matrix) { return matrix.rank() == 2 ? impl::transposed(matrix) : matrix; }

// The operator linear on variables, as the functions of portops::autograd are made, but for the weight, which is
// exchanged within: so its gradient lies as it does, which steps of optimizers want.

void linear_backward(impl::GradientCall& call) {
  const TensorRef x_grad = call.gradient(0), weight_grad = call.gradient(1), bias_grad = call.gradient(2);
  portops::linear_grad(call.ctx(), call.tensor(0), exchanged(call.tensor(1)), call.out_grad(), x_grad,
                       exchanged(weight_grad), bias_grad);
}

constexpr const char* linear_kept[] = {"x", "weight", nullptr};
constexpr int linear_kept_operands[] = {0, 1};
constexpr const char* linear_variables[] = {"x", "weight", "bias", nullptr};
constexpr impl::Operation linear_operation{
    .name = "linear",
    .grad_name = "linear_grad",
    .label = "portops::nn::Linear",
    .grad_label = "portops::nn::Linear",
    .kept_names = linear_kept,
    .kept_count = 2,
    .variables = linear_variables,
    .output = "out",
    .kept_operands = linear_kept_operands,
    .backward = &linear_backward,
    .gradients = nullptr,
};

/// Whoever hears of calls hears of those of operators: the weight is exchanged by transpose.
void observe(const Variable& x, const Variable& weight, const Variable& bias, const Variable& out) {
  const TensorRef matrix = exchanged(weight.tensor());
  const Variable turned(TensorRef::without_data(matrix.type(), matrix.extents()));
  impl::CallObserver& observer = *impl::scopes().observer;
  observer.called("transpose", {{"x", weight}}, {{"perm", std::vector<std::int64_t>{1, 0}}}, {{"out", turned}});
  observer.called("linear", {{"x", x}, {"weight", turned}, {"bias", bias}}, {}, {{"out", out}});
}

}  // namespace

Linear::Linear(const Context& ctx, Generator& random, std::int64_t in_features, std::int64_t out_features,
               const LinearParams& params) {
  const double bound = impl::uniform_bound("Linear", "in_features", in_features, 1);
  weight = uniform(ctx, random, params.type, {out_features, in_features}, bound);
  if (params.bias) bias = uniform(ctx, random, params.type, {out_features}, bound);
}

Variable Linear::operator()(const Context& ctx, const Variable& x) const {
  impl::Recording recording(ctx, linear_operation, {&x, &weight, &bias});
  recording.check_given("x", x);
  recording.check_given("weight", weight);
  const TensorRef matrix = exchanged(weight.tensor());
  const portops::LinearParams options{.bias = bias.tensor()};
  const auto extents = impl::linear_extents("linear", x.tensor(), matrix, options);
  const Variable out = recording.output("out", x.tensor().type(), extents.out.extents, x.levels());
  recording.keep(x, recording.wants(1));
  recording.keep(weight);
  portops::linear(ctx, x.tensor(), matrix, out.tensor(), options);
  if (recording.is_observed()) observe(x, weight, bias, out);
  recording.finish({&out}, impl::NoParams{});
  return out;
}

}  // namespace portops::nn
