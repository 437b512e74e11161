// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/clip/clip.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/activations/activation_loop.hpp"
#include "ops/activations/clip/clip_kernels.hpp"

#include <cmath>

namespace portops {
namespace {

void check_bounds(const char* op, const ClipParams& params) {
  if (std::isnan(params.min)) impl::fail("portops::", op, ": min is nan, expected a number");
  if (std::isnan(params.max)) impl::fail("portops::", op, ": max is nan, expected a number");
}

}  // namespace

void clip(const Context& ctx, const TensorRef& x, const TensorRef& out, const ClipParams& params) {
  const impl::Region region("portops::clip");
  impl::check_clip(ctx, x, out);
  check_bounds("clip", params);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out);
  impl::dispatch(ctx.backend(), out.type(),
                 [&]<Backend B, class T>() { impl::ClipKernels<B, T>::clip(ctx, loop, params.min, params.max); });
}

void clip_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
               const ClipParams& params) {
  const impl::Region region("portops::clip_grad");
  impl::check_clip_grad(ctx, x, out_grad, x_grad);
  check_bounds("clip_grad", params);
  if (!x_grad || x_grad.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out_grad, x_grad);
  impl::dispatch(ctx.backend(), x_grad.type(),
                 [&]<Backend B, class T>() { impl::ClipKernels<B, T>::clip_grad(ctx, loop, params.min, params.max); });
}

}  // namespace portops
