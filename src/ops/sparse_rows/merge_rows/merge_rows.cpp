// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/merge_rows/merge_rows.hpp"

#include "core/check/check.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/exec/tensor.hpp"
#include "ops/sparse_rows/merge_rows/merge_rows_extents.hpp"
#include "ops/sparse_rows/merge_rows/merge_rows_kernels.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"

#include <array>

namespace portops {
namespace {

using impl::Named;

constexpr std::string_view op = "merge_rows";

impl::SparseRows check_merge_rows(const Context& ctx, const TensorRef& rows, const TensorRef& values,
                                  const TensorRef& out_rows, const TensorRef& out_values, const TensorRef& count,
                                  const MergeRowsParams& params) {
  impl::check_index_input(op, ctx, {"rows", rows});
  impl::check_input(op, ctx, {"values", values}, values.type(), "values");
  impl::merge_rows_extents(op, rows, values, params);
  impl::check_index_output(op, ctx, {"out_rows", out_rows}, rows.extents(), "the extents of rows");
  impl::check_output(op, ctx, {"out_values", out_values}, values.type(), "values", values.extents(),
                     "the extents of values");
  impl::check_index_output(op, ctx, {"count", count}, {}, "one number");
  const std::array tensors{Named{"rows", rows}, Named{"values", values}, Named{"out_rows", out_rows},
                           Named{"out_values", out_values}, Named{"count", count}};
  for (std::size_t output = 2; output < tensors.size(); ++output) {
    impl::check_no_overlap(op, tensors[output], std::span(tensors).first(output));
  }
  return impl::make_sparse_rows(values.type(), rows, params.height, std::array{&values, &out_values});
}

}  // namespace

void merge_rows(const Context& ctx, const TensorRef& rows, const TensorRef& values, const TensorRef& out_rows,
                const TensorRef& out_values, const TensorRef& count, const MergeRowsParams& params) {
  const impl::Region region("portops::merge_rows");
  const impl::SparseRows sparse = check_merge_rows(ctx, rows, values, out_rows, out_values, count, params);
  impl::check_places(op, ctx, sparse);
  const impl::NumberedPlaces numbered{static_cast<std::int64_t*>(out_rows.data()), out_rows.stride(0),
                                      static_cast<std::int64_t*>(count.data())};
  impl::dispatch(ctx.backend(), values.type(),
                 [&]<Backend B, class T>() { impl::MergeRowsKernels<B, T>::merge(ctx, sparse, numbered); });
}

std::size_t merge_rows_workspace(const Context& ctx, const TensorRef& rows, const TensorRef& values,
                                 const TensorRef& out_rows, const TensorRef& out_values, const TensorRef& count,
                                 const MergeRowsParams& params) {
  const impl::SparseRows sparse = check_merge_rows(ctx, rows, values, out_rows, out_values, count, params);
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
