// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/dropout/dropout.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/dropout/dropout_kernels.hpp"

namespace portops {
namespace {

void check_p(std::string_view op, double p) {
  if (p >= 0.0 && p <= 1.0) return;
  impl::fail("portops::", op, ": p is ", p, ", expected at least 0 and at most 1");
}

void drop(const Context& ctx, bool is_gradient, const TensorRef& x, const TensorRef& out, const DropoutParams& params) {
  if (out.size() == 0) return;
  const impl::DropoutNumbers numbers{params.p, static_cast<std::uint64_t>(params.seed),
                                     static_cast<std::uint64_t>(params.offset),
                                     static_cast<const std::int64_t*>(params.step.data())};
  impl::dispatch(ctx.backend(), x.type(),
                 [&]<Backend B, class T>() { impl::DropoutKernels<B, T>::dropout(ctx, is_gradient, x, out, numbers); });
}

}  // namespace

void dropout(const Context& ctx, const TensorRef& x, const TensorRef& out, const DropoutParams& params) {
  const impl::Region region("portops::dropout");
  check_p("dropout", params.p);
  impl::check_dropout(ctx, x, out, params);
  drop(ctx, false, x, out, params);
}

void dropout_grad(const Context& ctx, const TensorRef& out_grad, const TensorRef& x_grad, const DropoutParams& params) {
  const impl::Region region("portops::dropout_grad");
  check_p("dropout_grad", params.p);
  impl::check_dropout_grad(ctx, out_grad, x_grad, params);
  if (x_grad) drop(ctx, true, out_grad, x_grad, params);
}

}  // namespace portops
