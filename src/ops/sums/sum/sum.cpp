// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sums/sum/sum.hpp"

#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sums/sums.hpp"

namespace portops {

void sum(const Context& ctx, const TensorRef& x, const TensorRef& out, const SumParams& params) {
  const impl::Region region("portops::sum");
  const impl::Reduction reduction = impl::check_sum(ctx, x, out, params);
  impl::reduce_sums(ctx, impl::SumOp::sum, x, out, {reduction.reduced, params.keepdim});
}

void sum_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
              const SumParams& params) {
  const impl::Region region("portops::sum_grad");
  const impl::Reduction reduction = impl::check_sum_grad(ctx, x, out_grad, x_grad, params);
  if (x_grad) impl::spread_sums(ctx, impl::SumOp::sum, out_grad, x_grad, {reduction.reduced, params.keepdim});
}

std::size_t sum_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const SumParams& params) {
  const impl::Reduction reduction = impl::check_sum(ctx, x, out, params);
  return impl::sums_workspace(x, out, {reduction.reduced, params.keepdim});
}

}  // namespace portops
