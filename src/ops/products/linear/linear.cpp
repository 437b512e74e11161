// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/linear/linear.hpp"

#include "blas/gemm.hpp"
#include "core/exec/program_call.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/products/tensor_product.hpp"

#include <array>

namespace portops {
namespace {

using impl::make_tensor_product;
using impl::ProductGradients;
using impl::ProductOperator;
using impl::TensorProduct;
using impl::transposed;

/// The tensor with the rows of one matrix: of two axes or more.
TensorRef with_rows(const TensorRef& tensor) {
  if (tensor.rank() > 1) return tensor;
  return {tensor.data(),         tensor.type(),  {1, tensor.extent(0)},
          {0, tensor.stride(0)}, tensor.space(), tensor.read_only()};
}

/// The weight, or its gradient, as [K, N].
TensorRef as_columns(const TensorRef& weight, const LinearParams& params) {
  return params.transpose_weight ? transposed(weight) : weight;
}

TensorProduct make_forward(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                           const LinearParams& params) {
  impl::check_linear(ctx, x, weight, out, params);
  blas::check_products("linear", ctx, x.type());
  return make_tensor_product(with_rows(x), as_columns(weight, params), with_rows(out), params.bias);
}

ProductGradients make_gradients(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& weight_grad,
                                const TensorRef& bias_grad, const LinearParams& params) {
  impl::check_linear_grad(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad, params);
  blas::check_products("linear_grad", ctx, weight.type());
  const TensorRef grad = with_rows(out_grad);
  ProductGradients wanted;
  if (x_grad) {
    wanted.products.push_back(make_tensor_product(grad, transposed(as_columns(weight, params)), with_rows(x_grad)));
  }
  if (weight_grad) {
    wanted.products.push_back(make_tensor_product(transposed(with_rows(x)), grad, as_columns(weight_grad, params)));
  }
  if (bias_grad) {
    const TensorOrNumber terms = out_grad, one = 1.0;
    wanted.of_bias =
        impl::make_loop(out_grad.type(), out_grad.extents(), std::array{&terms, &one}, std::array{&bias_grad});
  }
  return wanted;
}

}  // namespace

void linear(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
            const LinearParams& params) {
  const impl::Region region("portops::linear");
  TensorProduct product = make_forward(ctx, x, weight, out, params);
  if (const impl::ProgramCall* program = impl::ProgramCallScope::current()) product.kept_b = program->weight;
  multiply(ctx, ProductOperator::linear, product);
}

void linear_grad(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out_grad,
                 const TensorRef& x_grad, const TensorRef& weight_grad, const TensorRef& bias_grad,
                 const LinearParams& params) {
  const impl::Region region("portops::linear_grad");
  multiply(ctx, ProductOperator::linear_grad,
           make_gradients(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad, params));
}

std::size_t linear_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight, const TensorRef& out,
                             const LinearParams& params) {
  return tensor_product_workspace(ctx, make_forward(ctx, x, weight, out, params));
}

std::size_t linear_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& weight,
                                  const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& weight_grad,
                                  const TensorRef& bias_grad, const LinearParams& params) {
  return make_gradients(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad, params).workspace(ctx);
}

}  // namespace portops
