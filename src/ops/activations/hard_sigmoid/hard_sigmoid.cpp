// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/activations/hard_sigmoid/hard_sigmoid.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/activations/activation_loop.hpp"
#include "ops/activations/hard_sigmoid/hard_sigmoid_kernels.hpp"

#include <cmath>

namespace portops {
namespace {

void check_line(const char* op, const HardSigmoidParams& params) {
  if (std::isnan(params.slope)) impl::fail("portops::", op, ": slope is nan, expected a number");
  if (std::isnan(params.offset)) impl::fail("portops::", op, ": offset is nan, expected a number");
}

}  // namespace

void hard_sigmoid(const Context& ctx, const TensorRef& x, const TensorRef& out, const HardSigmoidParams& params) {
  const impl::Region region("portops::hard_sigmoid");
  impl::check_hard_sigmoid(ctx, x, out);
  check_line("hard_sigmoid", params);
  if (out.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(x, out);
  impl::dispatch(ctx.backend(), out.type(), [&]<Backend B, class T>() {
    impl::HardSigmoidKernels<B, T>::hard_sigmoid(ctx, loop, params.slope, params.offset);
  });
}

void hard_sigmoid_grad(const Context& ctx, const TensorRef& out, const TensorRef& out_grad, const TensorRef& x_grad,
                       const HardSigmoidParams& params) {
  const impl::Region region("portops::hard_sigmoid_grad");
  impl::check_hard_sigmoid_grad(ctx, out, out_grad, x_grad);
  check_line("hard_sigmoid_grad", params);
  if (!x_grad || x_grad.size() == 0) return;

  const impl::Loop loop = impl::make_activation_loop(out, out_grad, x_grad);
  impl::dispatch(ctx.backend(), x_grad.type(), [&]<Backend B, class T>() {
    impl::HardSigmoidKernels<B, T>::hard_sigmoid_grad(ctx, loop, params.slope);
  });
}

}  // namespace portops
