// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_update.hpp"

#include "core/types/overlap.hpp"
#include "ops/sparse_rows/sparse_rows_memory.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace portops::impl {
namespace {

void check_gradient(std::string_view op, const Context& ctx, const SparseGradient& gradient, const Named& table) {
  check_index_input(op, ctx, {"rows", gradient.rows});
  check_input(op, ctx, {"values", gradient.values}, table.tensor.type(), table.name);
  if (gradient.rows.rank() != 1) {
    fail("portops::", op, ": rows has extents ", gradient.rows.extents().to_string(), ", expected rank 1");
  }
  if (table.tensor.rank() == 0) fail("portops::", op, ": ", table.name, " has extents [], expected rank 1 or more");
  Extents expected = table.tensor.extents();
  expected[0] = gradient.rows.extent(0);
  check_extents(op, {"values", gradient.values}, expected, "a row of " + std::string(table.name) + " for each of rows");
  if (!gradient.count) return;
  check_index_input(op, ctx, {"count", gradient.count});
  if (gradient.count.rank() != 0) {
    fail("portops::", op, ": count has extents ", gradient.count.extents().to_string(), ", expected []");
  }
}

void check_tensors(std::string_view op, const Context& ctx, std::span<const UpdatedTensor> tensors) {
  const Named& table = tensors.front().before;
  const std::string origin = "the extents of " + std::string(table.name);
  for (const UpdatedTensor& its : tensors) {
    check_input(op, ctx, its.before, table.tensor.type(), table.name);
    check_extents(op, its.before, table.tensor.extents(), origin);
    check_output(op, ctx, its.after, table.tensor.type(), table.name, table.tensor.extents(), origin);
    check_in_place(op, its.after, its.before);
  }
}

void check_overlaps(std::string_view op, const SparseGradient& gradient, std::span<const UpdatedTensor> tensors) {
  const std::array inputs{Named{"rows", gradient.rows}, Named{"values", gradient.values},
                          Named{"count", gradient.count}};
  for (const UpdatedTensor& its : tensors) {
    check_no_overlap(op, its.after, inputs);
    for (const UpdatedTensor& other : tensors) {
      if (&other == &its) continue;
      const std::array others{other.before, other.after};
      check_no_overlap(op, its.after, others);
    }
  }
}

}  // namespace

SparseUpdate check_sparse_update(std::string_view op, const Context& ctx, const SparseGradient& gradient,
                                 std::span<const UpdatedTensor> tensors) {
  const TensorRef& table = tensors.front().before.tensor;
  check_input(op, ctx, tensors.front().before, table.type(), tensors.front().before.name);
  check_gradient(op, ctx, gradient, tensors.front().before);
  check_tensors(op, ctx, tensors);
  check_overlaps(op, gradient, tensors);

  SparseUpdate update;
  std::vector<const TensorRef*> operands{&gradient.values};
  for (const UpdatedTensor& its : tensors) operands.push_back(&its.after.tensor);
  update.sparse = make_sparse_rows(table.type(), gradient.rows, table.extent(0), operands);
  update.sparse.count = static_cast<const std::int64_t*>(gradient.count.data());
  for (const UpdatedTensor& its : tensors) {
    if (coincide(its.before.tensor, its.after.tensor)) continue;
    const TensorOrNumber before = its.before.tensor;
    update.copies.push_back(
        make_loop(table.type(), table.extents(), std::array{&before}, std::array{&its.after.tensor}));
  }
  check_places(op, ctx, update.sparse);
  return update;
}

std::size_t sparse_update_workspace(const Context& ctx, const SparseUpdate& update) {
  return SparseRowsMemory(ctx, update.sparse, false).layout.bytes();
}

}  // namespace portops::impl
