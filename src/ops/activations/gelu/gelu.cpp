// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/gelu/gelu.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/activations/activation_loop.hpp"
#include "ops/activations/gelu/gelu_kernels.hpp"

namespace portops {
namespace {

bool is_by_tanh(const char* op, const GeluParams& params) {
  if (params.approximate == "tanh") return true;
  if (params.approximate == "none") return false;
  impl::fail("portops::", op, ": approximate is '", params.approximate, "', expected none or tanh");
}

}  // namespace

void gelu(const Context& ctx, const TensorRef& x, const TensorRef& out, const GeluParams& params) {
  const impl::Region region("portops::gelu");
  impl::check_gelu(ctx, x, out);
  const bool by_tanh = is_by_tanh("gelu", params);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out);
  impl::dispatch(ctx.backend(), out.type(),
                 [&]<Backend B, class T>() { impl::GeluKernels<B, T>::gelu(ctx, loop, by_tanh); });
}

void gelu_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
               const GeluParams& params) {
  const impl::Region region("portops::gelu_grad");
  impl::check_gelu_grad(ctx, x, out_grad, x_grad);
  const bool by_tanh = is_by_tanh("gelu_grad", params);
  if (!x_grad || x_grad.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out_grad, x_grad);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::GeluKernels<B, T>::gelu_grad(ctx, loop, by_tanh); });
}

}  // namespace portops
