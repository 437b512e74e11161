// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/normalization/norm_plan.hpp"

#include <cstddef>

namespace portops::impl {

/// The tensors of a call, all with the axes of x; empty those that are not given or wanted.
struct LayerNormTensors {
  TensorRef x, out, mean, inv_std, scale, bias;  ///< of layer_norm, and the first of its gradient, besides
  TensorRef out_grad, x_grad, scale_grad, bias_grad;
  AxisSet normalized{};
  AxisSet others{};
  double epsilon = 0.0;
};

/// The operands of the kernels that take whole rows, by their places in the plan.
inline constexpr int row_x = 0, row_out = 1, row_mean = 2, row_inv_std = 3, row_scale = 4, row_bias = 5;
inline constexpr int row_out_grad = 1, row_x_grad = 5, row_scale_grad = 6, row_bias_grad = 7;

/// What a GPU's thread has in registers of a row.
enum class KeptRow : std::int32_t {
  none,    ///< a batch after the other: the row is read twice
  packs,   ///< some packs: as many as layer_norm_batch says
  wide,    ///< the same, packs of the widest access, of rows at equal distances, and so are those of scale and bias
  shifted  ///< packs of the widest access, of rows at equal distances that begin between two of them: ShiftedRow
};

/// Rows that one group of threads, or one thread of a host, normalises from its first element to its last.
struct LayerNormPlan {
  ReducePlan rows;
  bool whole = false;  ///< else the steps of NormKernels do it
  int lanes = 1;       ///< of a GPU's group
  KeptRow kept = KeptRow::none;
  /// Of the gradient: whether rows are as KeptRow::wide has them.
  bool wide = false;
  /// And whether they are read twice, by LayerNormGradMeans and LayerNormGradColumns, the latter part by part; else
  /// rows are shared out to teams or items, each of which leaves sums of the columns.
  bool twice = false;
  std::int64_t teams = 1;
  std::int64_t rows_of_team = 1;  ///< of a host's item, or of a part

  /// That leave sums of each column.
  std::int64_t parts() const { return twice ? ceil_div(rows.kept, rows_of_team) : teams; }
};

/// Packs of a row that a GPU's thread keeps in registers: 128 bytes of the numbers that they become.
PORTOPS_FUNCTION constexpr int layer_norm_batch(int pack_bytes, int element_bytes) {
  return pack_bytes > 4 ? (element_bytes == 2 ? 64 : 128) / pack_bytes : 16;
}
/// Those of a short row, which leave room for more threads.
inline constexpr int layer_norm_few_packs = 4;
/// The most threads that share a row which they keep: more would have too few registers each.
inline constexpr int layer_norm_most_lanes = 512;
/// But for those of the longest rows, which would be read twice.
PORTOPS_FUNCTION constexpr int layer_norm_shifted_lanes(int element_bytes) {
  return element_bytes == 8 ? layer_norm_most_lanes : 2 * layer_norm_most_lanes;
}
/// Those that share one in the gradient and keep the sums of its columns: with a row of theirs on its way to scratch,
/// for which more threads of f32 and f64 have no room.
PORTOPS_FUNCTION constexpr int layer_norm_grad_most_threads(int element_bytes) {
  return element_bytes == 2 ? 2 * norm_most_threads : norm_most_threads;
}
/// The threads side by side of a team that walks down columns, and the columns of each where they are no pack.
inline constexpr int layer_norm_column_lanes = 32, layer_norm_columns_apart = 4;

LayerNormPlan make_layer_norm_plan(const LayerNormTensors& tensors, Backend backend);
LayerNormPlan make_layer_norm_grad_plan(const LayerNormTensors& tensors, Backend backend);

/// Bytes of workspace.
std::size_t layer_norm_memory(const LayerNormTensors& tensors, Backend backend);
std::size_t layer_norm_grad_memory(const LayerNormTensors& tensors, Backend backend);
/// Those at the front of it that hold the means of a gradient's sums, where rows are not taken whole.
std::size_t layer_norm_means_memory(const LayerNormTensors& tensors);

}  // namespace portops::impl
