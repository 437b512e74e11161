// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_momentum/sparse_momentum.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sparse_rows/sparse_update_kernels.hpp"

#include <array>

namespace portops {
namespace {

impl::SparseUpdate make_update(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                               const TensorRef& values, const TensorRef& velocity, const TensorRef& param_out,
                               const TensorRef& velocity_out, const SparseMomentumParams& params) {
  impl::check_sparse_momentum(ctx, param, rows, values, velocity, param_out, velocity_out, params);
  const std::array tensors{impl::UpdatedTensor{param, param_out}, impl::UpdatedTensor{velocity, velocity_out}};
  return impl::make_sparse_update("sparse_momentum", ctx, {rows, values, params.count}, tensors);
}

}  // namespace

void sparse_momentum(const Context& ctx, const TensorRef& param, const TensorRef& rows, const TensorRef& values,
                     const TensorRef& velocity, const TensorRef& param_out, const TensorRef& velocity_out,
                     const SparseMomentumParams& params) {
  const impl::Region region("portops::sparse_momentum");
  const impl::SparseUpdate update = make_update(ctx, param, rows, values, velocity, param_out, velocity_out, params);
  impl::dispatch(ctx.backend(), param.type(), [&]<Backend B, class T>() {
    impl::SparseUpdateKernels<B, T>::momentum(ctx, update, {params.learning_rate, params.mu, params.use_nesterov});
  });
}

std::size_t sparse_momentum_workspace(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                      const TensorRef& values, const TensorRef& velocity, const TensorRef& param_out,
                                      const TensorRef& velocity_out, const SparseMomentumParams& params) {
  return impl::sparse_update_workspace(
      ctx, make_update(ctx, param, rows, values, velocity, param_out, velocity_out, params));
}

}  // namespace portops
