// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/optimizers/adam/adam.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/optimizers/master_params.hpp"
#include "ops/optimizers/optimizer_kernels.hpp"

namespace portops {
namespace {

void check_power(std::string_view name, const TensorOrNumber& power) {
  if (power.is_tensor() || (power.number() >= 0.0 && power.number() < 1.0)) return;
  impl::fail("portops::adam: ", name, " is ", power.number(), ", expected at least 0 and less than 1");
}

}  // namespace

void adam(const Context& ctx, std::span<const TensorRef> param, std::span<const TensorRef> grad,
          std::span<const TensorRef> moment1, std::span<const TensorRef> moment2, const TensorOrNumber& learning_rate,
          const TensorOrNumber& beta1_pow, const TensorOrNumber& beta2_pow, std::span<const TensorRef> param_out,
          std::span<const TensorRef> moment1_out, std::span<const TensorRef> moment2_out,
          const TensorRef& beta1_pow_out, const TensorRef& beta2_pow_out, std::span<const TensorRef> master_param_out,
          const AdamParams& params) {
  const impl::Region region("portops::adam");
  check_power("beta1_pow", beta1_pow);
  check_power("beta2_pow", beta2_pow);
  impl::check_adam(ctx, param, grad, moment1, moment2, learning_rate, beta1_pow, beta2_pow, param_out, moment1_out,
                   moment2_out, beta1_pow_out, beta2_pow_out, master_param_out, params);
  const bool has_master = impl::has_master_params("adam", params.master_param, master_param_out);
  const impl::StepLists lists =
      has_master ? impl::make_step_lists({params.master_param, grad, moment1, moment2, param_out, master_param_out,
                                          moment1_out, moment2_out})
                 : impl::make_step_lists({param, grad, moment1, moment2, param_out, moment1_out, moment2_out});
  const impl::StepOptions options{
      learning_rate,  params.grad_scale, params.skip, params.weight_decay, params.decoupled_weight_decay,
      params.maximize};
  const impl::AdamOptions own{beta1_pow,    beta2_pow,    beta1_pow_out, beta2_pow_out,
                              params.beta1, params.beta2, params.epsilon};
  impl::dispatch(ctx.backend(), param.front().type(), [&]<Backend B, class T>() {
    impl::OptimizerKernels<B, T>::adam(ctx, lists, has_master, options, own);
  });
}

}  // namespace portops
