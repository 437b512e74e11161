// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/divide/divide.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/map/sum_plan.hpp"
#include "generated/checks.hpp"
#include "ops/arithmetic/divide/divide_kernels.hpp"

#include <array>

namespace portops {
namespace {

/// The loop of a checked call of divide_grad. x_grad alone is made of y and out_grad, y_grad of x too.
impl::Loop make_gradient(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                         const TensorRef& x_grad, const TensorRef& y_grad) {
  const Extents extents = impl::check_divide_grad(ctx, x, y, out_grad, x_grad, y_grad);
  const TensorOrNumber of_x = x, of_out = out_grad;
  if (!y_grad) return impl::make_loop(out_grad.type(), extents, std::array{&y, &of_out}, std::array{&x_grad});
  const std::array inputs{&of_x, &y, &of_out};
  return x_grad ? impl::make_loop(out_grad.type(), extents, inputs, std::array{&x_grad, &y_grad})
                : impl::make_loop(out_grad.type(), extents, inputs, std::array{&y_grad});
}

}  // namespace

void divide(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out) {
  const impl::Region region("portops::divide");
  const Extents extents = impl::check_divide(ctx, x, y, out);
  if (out.size() == 0) return;

  const TensorOrNumber of_x = x;
  const impl::Loop loop = impl::make_loop(x.type(), extents, std::array{&of_x, &y}, std::array{&out});
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() { impl::DivideKernels<B, T>::divide(ctx, loop); });
}

void divide_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                 const TensorRef& x_grad, const TensorRef& y_grad) {
  const impl::Region region("portops::divide_grad");
  const impl::Loop loop = make_gradient(ctx, x, y, out_grad, x_grad, y_grad);
  if (!x_grad && !y_grad) return;

  impl::dispatch(ctx.backend(), out_grad.type(),
                 [&]<Backend B, class T>() { impl::DivideKernels<B, T>::divide_grad(ctx, loop); });
}

std::size_t divide_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                  const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  return impl::map_workspace(make_gradient(ctx, x, y, out_grad, x_grad, y_grad), ctx.backend());
}

}  // namespace portops
