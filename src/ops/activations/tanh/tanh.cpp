// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/tanh/tanh.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/activations/activation_loop.hpp"
#include "ops/activations/tanh/tanh_kernels.hpp"

namespace portops {

void tanh(const Context& ctx, const TensorRef& x, const TensorRef& out) {
  const impl::Region region("portops::tanh");
  impl::check_tanh(ctx, x, out);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out);
  impl::dispatch(ctx.backend(), out.type(), [&]<Backend B, class T>() { impl::TanhKernels<B, T>::tanh(ctx, loop); });
}

void tanh_grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad) {
  const impl::Region region("portops::tanh_grad");
  impl::check_tanh_grad(ctx, out, out_grad, x_grad);
  if (!x_grad || x_grad.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(out, out_grad, x_grad);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::TanhKernels<B, T>::tanh_grad(ctx, loop); });
}

}  // namespace portops
