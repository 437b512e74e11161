// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/embedding/embedding.hpp"

#include "core/copy/copy_plan.hpp"
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

/// Throws Error where the host reads ids and one of them is no row of the table.
void check_ids(std::string_view op, const Context& ctx, const TensorRef& ids, std::int64_t rows) {
  if (ctx.backend() == Backend::cuda) return;
  const std::int64_t size = ids.size();
  if (size == 0) return;
  const impl::StridedAxes axes = impl::merged_axes(ids);
  const auto is_row = [&](std::int64_t id) {
    return static_cast<std::uint64_t>(id) < static_cast<std::uint64_t>(rows);
  };
  const std::int64_t run = axes.rank > 0 ? axes.extent[static_cast<std::size_t>(axes.rank - 1)] : 1;
  const std::int64_t step = axes.rank > 0 ? axes.stride[static_cast<std::size_t>(axes.rank - 1)] : 0;
  for (std::int64_t first = 0; first < size; first += run) {
    const auto* from = static_cast<const std::int64_t*>(ids.data());
    std::int64_t outer = first / run;
    for (int axis = axes.rank - 2; axis >= 0; --axis) {
      const auto at = static_cast<std::size_t>(axis);
      from += outer % axes.extent[at] * axes.stride[at];
      outer /= axes.extent[at];
    }
    bool all_are = true;
    for (std::int64_t i = 0; i < run; ++i) all_are &= is_row(from[i * step]);
    if (all_are) continue;
    std::int64_t i = 0;
    while (is_row(from[i * step])) ++i;
    Extents index = ids.extents();
    std::int64_t rest = first + i;
    for (int axis = ids.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % ids.extent(axis);
      rest /= ids.extent(axis);
    }
    impl::fail("portops::", op, ": ids", index.to_string(), " is ", from[i * step],
               ", expected at least 0 and less than ", rows, " (the rows of weight)");
  }
}

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
  check_ids("embedding", ctx, ids, weight.extent(0));
  if (out.size() == 0) return;
  impl::gather_rows(ctx, impl::make_gather_plan(weight, ids, out));
}

void embedding_grad(const Context& ctx, const TensorRef& weight, const TensorRef& ids, const TensorRef& out_grad,
                    const TensorRef& weight_grad, const EmbeddingParams& params) {
  const impl::Region region("portops::embedding_grad");
  impl::check_embedding_grad(ctx, weight, ids, out_grad, weight_grad, params);
  check_ids("embedding_grad", ctx, ids, weight.extent(0));
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
