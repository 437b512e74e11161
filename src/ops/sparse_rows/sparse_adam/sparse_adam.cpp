// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_adam/sparse_adam.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sparse_rows/sparse_update_kernels.hpp"

#include <array>
#include <cmath>

namespace portops {
namespace {

void check_power(std::string_view name, double value) {
  if (value >= 0.0 && value < 1.0) return;
  impl::fail("portops::sparse_adam: ", name, " is ", value, ", expected at least 0 and less than 1");
}

impl::SparseUpdate make_update(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                               const TensorRef& values, const TensorRef& moment1, const TensorRef& moment2,
                               const TensorRef& param_out, const TensorRef& moment1_out, const TensorRef& moment2_out,
                               const SparseAdamParams& params) {
  check_power("beta1_pow", params.beta1_pow);
  check_power("beta2_pow", params.beta2_pow);
  impl::check_sparse_adam(ctx, param, rows, values, moment1, moment2, param_out, moment1_out, moment2_out, params);
  const std::array tensors{impl::UpdatedTensor{param, param_out}, impl::UpdatedTensor{moment1, moment1_out},
                           impl::UpdatedTensor{moment2, moment2_out}};
  return impl::make_sparse_update("sparse_adam", ctx, {rows, values, params.count}, tensors);
}

/// The corrections of the moments, worked into the other constants: √(1 − beta2_pow) above and below the line.
impl::AdamNumbers numbers_of(const SparseAdamParams& params) {
  const double root = std::sqrt(1.0 - params.beta2_pow);
  return {params.learning_rate * root / (1.0 - params.beta1_pow), params.beta1, params.beta2, params.epsilon * root};
}

}  // namespace

void sparse_adam(const Context& ctx, const TensorRef& param, const TensorRef& rows, const TensorRef& values,
                 const TensorRef& moment1, const TensorRef& moment2, const TensorRef& param_out,
                 const TensorRef& moment1_out, const TensorRef& moment2_out, const SparseAdamParams& params) {
  const impl::Region region("portops::sparse_adam");
  const impl::SparseUpdate update =
      make_update(ctx, param, rows, values, moment1, moment2, param_out, moment1_out, moment2_out, params);
  impl::dispatch(ctx.backend(), param.type(),
                 [&]<Backend B, class T>() { impl::SparseUpdateKernels<B, T>::adam(ctx, update, numbers_of(params)); });
}

std::size_t sparse_adam_workspace(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                  const TensorRef& values, const TensorRef& moment1, const TensorRef& moment2,
                                  const TensorRef& param_out, const TensorRef& moment1_out,
                                  const TensorRef& moment2_out, const SparseAdamParams& params) {
  return impl::sparse_update_workspace(
      ctx, make_update(ctx, param, rows, values, moment1, moment2, param_out, moment1_out, moment2_out, params));
}

}  // namespace portops
