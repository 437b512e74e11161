// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/layer_norm/layer_norm_plan.hpp"

#include "core/check/check.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

namespace portops::impl {
namespace {

constexpr int warp = 32;
/// Rows whose terms are added one after the other in the sums of a column.
constexpr std::int64_t longest_chain_of_rows = 128;
/// The most columns of a row of which a thread adds up every 512th pack.
constexpr std::int64_t longest_shifted_row = std::int64_t{1} << 18;
/// Rows that are enough for a GPU where a team takes one.
constexpr std::int64_t enough_rows = 64;
/// Of a host: rows that are enough for its threads, and columns that stay in a cache of each.
constexpr std::int64_t host_rows = 64, host_columns = 1 << 15, host_rows_of_item = 16;

/// Rows that a team adds up where columns have a kernel of their own: enough teams for a GPU, but not for few rows
/// each.
std::int64_t rows_of_part(const ReducePlan& rows, std::int64_t columns_of_team) {
  constexpr std::int64_t teams = 2048, least = 64, most = 256;
  const std::int64_t parts = ceil_div(teams, ceil_div(rows.columns, columns_of_team));
  return std::clamp(ceil_div(rows.kept, parts), least, most);
}

/// Whether rows are what lies along the plan's columns.
bool has_rows(const ReducePlan& plan) { return plan.direction == Direction::along && plan.runs == 1; }

/// Sees to it that packs of the operands can be read at once: where they are misaligned, a pack is one column. False
/// where columns are no neighbours.
bool can_have_packs(ReducePlan& plan, std::span<const int> operands) {
  const auto are = [&](const auto& property) {
    return std::all_of(operands.begin(), operands.end(), [&](int k) {
      const ReducePlan::Operand& operand = plan.operand[static_cast<std::size_t>(k)];
      return operand.data == nullptr || property(operand);
    });
  };
  if (are([](const auto& operand) { return operand.packs; })) return true;
  if (!are([](const auto& operand) { return operand.column_stride == 1; })) return false;
  plan.pack = 1;
  for (const int k : operands) plan.operand[static_cast<std::size_t>(k)].packs = true;
  return true;
}

using Operands = std::initializer_list<int>;
/// An operand each, and its tensor, if it is given.
using Parameters = std::initializer_list<std::pair<int, TensorRef>>;

/// Whether rows are at equal distances, and suits_operand(operand) holds for them, and suits_parameter(index, type) for
/// the parameters beside them, which have one type.
template <class SuitsOperand, class SuitsParameter>
bool have_rows(const ReducePlan& rows, Operands operands, Parameters parameters, const SuitsOperand& suits_operand,
               const SuitsParameter& suits_parameter) {
  if (rows.kept_rank > 1) return false;
  const auto suits = [&](int k) {
    const ReducePlan::Operand& operand = rows.operand[static_cast<std::size_t>(k)];
    return operand.data == nullptr || suits_operand(operand);
  };
  if (!std::all_of(operands.begin(), operands.end(), suits)) return false;
  std::optional<ElementType> of_parameters;
  for (const auto& [operand, tensor] : parameters) {
    if (!tensor) continue;
    if (of_parameters.value_or(tensor.type()) != tensor.type() || !suits_parameter(operand, tensor.type()))
      return false;
    of_parameters = tensor.type();
  }
  return true;
}

/// Whether packs of the widest access are read and written of rows and parameters.
bool has_wide_rows(const ReducePlan& rows, ElementType type, Operands operands, Parameters parameters) {
  return rows.pack * static_cast<int>(size_of(type)) == reduce_along_pack_bytes &&
         have_rows(
             rows, operands, parameters, [](const ReducePlan::Operand& operand) { return operand.packs; },
             [&](int k, ElementType of_parameter) { return has_side_packs(rows, k, size_of(of_parameter)); });
}

/// Whether rows, which are not too long for it, and parameters are neighbouring columns: then rows can be shifted.
bool has_dense_rows(const ReducePlan& rows, Operands operands, Parameters parameters) {
  const auto is_dense = [](const ReducePlan::Operand& operand) {
    return operand.data == nullptr || operand.column_stride == 1;
  };
  return rows.columns <= longest_shifted_row &&
         have_rows(rows, operands, parameters, is_dense,
                   [&](int k, ElementType) { return is_dense(rows.operand[static_cast<std::size_t>(k)]); });
}

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::size_t partials_of_moments(const LayerNormTensors& t, Backend backend) {
  const Loop loop = make_norm_loop(t.x, std::array{t.mean, t.inv_std}, t.normalized);
  return norm_partials(make_norm_plan(loop, 1, backend), t.x.type(), numbers_of_moments);
}

std::size_t partials_of_gradient(const LayerNormTensors& t, const std::array<TensorRef, 7>& others,
                                 const AxisSet& reduced, Backend backend) {
  const NormPlan plan = make_norm_plan(make_norm_loop(t.x, others, reduced), 2, backend);
  return norm_partials(plan, t.x.type(), numbers_of_gradient);
}

/// Of the columns' sums by NormKernels.
std::size_t partials_of_columns(const LayerNormTensors& t, Backend backend) {
  const std::array others{t.out_grad, t.mean, t.inv_std, TensorRef(), TensorRef(), t.scale_grad, t.bias_grad};
  return partials_of_gradient(t, others, t.others, backend);
}

}  // namespace

LayerNormPlan make_layer_norm_plan(const LayerNormTensors& t, Backend backend) {
  LayerNormPlan plan;
  plan.rows = make_uncut_plan(make_norm_loop(t.x, std::array{t.out, t.mean, t.inv_std, t.scale, t.bias}, t.normalized));
  if (!has_rows(plan.rows)) return plan;
  if (backend != Backend::cuda) {
    plan.whole = plan.rows.columns <= host_columns || plan.rows.kept >= host_rows;
    return plan;
  }
  const bool is_wide =
      has_wide_rows(plan.rows, t.x.type(), {row_x, row_out}, {{row_scale, t.scale}, {row_bias, t.bias}});
  const bool is_dense = has_dense_rows(plan.rows, {row_x, row_out}, {{row_scale, t.scale}, {row_bias, t.bias}});
  const bool has_packs = can_have_packs(plan.rows, std::array{row_x, row_out});
  const std::int64_t packs = plan.rows.columns / plan.rows.pack;
  const auto element_bytes = static_cast<int>(size_of(t.x.type()));
  const int batch = layer_norm_batch(plan.rows.pack * element_bytes, element_bytes);
  plan.lanes = power_of_two_at_least(ceil_div(packs, layer_norm_few_packs), warp);
  if (packs > std::int64_t{layer_norm_few_packs} * warp) {
    plan.lanes = std::max(power_of_two_at_least(ceil_div(packs, batch), layer_norm_most_lanes), warp);
  }
  const bool fits = has_packs && packs <= std::int64_t{batch} * plan.lanes;
  const int widest = reduce_along_pack_bytes / element_bytes;
  const std::int64_t of_lane =
      ceil_div(shifted_packs(plan.rows.columns, widest), layer_norm_batch(reduce_along_pack_bytes, element_bytes));
  if (fits && is_wide) {
    plan.kept = KeptRow::wide;
  } else if (is_dense && of_lane <= layer_norm_shifted_lanes(element_bytes)) {
    plan.kept = KeptRow::shifted;
    plan.lanes = power_of_two_at_least(of_lane, layer_norm_shifted_lanes(element_bytes));
  } else if (fits) {
    plan.kept = KeptRow::packs;
  } else {
    plan.lanes = std::min(plan.lanes, norm_most_threads);
  }
  plan.whole = plan.kept != KeptRow::none || plan.rows.kept >= gpu_teams_at_once;
  return plan;
}

LayerNormPlan make_layer_norm_grad_plan(const LayerNormTensors& t, Backend backend) {
  LayerNormPlan plan;
  const std::array others{t.out_grad, t.mean, t.inv_std, t.scale, t.x_grad, t.scale_grad, t.bias_grad};
  plan.rows = make_uncut_plan(make_norm_loop(t.x, others, t.normalized));
  if (!has_rows(plan.rows)) return plan;
  if (backend != Backend::cuda) {
    plan.whole = plan.rows.columns <= host_columns && plan.rows.kept >= host_rows;
    const std::int64_t items = std::max(std::min<std::int64_t>(256, ceil_div(plan.rows.kept, host_rows_of_item)),
                                        ceil_div(plan.rows.kept, longest_chain_of_rows));
    plan.rows_of_team = ceil_div(plan.rows.kept, items);
    plan.teams = ceil_div(plan.rows.kept, plan.rows_of_team);
    return plan;
  }
  const auto element_bytes = static_cast<int>(size_of(t.x.type()));
  const Operands operands = {row_x, row_out_grad, row_x_grad};
  plan.wide = has_wide_rows(plan.rows, t.x.type(), operands, {{row_scale, t.scale}});
  const int most_threads = plan.wide ? layer_norm_grad_most_threads(element_bytes) : norm_most_threads;
  // A pass over narrow packs is quicker than two over wide ones as long as rows are short.
  constexpr std::int64_t few_columns = 32, short_row = 256;
  const bool is_short = plan.rows.columns <= few_columns || (plan.rows.pack > 1 && plan.rows.columns < short_row);
  const bool fits = plan.rows.columns <= most_threads * norm_values(element_bytes);
  if (!(fits && (plan.wide || is_short)) && has_dense_rows(plan.rows, operands, {{row_scale, t.scale}})) {
    plan.twice = true;
    constexpr int packs_of_lane = 4;
    const int widest = reduce_along_pack_bytes / element_bytes;
    plan.lanes =
        power_of_two_at_least(ceil_div(shifted_packs(plan.rows.columns, widest), packs_of_lane), layer_norm_most_lanes);
    const int columns = plan.wide ? widest : layer_norm_columns_apart;
    plan.rows_of_team = rows_of_part(plan.rows, layer_norm_column_lanes * columns);
    plan.whole = plan.rows.kept >= enough_rows || plan.rows.kept * plan.rows.columns <= 1 << 18;
    return plan;
  }
  const bool has_packs = can_have_packs(plan.rows, std::array{row_x, row_out_grad, row_x_grad});
  const std::int64_t packs = plan.rows.columns / plan.rows.pack;
  const int batch = std::max(norm_values(element_bytes) / plan.rows.pack, 1);
  plan.lanes = power_of_two_at_least(ceil_div(packs, batch), most_threads);
  const bool keeps = has_packs && packs <= std::int64_t{batch} * plan.lanes;
  const int threads = std::max(plan.lanes, norm_most_threads);
  const std::int64_t steps = ceil_div(plan.rows.kept, threads / plan.lanes);
  const std::int64_t teams_at_once = gpu_teams_at_once * norm_most_threads / threads;
  plan.teams = std::min(steps, std::max(teams_at_once, ceil_div(steps, longest_chain_of_rows)));
  // Few rows of many columns each would leave most of a GPU without work.
  plan.whole = keeps && (steps >= gpu_teams_at_once / 2 || plan.rows.kept * plan.rows.columns <= 1 << 18);
  return plan;
}

std::size_t layer_norm_memory(const LayerNormTensors& t, Backend backend) {
  if (t.x.size() == 0 || make_layer_norm_plan(t, backend).whole) return 0;
  return partials_of_moments(t, backend);
}

std::size_t layer_norm_means_memory(const LayerNormTensors& t) {
  return aligned(static_cast<std::size_t>(2 * t.mean.size()) * size_of(sum_type(t.x.type())));
}

std::size_t layer_norm_grad_memory(const LayerNormTensors& t, Backend backend) {
  if (t.x.size() == 0 || !(t.x_grad || t.scale_grad || t.bias_grad)) return 0;
  const LayerNormPlan plan = make_layer_norm_grad_plan(t, backend);
  const bool sums = t.scale_grad || t.bias_grad;
  const std::size_t number = size_of(sum_type(t.x.type()));
  if (plan.whole) {
    const std::int64_t of_columns = sums ? plan.parts() * plan.rows.columns : 0;
    const std::int64_t of_rows = plan.twice && t.x_grad ? plan.rows.kept : 0;
    return static_cast<std::size_t>(of_columns + of_rows) * 2 * number;
  }
  const TensorRef means = TensorRef::without_data(sum_type(t.x.type()), t.mean.extents());
  std::size_t partials = 0;
  if (t.x_grad) {
    partials = partials_of_gradient(t, {t.out_grad, t.mean, t.inv_std, t.scale, means}, t.normalized, backend);
  }
  if (sums) partials = std::max(partials, partials_of_columns(t, backend));
  return layer_norm_means_memory(t) + partials;
}

}  // namespace portops::impl
