// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/matmul/matmul.hpp"

#include "blas/gemm.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/products/tensor_product.hpp"

namespace portops {
namespace {

using impl::make_tensor_product;
using impl::ProductGradients;
using impl::ProductOperator;
using impl::TensorProduct;
using impl::transposed;

/// The tensor with an axis of extent 1 more, which becomes its axis number `at`.
TensorRef with_axis(const TensorRef& tensor, int at) {
  Extents extents = Extents::of_rank(tensor.rank() + 1), strides = extents;
  for (int axis = 0; axis <= tensor.rank(); ++axis) {
    const int own = axis < at ? axis : axis - 1;
    extents[axis] = axis == at ? 1 : tensor.extent(own);
    strides[axis] = axis == at ? 0 : tensor.stride(own);
  }
  return {tensor.data(), tensor.type(), extents, strides, tensor.space(), tensor.read_only()};
}

/// x, or its gradient, as […, M, K].
TensorRef left(const TensorRef& x, const MatmulParams& params) {
  if (x.rank() == 1) return with_axis(x, 0);
  return params.transpose_x ? transposed(x) : x;
}

/// y, or its gradient, as […, K, N].
TensorRef right(const TensorRef& y, const MatmulParams& params) {
  if (y.rank() == 1) return with_axis(y, 1);
  return params.transpose_y ? transposed(y) : y;
}

/// out, or its gradient, as […, M, N].
TensorRef result(const TensorRef& out, const TensorRef& x, const TensorRef& y) {
  const TensorRef with_columns = y.rank() == 1 ? with_axis(out, out.rank()) : out;
  return x.rank() == 1 ? with_axis(with_columns, with_columns.rank() - 1) : with_columns;
}

TensorProduct make_forward(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out,
                           const MatmulParams& params) {
  impl::check_matmul(ctx, x, y, out, params);
  blas::check_products("matmul", ctx, x.type());
  return make_tensor_product(left(x, params), right(y, params), result(out, x, y));
}

ProductGradients make_gradients(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out_grad,
                                const TensorRef& x_grad, const TensorRef& y_grad, const MatmulParams& params) {
  impl::check_matmul_grad(ctx, x, y, out_grad, x_grad, y_grad, params);
  blas::check_products("matmul_grad", ctx, y.type());
  const TensorRef grad = result(out_grad, x, y);
  ProductGradients wanted;
  if (x_grad) {
    wanted.products.push_back(make_tensor_product(grad, transposed(right(y, params)), left(x_grad, params)));
  }
  if (y_grad) {
    wanted.products.push_back(make_tensor_product(transposed(left(x, params)), grad, right(y_grad, params)));
  }
  return wanted;
}

}  // namespace

void matmul(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out,
            const MatmulParams& params) {
  const impl::Region region("portops::matmul");
  multiply(ctx, ProductOperator::matmul, make_forward(ctx, x, y, out, params));
}

void matmul_grad(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out_grad,
                 const TensorRef& x_grad, const TensorRef& y_grad, const MatmulParams& params) {
  const impl::Region region("portops::matmul_grad");
  multiply(ctx, ProductOperator::matmul_grad, make_gradients(ctx, x, y, out_grad, x_grad, y_grad, params));
}

std::size_t matmul_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out,
                             const MatmulParams& params) {
  return tensor_product_workspace(ctx, make_forward(ctx, x, y, out, params));
}

std::size_t matmul_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorRef& out_grad,
                                  const TensorRef& x_grad, const TensorRef& y_grad, const MatmulParams& params) {
  return make_gradients(ctx, x, y, out_grad, x_grad, y_grad, params).workspace(ctx);
}

}  // namespace portops
