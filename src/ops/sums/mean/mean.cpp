// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sums/mean/mean.hpp"

#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sums/sums.hpp"

namespace portops {

void mean(const Context& ctx, const TensorRef& x, const TensorRef& out, const MeanParams& params) {
  const impl::Region region("portops::mean");
  const impl::Reduction reduction = impl::check_mean(ctx, x, out, params);
  impl::reduce_sums(ctx, impl::SumOp::mean, x, out, {reduction.reduced, params.keepdim});
}

void mean_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
               const MeanParams& params) {
  const impl::Region region("portops::mean_grad");
  const impl::Reduction reduction = impl::check_mean_grad(ctx, x, out_grad, x_grad, params);
  if (x_grad) impl::spread_sums(ctx, impl::SumOp::mean, out_grad, x_grad, {reduction.reduced, params.keepdim});
}

std::size_t mean_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const MeanParams& params) {
  const impl::Reduction reduction = impl::check_mean(ctx, x, out, params);
  return impl::sums_workspace(x, out, {reduction.reduced, params.keepdim});
}

}  // namespace portops
