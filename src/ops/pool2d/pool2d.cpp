// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/pool2d/pool2d.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/pool2d/pool2d_kernels.hpp"

namespace portops {
namespace {

impl::Pool2dExtents check(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& index,
                          const Pool2dParams& params) {
  if (params.index) impl::fail("portops::pool2d: params.index is given, but it is an input of the gradient alone");
  const impl::Pool2dExtents windows = impl::check_pool2d(ctx, x, out, index, params);
  if (index && !windows.is_max) impl::fail("portops::pool2d: index is given, but pooltype is avg, expected max");
  return windows;
}

/// Averages of whole images are a reduction.
bool is_mean(const impl::Pool2dExtents& windows) {
  return !windows.is_max && windows.down.is_whole() && windows.across.is_whole();
}

impl::ReducePlan make_mean(const TensorRef& x, const TensorRef& out) {
  impl::AxisSet reduced{};
  reduced[2] = reduced[3] = true;
  const TensorRef spread = impl::with_reduced_axes(out, x.extents(), reduced, true);
  return impl::make_reduce_plan(impl::make_reduction(x, spread, reduced));
}

}  // namespace

void pool2d(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& index,
            const Pool2dParams& params) {
  const impl::Region region("portops::pool2d");
  const impl::Pool2dExtents windows = check(ctx, x, out, index, params);
  if (out.size() == 0) return;
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Kernels = impl::Pool2dKernels<B, T>;
    if (!is_mean(windows)) return Kernels::pool(ctx, impl::make_pool_plan(windows, params.exclusive, x, out, index));
    const std::int64_t size = windows.down.size(0, params.exclusive) * windows.across.size(0, params.exclusive);
    Kernels::mean(ctx, make_mean(x, out), static_cast<double>(size));
  });
}

void pool2d_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                 const Pool2dParams& params) {
  const impl::Region region("portops::pool2d_grad");
  if (params.pooltype == "max" && !params.index) {
    impl::fail("portops::pool2d_grad: index is not given, expected what pool2d wrote, as pooltype is max");
  }
  const impl::Pool2dExtents windows = impl::check_pool2d_grad(ctx, x, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return;
  const TensorRef& index = windows.is_max ? params.index : TensorRef();
  const impl::PoolPlan plan = impl::make_pool_plan(windows, params.exclusive, x_grad, out_grad, index);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::Pool2dKernels<B, T>::grad(ctx, plan); });
}

std::size_t pool2d_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& index,
                             const Pool2dParams& params) {
  const impl::Pool2dExtents windows = check(ctx, x, out, index, params);
  if (out.size() == 0 || !is_mean(windows)) return 0;
  return impl::reduce_workspace(make_mean(x, out), x.type());
}

}  // namespace portops
