// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/linear/linear.hpp"

#include "blas/gemm.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "core/map/sum_plan.hpp"
#include "generated/checks.hpp"
#include "ops/products/tensor_product.hpp"
#include "ops/products/tensor_product_kernels.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace portops {
namespace {

using impl::make_tensor_product;
using impl::ProductOperator;
using impl::TensorProduct;
using impl::transposed;

/// The tensor with the rows of one matrix: of two axes or more.
TensorRef with_rows(const TensorRef& tensor) {
  if (tensor.rank() > 1) return tensor;
  return {tensor.data(),         tensor.type(),  {1, tensor.extent(0)},
          {0, tensor.stride(0)}, tensor.space(), tensor.read_only()};
}

TensorProduct make_forward(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                           const LinearParams& params) {
  impl::check_linear(ctx, x, weight, out, params);
  blas::check_products("linear", ctx, x.type());
  return make_tensor_product(with_rows(x), weight, with_rows(out), params.bias);
}

struct Gradients {
  std::optional<TensorProduct> of_x, of_weight;
  std::optional<impl::Loop> of_bias;

  std::size_t workspace(const Context& ctx) const {
    return std::max({of_x ? tensor_product_workspace(ctx, *of_x) : 0,
                     of_weight ? tensor_product_workspace(ctx, *of_weight) : 0,
                     of_bias ? impl::map_workspace(*of_bias, ctx.backend()) : 0});
  }
};

Gradients make_gradients(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out_grad,
                         const TensorRef& x_grad, const TensorRef& weight_grad, const TensorRef& bias_grad) {
  impl::check_linear_grad(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad);
  blas::check_products("linear_grad", ctx, weight.type());
  const TensorRef grad = with_rows(out_grad);
  Gradients result;
  if (x_grad) result.of_x = make_tensor_product(grad, transposed(weight), with_rows(x_grad));
  if (weight_grad) result.of_weight = make_tensor_product(transposed(with_rows(x)), grad, weight_grad);
  if (bias_grad) {
    const TensorOrNumber terms = out_grad, one = 1.0;
    result.of_bias =
        impl::make_loop(out_grad.type(), out_grad.extents(), std::array{&terms, &one}, std::array{&bias_grad});
  }
  return result;
}

}  // namespace

void linear(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
            const LinearParams& params) {
  const impl::Region region("portops::linear");
  multiply(ctx, ProductOperator::linear, make_forward(ctx, x, weight, out, params));
}

void linear_grad(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out_grad,
                 const TensorRef& x_grad, const TensorRef& weight_grad, const TensorRef& bias_grad) {
  const impl::Region region("portops::linear_grad");
  const Gradients gradients = make_gradients(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad);
  // Taken at once for all, so that too small a workspace is refused before anything is enqueued.
  const std::size_t bytes = gradients.workspace(ctx);
  const impl::Temporary memory(ctx, "portops::linear_grad::workspace", bytes);
  const Context lent = Context(ctx).workspace({memory.data(), bytes});
  if (gradients.of_x) multiply(lent, ProductOperator::linear_grad, *gradients.of_x);
  if (gradients.of_weight) multiply(lent, ProductOperator::linear_grad, *gradients.of_weight);
  if (!gradients.of_bias) return;
  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    impl::TensorProductKernels<B, T>::sum(lent, ProductOperator::linear_grad, *gradients.of_bias);
  });
}

std::size_t linear_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                             const LinearParams& params) {
  return tensor_product_workspace(ctx, make_forward(ctx, x, weight, out, params));
}

std::size_t linear_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                  const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& weight_grad,
                                  const TensorRef& bias_grad) {
  return make_gradients(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad).workspace(ctx);
}

}  // namespace portops
