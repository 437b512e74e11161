// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/optimizers/sgd/sgd.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/optimizers/master_params.hpp"
#include "ops/optimizers/optimizer_kernels.hpp"

namespace portops {

void sgd(const Context& ctx, std::span<const TensorRef> param, std::span<const TensorRef> grad,
         const TensorOrNumber& learning_rate, std::span<const TensorRef> param_out,
         std::span<const TensorRef> master_param_out, const SgdParams& params) {
  const impl::Region region("portops::sgd");
  impl::check_sgd(ctx, param, grad, learning_rate, param_out, master_param_out, params);
  const bool has_master = impl::has_master_params("sgd", params.master_param, master_param_out);
  const impl::StepLists lists = has_master
                                    ? impl::make_step_lists({params.master_param, grad, param_out, master_param_out})
                                    : impl::make_step_lists({param, grad, param_out});
  const impl::StepOptions options{learning_rate, params.grad_scale, params.skip, params.weight_decay,
                                  false,         params.maximize};
  impl::dispatch(ctx.backend(), param.front().type(),
                 [&]<Backend B, class T>() { impl::OptimizerKernels<B, T>::sgd(ctx, lists, has_master, options); });
}

}  // namespace portops
