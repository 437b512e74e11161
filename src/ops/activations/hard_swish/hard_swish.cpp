// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/hard_swish/hard_swish.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/activations/activation_loop.hpp"
#include "ops/activations/hard_swish/hard_swish_kernels.hpp"

namespace portops {

void hard_swish(const Context& ctx, const TensorRef& x, const TensorRef& out) {
  const impl::Region region("portops::hard_swish");
  impl::check_hard_swish(ctx, x, out);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out);
  impl::dispatch(ctx.backend(), out.type(),
                 [&]<Backend B, class T>() { impl::HardSwishKernels<B, T>::hard_swish(ctx, loop); });
}

void hard_swish_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad) {
  const impl::Region region("portops::hard_swish_grad");
  impl::check_hard_swish_grad(ctx, x, out_grad, x_grad);
  if (!x_grad || x_grad.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out_grad, x_grad);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::HardSwishKernels<B, T>::hard_swish_grad(ctx, loop); });
}

}  // namespace portops
