// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_sgd/sparse_sgd.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sparse_rows/sparse_update_kernels.hpp"

#include <array>

namespace portops {
namespace {

impl::SparseUpdate make_update(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                               const TensorRef& values, const TensorRef& param_out, const SparseSgdParams& params) {
  impl::check_sparse_sgd(ctx, param, rows, values, param_out, params);
  const std::array tensors{impl::UpdatedTensor{param, param_out}};
  impl::SparseUpdate update = impl::make_sparse_update("sparse_sgd", ctx, {rows, values, params.count}, tensors);
  // Sums of 16-bit types are not rounded on the way, and of merged rows there are none.
  const bool has_sums = size_of(param.type()) >= sizeof(float) && !update.sparse.merged();
  update.in_any_order = ctx.backend() == Backend::cuda && !ctx.deterministic() && has_sums;
  return update;
}

}  // namespace

void sparse_sgd(const Context& ctx, const TensorRef& param, const TensorRef& rows, const TensorRef& values,
                const TensorRef& param_out, const SparseSgdParams& params) {
  const impl::Region region("portops::sparse_sgd");
  const impl::SparseUpdate update = make_update(ctx, param, rows, values, param_out, params);
  impl::dispatch(ctx.backend(), param.type(), [&]<Backend B, class T>() {
    impl::SparseUpdateKernels<B, T>::sgd(ctx, update, params.learning_rate);
  });
}

std::size_t sparse_sgd_workspace(const Context& ctx, const TensorRef& param, const TensorRef& rows,
                                 const TensorRef& values, const TensorRef& param_out, const SparseSgdParams& params) {
  return impl::sparse_update_workspace(ctx, make_update(ctx, param, rows, values, param_out, params));
}

}  // namespace portops
