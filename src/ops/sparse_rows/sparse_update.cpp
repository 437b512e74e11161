// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_update.hpp"

#include "core/check/check.hpp"
#include "core/types/overlap.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"

#include <algorithm>
#include <array>

namespace portops::impl {
namespace {

void check_gradient(std::string_view op, const SparseGradient& gradient, const TensorRef& table) {
  if (gradient.rows.rank() != 1) {
    fail("portops::", op, ": rows has extents ", gradient.rows.extents().to_string(), ", expected rank 1");
  }
  if (table.rank() == 0) fail("portops::", op, ": param has extents [], expected rank 1 or more");
  Extents expected = table.extents();
  expected[0] = gradient.rows.extent(0);
  check_extents(op, {"values", gradient.values}, expected, "a row of param for each of rows");
  if (gradient.count && gradient.count.rank() != 0) {
    fail("portops::", op, ": count has extents ", gradient.count.extents().to_string(), ", expected []");
  }
}

}  // namespace

SparseUpdate make_sparse_update(std::string_view op, const Context& ctx, const SparseGradient& gradient,
                                std::span<const UpdatedTensor> tensors) {
  const TensorRef& table = tensors.front().before;
  check_gradient(op, gradient, table);
  SparseUpdate update;
  std::vector<const TensorRef*> operands{&gradient.values};
  for (const UpdatedTensor& its : tensors) operands.push_back(&its.after);
  update.sparse = make_sparse_rows(table.type(), gradient.rows, table.extent(0), operands);
  update.sparse.count = static_cast<const std::int64_t*>(gradient.count.data());
  for (const UpdatedTensor& its : tensors) {
    if (coincide(its.before, its.after)) continue;
    const TensorOrNumber before = its.before;
    update.copies.push_back(make_loop(table.type(), table.extents(), std::array{&before}, std::array{&its.after}));
  }
  check_places(op, ctx, update.sparse);
  return update;
}

std::size_t sparse_update_workspace(const Context& ctx, const SparseUpdate& update) {
  if (update.in_any_order) return 0;
  return SparseRowsMemory(ctx, update.sparse, false).layout.bytes();
}

}  // namespace portops::impl
