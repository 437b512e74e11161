// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/layer_norm/layer_norm_rules.hpp"

#include "core/types/fail.hpp"

namespace portops::impl {

LayerNormExtents layer_norm_extents(std::string_view op, const TensorRef& x, const LayerNormParams& params) {
  const std::int64_t axis = params.begin_norm_axis, rank = x.rank();
  if (rank == 0) fail("portops::", op, ": x has extents [], expected one axis or more");
  if (axis < -rank || axis >= rank) {
    fail("portops::", op, ": begin_norm_axis is ", axis, ", expected ", -rank, " to ", rank - 1, " (x has rank ", rank,
         ")");
  }
  LayerNormExtents result;
  result.first = static_cast<int>(axis < 0 ? axis + rank : axis);
  const std::span<const std::int64_t> extents(x.extents().begin(), x.extents().end());
  const auto first = static_cast<std::size_t>(result.first);
  result.scale = {Extents(extents.subspan(first)), "those of the normalised axes of x"};
  result.mean = {Extents(extents.first(first)), "those of the other axes of x"};
  result.bias = result.scale;
  result.inv_std = result.mean;
  return result;
}

}  // namespace portops::impl
