// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse_rows/sparse_rows.hpp"

#include "core/check/check.hpp"
#include "core/lanes/tile_shape.hpp"

#include <limits>
#include <numeric>

namespace portops::impl {
namespace {

/// Axes [begin, end) of the first tensor, and as many of the others, `shift` further on for each: those of extent 1
/// count for nothing, and neighbours that are one axis to all tensors are one. From the last on, so that a merged axis
/// keeps the stride of its fastest.
struct MergedAxes {
  MergedAxes(std::span<const TensorRef* const> tensors, int begin, int end, std::span<const int> shift) {
    const auto merges = [&](int axis, int before) {
      for (std::size_t k = 0; k < tensors.size(); ++k) {
        const TensorRef& tensor = *tensors[k];
        if (tensor.stride(before + shift[k]) != tensor.stride(axis + shift[k]) * tensor.extent(axis + shift[k]))
          return false;
      }
      return true;
    };
    int previous = 0;
    for (int axis = end - 1; axis >= begin; --axis) {
      const std::int64_t its = tensors.front()->extent(axis);
      if (its == 1) continue;
      if (rank > 0 && merges(previous, axis)) {
        extent[static_cast<std::size_t>(rank - 1)] *= its;
      } else {
        fastest[static_cast<std::size_t>(rank)] = axis;
        extent[static_cast<std::size_t>(rank++)] = its;
      }
      previous = axis;
    }
  }

  int rank = 0;
  std::array<std::int64_t, max_rank> extent{};  ///< the fastest first
  std::array<int, max_rank> fastest{};          ///< the last axis of each
};

void set_column_axes(SparseRows& sparse, std::span<const TensorRef* const> tensors, int first) {
  const Extents& extents = tensors.front()->extents();
  std::array<int, SparseRows::most_operands> shift{};
  for (std::size_t k = 1; k < tensors.size(); ++k) shift[k] = tensors[k]->rank() - extents.rank();
  const MergedAxes axes(tensors, first, extents.rank(), shift);
  for (int axis = first; axis < extents.rank(); ++axis) sparse.columns *= extents[axis];
  sparse.column_rank = axes.rank;
  sparse.column_extent = axes.extent;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes.rank); ++axis) {
      sparse.operand[k].column_stride[axis] = tensors[k]->stride(axes.fastest[axis] + shift[k]);
    }
  }
}

}  // namespace

RowAxes make_row_axes(const TensorRef& places, const TensorRef& rows) {
  const std::array tensors{&places, &rows};
  const MergedAxes merged(tensors, 0, places.rank(), std::array{0, 0});
  RowAxes axes;
  axes.rank = merged.rank;
  for (int axis = 0; axis < merged.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    axes.extent[axis] = merged.extent[at];
    axes.place_stride[axis] = places.stride(merged.fastest[at]);
    axes.row_stride[axis] = rows.stride(merged.fastest[at]);
  }
  return axes;
}

SparseRows make_sparse_rows(ElementType type, const TensorRef& rows, std::int64_t height,
                            std::span<const TensorRef* const> tensors) {
  SparseRows sparse;
  sparse.type = type;
  sparse.n = rows.size();
  sparse.height = sparse.outside = height;
  sparse.places = static_cast<const std::int64_t*>(rows.data());
  sparse.operands = static_cast<int>(tensors.size());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    sparse.operand[k].data = static_cast<std::byte*>(tensors[k]->data());
    if (k > 0) sparse.operand[k].row_stride = tensors[k]->stride(0);
  }
  sparse.axes = make_row_axes(rows, *tensors.front());
  std::int64_t& unit = sparse.operand[0].row_stride;
  if (sparse.axes.rank <= 1) {
    unit = sparse.axes.row_stride[0];
    sparse.axes.row_stride[0] = 1;
  } else {
    for (int axis = 0; axis < sparse.axes.rank; ++axis) unit = std::gcd(unit, sparse.axes.row_stride[axis]);
    for (int axis = 0; axis < sparse.axes.rank; ++axis) sparse.axes.row_stride[axis] /= std::max<std::int64_t>(unit, 1);
  }
  set_column_axes(sparse, tensors, rows.rank());
  return sparse;
}

bool SparseRows::narrow() const {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  std::int64_t last = 0;
  for (int axis = 0; axis < axes.rank; ++axis) {
    if (axes.row_stride[axis] < 0 || axes.row_stride[axis] >= most) return false;
    last += (axes.extent[axis] - 1) * axes.row_stride[axis];
    if (last >= most) return false;
  }
  return n < most && outside < std::numeric_limits<std::uint32_t>::max();
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
    const std::int64_t place = sparse.places[i * sparse.axes.place_stride[0]];
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
  if (sparse.is_few() || sparse.merged()) return;  // of merged rows no two have one place
  for (; chunks(count - 1) > 1; ++count) rows[static_cast<std::size_t>(count)] = 2 * chunks(count - 1);
}

std::int64_t SumLevels::chunks(int level) const {
  return ceil_div(rows[static_cast<std::size_t>(level)], level == 0 ? SparseRows::chunk : SparseRows::crossing_chunk);
}

}  // namespace portops::impl
