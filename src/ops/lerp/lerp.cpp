// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/lerp/lerp.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "core/map/sum_plan.hpp"
#include "generated/checks.hpp"
#include "ops/lerp/lerp_kernels.hpp"

#include <array>

namespace portops {
namespace {

/// A checked call of lerp_grad: its loop, and whether it needs the elements of x and y.
struct Gradient {
  impl::Loop loop;
  bool with_weight;
};

Gradient make_gradient(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
                       const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
                       const TensorRef& weight_grad) {
  const Extents extents = impl::check_lerp_grad(ctx, x, y, weight, out_grad, x_grad, y_grad, weight_grad);
  const ElementType type = out_grad.type();
  const TensorOrNumber out_grad_operand = out_grad;
  if (!weight_grad) {
    return {impl::make_loop(type, extents, std::array{&weight, &out_grad_operand}, std::array{&x_grad, &y_grad}),
            false};
  }
  const TensorOrNumber x_operand = x;
  const TensorOrNumber y_operand = y;
  return {impl::make_loop(type, extents, std::array{&x_operand, &y_operand, &weight, &out_grad_operand},
                          std::array{&x_grad, &y_grad, &weight_grad}),
          true};
}

}  // namespace

void lerp(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
          const TensorRef& out) {
  const impl::Region region("portops::lerp");
  const Extents extents = impl::check_lerp(ctx, x, y, weight, out);
  if (out.size() == 0) return;

  const TensorOrNumber x_operand = x;
  const TensorOrNumber y_operand = y;
  const impl::Loop loop =
      impl::make_loop(x.type(), extents, std::array{&x_operand, &y_operand, &weight}, std::array{&out});
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() { impl::LerpKernels<B, T>::lerp(ctx, loop); });
}

void lerp_grad(const Context& ctx, const TensorRef& x, const TensorRef& y, const TensorOrNumber& weight,
               const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
               const TensorRef& weight_grad) {
  const impl::Region region("portops::lerp_grad");
  const Gradient gradient = make_gradient(ctx, x, y, weight, out_grad, x_grad, y_grad, weight_grad);
  if (!x_grad && !y_grad && !weight_grad) return;

  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    using Kernels = impl::LerpKernels<B, T>;
    gradient.with_weight ? Kernels::lerp_grad_xyw(ctx, gradient.loop) : Kernels::lerp_grad_xy(ctx, gradient.loop);
  });
}

std::size_t lerp_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& y,
                                const TensorOrNumber& weight, const TensorRef& out_grad, const TensorRef& x_grad,
                                const TensorRef& y_grad, const TensorRef& weight_grad) {
  const Gradient gradient = make_gradient(ctx, x, y, weight, out_grad, x_grad, y_grad, weight_grad);
  return impl::map_workspace(gradient.loop, ctx.backend());
}

}  // namespace portops
