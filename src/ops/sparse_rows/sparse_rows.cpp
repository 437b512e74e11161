// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_rows.hpp"

#include "core/check/check.hpp"
#include "core/lanes/tile_shape.hpp"

namespace portops::impl {
namespace {

/// Whether an axis and the one before it are one to all operands.
bool merges(const SparseRows& sparse, int axis, std::span<const TensorRef* const> tensors, int before) {
  for (int k = 0; k < sparse.operands; ++k) {
    const TensorRef& tensor = *tensors[static_cast<std::size_t>(k)];
    if (tensor.stride(before) != tensor.stride(axis) * tensor.extent(axis)) return false;
  }
  return true;
}

/// Axes of extent 1 count for nothing. From the last axis on, so that a merged axis keeps the stride of its fastest.
void set_column_axes(SparseRows& sparse, std::span<const TensorRef* const> tensors) {
  const Extents& extents = tensors.front()->extents();
  std::array<int, max_rank> fastest{};  // the last axis of each merged one
  int rank = 0;
  int previous = 0;
  for (int axis = extents.rank() - 1; axis > 0; --axis) {
    sparse.columns *= extents[axis];
    if (extents[axis] == 1) continue;
    if (rank > 0 && merges(sparse, previous, tensors, axis)) {
      sparse.column_extent[static_cast<std::size_t>(rank - 1)] *= extents[axis];
    } else {
      fastest[static_cast<std::size_t>(rank)] = axis;
      sparse.column_extent[static_cast<std::size_t>(rank++)] = extents[axis];
    }
    previous = axis;
  }
  sparse.column_rank = rank;
  for (int k = 0; k < sparse.operands; ++k) {
    for (int axis = 0; axis < rank; ++axis) {
      sparse.operand[static_cast<std::size_t>(k)].column_stride[static_cast<std::size_t>(axis)] =
          tensors[static_cast<std::size_t>(k)]->stride(fastest[static_cast<std::size_t>(axis)]);
    }
  }
}

}  // namespace

SparseRows make_sparse_rows(ElementType type, const TensorRef& rows, std::int64_t height,
                            std::span<const TensorRef* const> tensors) {
  SparseRows sparse;
  sparse.type = type;
  sparse.n = rows.extent(0);
  sparse.height = height;
  sparse.places = static_cast<const std::int64_t*>(rows.data());
  sparse.places_stride = rows.stride(0);
  sparse.operands = static_cast<int>(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    sparse.operand[k].data = static_cast<std::byte*>(tensors[k]->data());
    sparse.operand[k].row_stride = tensors[k]->stride(0);
  }
  set_column_axes(sparse, tensors);
  return sparse;
}

bool SparseRows::has_packs(Backend backend) const {
  if (column_rank > 1) return false;
  if (backend != Backend::cuda) return true;
  const auto size = static_cast<std::int64_t>(size_of(type));
  if (column_rank == 0 || columns * size % gpu_pack_bytes != 0) return false;
  for (int k = 0; k < operands; ++k) {
    const SparseOperand& its = operand[static_cast<std::size_t>(k)];
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(its.data) % gpu_pack_bytes == 0 && its.row_stride * size % gpu_pack_bytes == 0;
    if (its.column_stride[0] != 1 || !aligned) return false;
  }
  return true;
}

void check_places(std::string_view op, const Context& ctx, const SparseRows& sparse) {
  if (ctx.backend() == Backend::cuda) return;
  const std::int64_t n = sparse.merged() && *sparse.count >= 0 ? std::min(*sparse.count, sparse.n) : sparse.n;
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t place = sparse.places[i * sparse.places_stride];
    if (sparse.merged() && place <= before && place >= 0) {
      fail("portops::", op, ": rows[", i, "] is ", place, " after ", before,
           ", expected ascending rows (count is given)");
    }
    before = place;
    if (place >= 0 && place < sparse.height) continue;
    fail("portops::", op, ": rows[", i, "] is ", place, ", expected at least 0 and less than ", sparse.height,
         " (the height)");
  }
}

SumLevels::SumLevels(const SparseRows& sparse) {
  rows[0] = sparse.n;
  count = 1;
  if (sparse.merged()) return;  // no two rows have one place
  for (; chunks(count - 1) > 1; ++count) rows[static_cast<std::size_t>(count)] = 2 * chunks(count - 1);
}

std::int64_t SumLevels::chunks(int level) const {
  return ceil_div(rows[static_cast<std::size_t>(level)], level == 0 ? SparseRows::chunk : SparseRows::crossing_chunk);
}

}  // namespace portops::impl
