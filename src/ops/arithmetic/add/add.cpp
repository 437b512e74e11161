// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/arithmetic/add/add.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "core/map/sum_plan.hpp"
#include "core/reduce/reduce_plan.hpp"
#include "core/types/overlap.hpp"
#include "generated/checks.hpp"
#include "ops/arithmetic/add/add_kernels.hpp"
#include "ops/arithmetic/commutative_loop.hpp"
#include "ops/arithmetic/gradient_sums.hpp"

#include <array>
#include <optional>

namespace portops {
namespace {

/// The loop of a checked call; none where nothing is to be computed.
std::optional<impl::Loop> make_gradient(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                                        const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  const Extents extents = impl::check_add_grad(ctx, x, y, out_grad, x_grad, y_grad);
  const bool with_x = x_grad && !impl::coincide(x_grad, out_grad);  // else it is there already
  if (!with_x && !y_grad) return {};
  if (!with_x || !y_grad) return impl::make_gradient_sum(out_grad, with_x ? x_grad : y_grad, ctx.backend());
  const TensorOrNumber operand = out_grad;
  return impl::make_loop(out_grad.type(), extents, std::array{&operand}, std::array{&x_grad, &y_grad});
}

}  // namespace

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
  const std::optional<impl::Loop> loop = make_gradient(ctx, x, y, out_grad, x_grad, y_grad);
  if (!loop) return;

  impl::dispatch(ctx.backend(), out_grad.type(), [&]<Backend B, class T>() {
    using Kernels = impl::AddKernels<B, T>;
    impl::is_reduction(*loop, B) ? Kernels::sum_grad(ctx, impl::make_reduce_plan(*loop))
                                 : Kernels::add_grad(ctx, *loop);
  });
}

std::size_t add_grad_workspace(const Context& ctx, const TensorRef& x, const TensorOrNumber& y,
                               const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad) {
  const std::optional<impl::Loop> loop = make_gradient(ctx, x, y, out_grad, x_grad, y_grad);
  if (!loop) return 0;
  if (impl::is_reduction(*loop, ctx.backend()))
    return impl::reduce_workspace(impl::make_reduce_plan(*loop), out_grad.type());
  return impl::map_workspace(*loop, ctx.backend());
}

}  // namespace portops
