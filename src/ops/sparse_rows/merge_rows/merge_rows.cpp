// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/merge_rows/merge_rows.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/exec/tensor.hpp"
#include "generated/checks.hpp"
#include "ops/sparse_rows/merge_rows_kernels.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"

#include <array>

namespace portops {
namespace {

impl::SparseRows check(const Context& ctx, const TensorRef& rows, const TensorRef& values, const TensorRef& out_rows,
                       const TensorRef& out_values, const TensorRef& count, const MergeRowsParams& params) {
  impl::check_merge_rows(ctx, rows, values, out_rows, out_values, count, params);
  return impl::make_sparse_rows(values.type(), rows, params.height, std::array{&values, &out_values});
}

}  // namespace

void merge_rows(const Context& ctx, const TensorRef& rows, const TensorRef& values, const TensorRef& out_rows,
                const TensorRef& out_values, const TensorRef& count, const MergeRowsParams& params) {
  const impl::Region region("portops::merge_rows");
  static const impl::SparseRowsLabels labels("merge_rows");
  const impl::SparseRows sparse = check(ctx, rows, values, out_rows, out_values, count, params);
  impl::check_places("merge_rows", ctx, sparse);
  const impl::NumberedPlaces numbered{static_cast<std::int64_t*>(out_rows.data()), out_rows.stride(0),
                                      static_cast<std::int64_t*>(count.data())};
  impl::dispatch(ctx.backend(), values.type(),
                 [&]<Backend B, class T>() { impl::MergeRowsKernels<B, T>::merge(ctx, labels, sparse, numbered); });
}

std::size_t merge_rows_workspace(const Context& ctx, const TensorRef& rows, const TensorRef& values,
                                 const TensorRef& out_rows, const TensorRef& out_values, const TensorRef& count,
                                 const MergeRowsParams& params) {
  const impl::SparseRows sparse = check(ctx, rows, values, out_rows, out_values, count, params);
  return impl::SparseRowsMemory(ctx, sparse, true).layout.bytes();
}

std::int64_t merged_count(const Context& ctx, const TensorRef& count) {
  const impl::Region region("portops::merged_count");
  if (!count || count.type() != ElementType::i64 || count.rank() != 0) {
    impl::fail("portops::merged_count: expected a tensor of i64 of extents [], as merge_rows writes it");
  }
  const Tensor host(ElementType::i64, {});
  copy(ctx, count, host);
  ctx.fence();
  const std::int64_t value = *host.data<std::int64_t>();
  if (value < 0) {
    impl::fail("portops::merged_count: rows[", -1 - value, "] is not a row of the table, expected at least 0 and less ",
               "than the height");
  }
  return value;
}

}  // namespace portops
