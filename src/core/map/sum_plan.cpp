// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/map/sum_plan.hpp"

#include "core/map/flat_plan.hpp"

#include <algorithm>
#include <utility>

namespace portops::impl {
namespace {

/// A sum of more partial sums than this is done in two steps, to give more teams a share in it. Where neighbours belong
/// to different results, fewer threads of a team share a sum.
constexpr std::int64_t longest_sum(const SumPlan& sum) { return sum.kept_is_fastest ? 1024 : 8192; }
constexpr std::int64_t chunk_of_long_sum = 256;

std::pair<SumPlan, SumPlan> in_two_steps(const SumPlan& sum, std::int64_t& partials) {
  SumPlan first = sum;
  first.chunk = chunk_of_long_sum;
  first.parts = ceil_div(sum.summed, first.chunk);
  first.out = nullptr;
  first.out_partial_at = partials;
  partials += ceil_div(first.parts * sum.kept, 32) * 32;

  SumPlan second = sum;
  second.partial_at = first.out_partial_at;
  std::int64_t stride = 1;
  for (int axis = 0; axis < sum.kept_rank; ++axis) {
    second.kept_stride[axis] = stride;
    stride *= sum.kept_extent[axis];
  }
  second.summed_rank = 1;
  second.summed = second.chunk = second.summed_extent[0] = first.parts;
  second.summed_stride[0] = sum.kept;
  second.kept_is_fastest = true;
  return {first, second};
}

}  // namespace

std::vector<SumPlan> make_empty_sum_plans(const Loop& loop) {
  std::vector<SumPlan> result;
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    const LoopOperand& output = loop.operand[k];
    if (output.data == nullptr) continue;
    SumPlan sum;
    sum.summed = 0;
    sum.out = output.data;
    for (int axis = 0; axis < loop.rank; ++axis) {
      if (output.stride[axis] == 0) continue;
      sum.kept_extent[sum.kept_rank] = loop.extent[axis];
      sum.out_stride[sum.kept_rank++] = output.stride[axis];
      sum.kept *= loop.extent[axis];
    }
    if (sum.kept > 0) result.push_back(sum);
  }
  return result;
}

std::vector<SumPlan> make_sum_plans(const Loop& loop, const TilePlan& plan) {
  std::int64_t partials = plan.partials;
  std::vector<SumPlan> result;
  for (int k = loop.inputs; k < loop.operands(); ++k) {
    const TileOperand& output = plan.operand[k];
    if (output.data == nullptr || output.direct) continue;
    SumPlan sum;
    sum.partial_at = output.partial_at;
    sum.out = output.data;
    // From the fastest axis of the partial array to the slowest.
    std::int64_t stride = 1;
    const auto add_axis = [&](std::int64_t extent, std::int64_t out_stride) {
      if (out_stride != 0) {
        sum.kept_extent[sum.kept_rank] = extent;
        sum.kept_stride[sum.kept_rank] = stride;
        sum.out_stride[sum.kept_rank++] = out_stride;
        sum.kept *= extent;
      } else {
        sum.summed_extent[sum.summed_rank] = extent;
        sum.summed_stride[sum.summed_rank++] = stride;
        sum.summed *= extent;
      }
      stride *= extent;
    };
    sum.kept_is_fastest = output.column_stride != 0;
    if (output.period != 0) {
      add_axis(output.period, output.column_stride);
      add_axis(plan.columns / output.period, 0);
    } else if (output.column_stride != 0) {
      add_axis(plan.columns, output.column_stride);
    } else {
      add_axis(plan.column_blocks, 0);
    }
    if (output.sum == TileSum::rows || output.sum == TileSum::both) {
      add_axis(plan.row_blocks, 0);
    } else {
      for (int axis = plan.outer_rank + plan.row_rank - 1; axis >= plan.outer_rank; --axis) {
        add_axis(plan.extent[axis], output.stride[axis]);
      }
    }
    for (int axis = plan.outer_rank - 1; axis >= 0; --axis) add_axis(plan.extent[axis], output.stride[axis]);
    sum.chunk = sum.summed;
    if (sum.summed > longest_sum(sum)) {
      const auto [first, second] = in_two_steps(sum, partials);
      result.push_back(first);
      result.push_back(second);
    } else {
      result.push_back(sum);
    }
  }
  return result;
}

std::int64_t partial_elements(const TilePlan& plan, std::span<const SumPlan> sums) {
  std::int64_t result = plan.partials;
  for (const SumPlan& sum : sums) {
    if (sum.out == nullptr) result = std::max(result, sum.out_partial_at + sum.parts * sum.kept);
  }
  return result;
}

std::size_t map_workspace(const Loop& loop, Backend backend) {
  if (loop.size() == 0 || is_flat(loop, backend)) return 0;
  const std::size_t bytes = loop.type == ElementType::f64 ? 8 : 4;
  const TilePlan plan = make_tile_plan(loop, backend);
  return static_cast<std::size_t>(partial_elements(plan, make_sum_plans(loop, plan))) * bytes;
}

}  // namespace portops::impl
