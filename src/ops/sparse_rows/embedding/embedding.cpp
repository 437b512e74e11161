// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/embedding/embedding.hpp"

#include "core/check/check_indices.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "generated/checks.hpp"
#include "ops/sparse_rows/embedding/embedding_kernels.hpp"
#include "ops/sparse_rows/embedding/gather_rows.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"

#include <array>

namespace portops {
namespace {

/// Operands: out_grad, weight_grad.
impl::SparseRows sparse_gradient(const TensorRef& ids, const TensorRef& out_grad, const TensorRef& weight_grad,
                                 const EmbeddingParams& params) {
  impl::SparseRows sparse =
      impl::make_sparse_rows(out_grad.type(), ids, weight_grad.extent(0), std::array{&out_grad, &weight_grad});
  sparse.padding = params.padding_idx;
  return sparse;
}

}  // namespace

void embedding(const Context& ctx, const TensorRef& weight, const TensorRef& ids, const TensorRef& out,
               const EmbeddingParams& params) {
  const impl::Region region("portops::embedding");
  impl::check_embedding(ctx, weight, ids, out, params);
  impl::check_indices("embedding", ctx, {"ids", ids}, weight.extent(0), "the rows of weight");
  if (out.size() == 0) return;
  impl::gather_rows(ctx, impl::make_gather_plan(weight, ids, out));
}

void embedding_grad(const Context& ctx, const TensorRef& weight, const TensorRef& ids, const TensorRef& out_grad,
                    const TensorRef& weight_grad, const EmbeddingParams& params) {
  const impl::Region region("portops::embedding_grad");
  impl::check_embedding_grad(ctx, weight, ids, out_grad, weight_grad, params);
  impl::check_indices("embedding_grad", ctx, {"ids", ids}, weight.extent(0), "the rows of weight");
  if (!weight_grad || weight_grad.size() == 0) return;
  const impl::SparseRows sparse = sparse_gradient(ids, out_grad, weight_grad, params);
  const TensorOrNumber zero(0.0);
  const impl::Loop zeros =
      impl::make_loop(weight_grad.type(), weight_grad.extents(), std::array{&zero}, std::array{&weight_grad});
  impl::dispatch(ctx.backend(), weight_grad.type(),
                 [&]<Backend B, class T>() { impl::EmbeddingKernels<B, T>::grad(ctx, sparse, zeros); });
}

std::size_t embedding_grad_workspace(const Context& ctx, const TensorRef& weight, const TensorRef& ids,
                                     const TensorRef& out_grad, const TensorRef& weight_grad,
                                     const EmbeddingParams& params) {
  impl::check_embedding_grad(ctx, weight, ids, out_grad, weight_grad, params);
  if (!weight_grad || weight_grad.size() == 0) return 0;
  return impl::SparseRowsMemory(ctx, sparse_gradient(ids, out_grad, weight_grad, params), false).layout.bytes();
}

}  // namespace portops
