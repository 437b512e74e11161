// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/silu/silu.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/activations/activation_loop.hpp"
#include "ops/activations/silu/silu_kernels.hpp"

namespace portops {

void silu(const Context& ctx, const TensorRef& x, const TensorRef& out) {
  const impl::Region region("portops::silu");
  impl::check_silu(ctx, x, out);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out);
  impl::dispatch(ctx.backend(), out.type(), [&]<Backend B, class T>() { impl::SiluKernels<B, T>::silu(ctx, loop); });
}

void silu_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
  const impl::Region region("portops::silu_grad");
  impl::check_silu_grad(ctx, x, out_grad, x_grad);
  if (!x_grad || x_grad.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out_grad, x_grad);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::SiluKernels<B, T>::silu_grad(ctx, loop); });
}

}  // namespace portops
