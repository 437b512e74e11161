// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/add/add.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "generated/checks.hpp"
#include "ops/arithmetic/add/add_kernels.hpp"
#include "ops/arithmetic/commutative_loop.hpp"
#include "ops/arithmetic/gradient_sums.hpp"

#include <optional>

namespace portops {

void add(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out) {
  const impl::Region region("portops::add");
  const Extents extents = impl::check_add(ctx, x, y, out);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_commutative_loop(extents, x, y, out);
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() { impl::AddKernels<B, T>::add(ctx, loop); });
}

void add_grad(const Context& ctx, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
              const TensorRef& x_grad, const TensorRef& y_grad) {
  const impl::Region region("portops::add_grad");
  impl::check_add_grad(ctx, x, y, out_grad, x_grad, y_grad);
  const std::optional<impl::Loop> loop = impl::make_gradient_sums(out_grad, x_grad, y_grad, ctx.backend());
  if (!loop) return;

  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    using Kernels = impl::AddKernels<B, T>;
    impl::is_reduction(*loop, B) ? Kernels::sum_grad(ctx, impl::make_reduce_plan(*loop))
                                 : Kernels::add_grad(ctx, *loop);
  });
}

std::size_t add_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                               const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  impl::check_add_grad(ctx, x, y, out_grad, x_grad, y_grad);
  return impl::gradient_sums_workspace(impl::make_gradient_sums(out_grad, x_grad, y_grad, ctx.backend()),
                                       ctx.backend());
}

}  // namespace portops
