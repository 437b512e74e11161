// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/multiply/multiply.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/map/sum_plan.hpp"
#include "generated/checks.hpp"
#include "ops/arithmetic/commutative_loop.hpp"
#include "ops/arithmetic/multiply/multiply_kernels.hpp"

#include <array>

namespace portops {
namespace {

/// The loop of a checked call of multiply_grad. One gradient alone is made of the other operand and out_grad.
impl::Loop make_gradient(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                         const TensorRef& x_grad, const TensorRef& y_grad) {
  const Extents extents = impl::check_multiply_grad(ctx, x, y, out_grad, x_grad, y_grad);
  const TensorOrNumber of_x = x, of_out = out_grad;
  if (x_grad && y_grad) {
    return impl::make_loop(out_grad.type(), extents, std::array{&of_x, &y, &of_out}, std::array{&x_grad, &y_grad});
  }
  return impl::make_loop(out_grad.type(), extents, std::array{x_grad ? &y : &of_x, &of_out},
                         std::array{x_grad ? &x_grad : &y_grad});
}

}  // namespace

void multiply(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out) {
  const impl::Region region("portops::multiply");
  const Extents extents = impl::check_multiply(ctx, x, y, out);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_commutative_loop(extents, x, y, out);
  impl::dispatch(ctx.backend(), x.type(),
                 [&]<Backend B, class T>() { impl::MultiplyKernels<B, T>::multiply(ctx, loop); });
}

void multiply_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                   const TensorRef& x_grad, const TensorRef& y_grad) {
  const impl::Region region("portops::multiply_grad");
  const impl::Loop loop = make_gradient(ctx, x, y, out_grad, x_grad, y_grad);
  if (!x_grad && !y_grad) return;

  impl::dispatch(ctx.backend(), out_grad.type(),
                 [&]<Backend B, class T>() { impl::MultiplyKernels<B, T>::multiply_grad(ctx, loop); });
}

std::size_t multiply_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                    const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  return impl::map_workspace(make_gradient(ctx, x, y, out_grad, x_grad, y_grad), ctx.backend());
}

}  // namespace portops
