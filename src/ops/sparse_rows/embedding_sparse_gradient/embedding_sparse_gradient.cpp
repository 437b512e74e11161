// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/embedding_sparse_gradient/embedding_sparse_gradient.hpp"

#include "core/check/check_indices.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sparse_rows/merge_rows_kernels.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"

#include <array>

namespace portops {
namespace {

impl::SparseRows check(const Context& ctx, const TensorRef& weight, const TensorRef& ids, const TensorRef& out_grad,
                       const TensorRef& rows, const TensorRef& values, const TensorRef& count,
                       const EmbeddingSparseGradientParams& params) {
  impl::check_embedding_sparse_gradient(ctx, weight, ids, out_grad, rows, values, count, params);
  impl::SparseRows sparse =
      impl::make_sparse_rows(out_grad.type(), ids, weight.extent(0), std::array{&out_grad, &values});
  sparse.padding = params.padding_idx;
  if (sparse.padding >= 0) ++sparse.outside;  // count tells of ids outside of the table, not of the padding
  return sparse;
}

}  // namespace

void embedding_sparse_gradient(const Context& ctx, const TensorRef& weight, const TensorRef& ids,
                               const TensorRef& out_grad, const TensorRef& rows, const TensorRef& values,
                               const TensorRef& count, const EmbeddingSparseGradientParams& params) {
  const impl::Region region("portops::embedding_sparse_gradient");
  static const impl::SparseRowsLabels labels("embedding_sparse_gradient");
  const impl::SparseRows sparse = check(ctx, weight, ids, out_grad, rows, values, count, params);
  impl::check_indices("embedding_sparse_gradient", ctx, {"ids", ids}, weight.extent(0), "the rows of weight");
  const impl::NumberedPlaces numbered{static_cast<std::int64_t*>(rows.data()), rows.stride(0),
                                      static_cast<std::int64_t*>(count.data())};
  impl::dispatch(ctx.backend(), out_grad.type(),
                 [&]<Backend B, class T>() { impl::MergeRowsKernels<B, T>::merge(ctx, labels, sparse, numbered); });
}

std::size_t embedding_sparse_gradient_workspace(const Context& ctx, const TensorRef& weight, const TensorRef& ids,
                                                const TensorRef& out_grad, const TensorRef& rows,
                                                const TensorRef& values, const TensorRef& count,
                                                const EmbeddingSparseGradientParams& params) {
  const impl::SparseRows sparse = check(ctx, weight, ids, out_grad, rows, values, count, params);
  return impl::SparseRowsMemory(ctx, sparse, true).layout.bytes();
}

}  // namespace portops
