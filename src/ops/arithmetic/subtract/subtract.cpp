// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/subtract/subtract.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "generated/checks.hpp"
#include "ops/arithmetic/gradient_sums.hpp"
#include "ops/arithmetic/subtract/subtract_kernels.hpp"

#include <array>
#include <optional>

namespace portops {

void subtract(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out) {
  const impl::Region region("portops::subtract");
  const Extents extents = impl::check_subtract(ctx, x, y, out);
  if (out.size() == 0) return;

  const TensorOrNumber of_x = x;
  const impl::Loop loop = impl::make_loop(x.type(), extents, std::array{&of_x, &y}, std::array{&out});
  impl::dispatch(ctx.backend(), x.type(),
                 [&]<Backend B, class T>() { impl::SubtractKernels<B, T>::subtract(ctx, loop); });
}

void subtract_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                   const TensorRef& x_grad, const TensorRef& y_grad) {
  const impl::Region region("portops::subtract_grad");
  impl::check_subtract_grad(ctx, x, y, out_grad, x_grad, y_grad);
  const std::optional<impl::Loop> loop = impl::make_gradient_sums(out_grad, x_grad, y_grad, ctx.backend());
  if (!loop) return;

  const bool negated = static_cast<bool>(y_grad);  // of a gradient alone
  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    using Kernels = impl::SubtractKernels<B, T>;
    impl::is_reduction(*loop, B) ? Kernels::sum_grad(ctx, impl::make_reduce_plan(*loop), negated)
                                 : Kernels::subtract_grad(ctx, *loop, negated);
  });
}

std::size_t subtract_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                    const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  impl::check_subtract_grad(ctx, x, y, out_grad, x_grad, y_grad);
  return impl::gradient_sums_workspace(impl::make_gradient_sums(out_grad, x_grad, y_grad, ctx.backend()),
                                       ctx.backend());
}

}  // namespace portops
