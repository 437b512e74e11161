// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/norm_plan.hpp"

#include "core/lanes/gpu_teams.hpp"
#include "core/lanes/power_of_two.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace portops::impl {
namespace {

/// Teams that keep a GPU busy until the last one: results are cut into parts where there are fewer.
constexpr std::int64_t enough_teams = 1024, wanted_teams = 2048;
constexpr int warp = 32;

/// Whether images, `least_images` or more so that what columns leave is little beside them, consist of planes that
/// follow each other in memory and would be read by narrow packs, or in pieces of less than a few lines of memory.
bool has_short_planes(const ReducePlan& rows, ElementType type, int inputs) {
  constexpr std::int64_t least_images = 32, long_plane_bytes = 512;
  if (rows.direction != Direction::along || rows.kept_rank != 1 || rows.rank != 2 || rows.runs < least_images) {
    return false;
  }
  if (!are_steady(rows, inputs, max_operands - inputs)) return false;
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  if (rows.pack * bytes == reduce_along_pack_bytes && rows.columns * bytes >= long_plane_bytes) return false;
  return std::all_of(rows.operand.begin(), rows.operand.begin() + inputs, [&](const ReducePlan::Operand& operand) {
    return operand.column_stride == 1 && operand.stride[0] == rows.columns;
  });
}

/// As a reduction down, in as many parts as its teams are at work at once, of whole batches of rows but the last one,
/// and of rows enough for their states to be little beside them.
void cut_even_rows(ReducePlan& plan, std::int64_t teams_at_once) {
  constexpr std::int64_t least_rows = 32;
  // Lanes that all have columns, where their packs fill lines of memory.
  constexpr int least_lanes = 16;
  const std::int64_t packs = plan.columns / plan.pack;
  int lanes = reduce_down_lanes;
  while (lanes >= least_lanes && packs % lanes != 0) lanes /= 2;
  cut_down(plan, lanes >= least_lanes ? lanes : reduce_down_lanes, longest_chain);
  const std::int64_t batch = std::int64_t{norm_down_rows} * plan.slots;
  const std::int64_t parts = std::max<std::int64_t>(teams_at_once / plan.column_blocks, 1);
  const std::int64_t wanted = ceil_div(std::max(ceil_div(plan.runs, parts), least_rows), batch) * batch;
  plan.part_runs = std::min({wanted, longest_chain * plan.slots, plan.runs});
  plan.run_parts = ceil_div(plan.runs, plan.part_runs);
}

Loop planes_as_columns(const ReducePlan& rows, ElementType type, int inputs) {
  Loop loop;
  loop.type = type;
  loop.rank = 2;
  loop.extent[0] = rows.runs;
  loop.extent[1] = rows.kept * rows.columns;
  loop.reduced[0] = true;
  loop.inputs = inputs;
  for (int k = 0; k < inputs; ++k) {
    const auto at = static_cast<std::size_t>(k);
    loop.operand[at].data = rows.operand[at].data;
    loop.operand[at].stride[0] = rows.operand[at].stride[1];
    loop.operand[at].stride[1] = 1;
  }
  return loop;
}

}  // namespace

TensorRef with_axes_of(const TensorRef& tensor, int first, int rank) {
  if (!tensor) return tensor;
  Extents extents = Extents::of_rank(rank), strides = Extents::of_rank(rank);
  std::fill_n(&extents[0], rank, 1);
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    extents[first + axis] = tensor.extent(axis);
    strides[first + axis] = tensor.stride(axis);
  }
  return {tensor.data(), tensor.type(), extents, strides, tensor.space(), tensor.read_only()};
}

Loop make_norm_loop(const TensorRef& x, std::span<const TensorRef> others, const AxisSet& reduced) {
  std::vector<TensorOrNumber> operands;
  std::vector<const TensorOrNumber*> inputs;
  operands.reserve(others.size());
  for (const TensorRef& other : others) {
    other ? operands.emplace_back(other) : operands.emplace_back(0.0);
    inputs.push_back(&operands.back());
  }
  Loop loop = make_loop(x.type(), x.extents(), inputs, std::array{&x}, reduced);
  // Where an axis was turned, addresses were moved by elements of x.
  for (std::size_t k = 0; k < others.size(); ++k) {
    if (!others[k]) continue;
    auto* const begin = static_cast<std::byte*>(others[k].data());
    const std::ptrdiff_t elements = (loop.operand[k].data - begin) / static_cast<std::ptrdiff_t>(size_of(x.type()));
    loop.operand[k].data = begin + elements * static_cast<std::ptrdiff_t>(size_of(others[k].type()));
  }
  std::rotate(loop.operand.begin(), loop.operand.begin() + static_cast<std::ptrdiff_t>(others.size()),
              loop.operand.begin() + static_cast<std::ptrdiff_t>(others.size()) + 1);
  return loop;
}

TensorRef without_reduced(const TensorRef& x, const AxisSet& reduced) {
  if (x.size() > 0) return x;
  Extents extents = x.extents();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (reduced[static_cast<std::size_t>(axis)]) extents[axis] = 1;
  }
  return TensorRef::without_data(x.type(), extents);
}

NormPlan make_norm_plan(const Loop& loop, int inputs, Backend backend) {
  NormPlan plan;
  plan.rows = make_uncut_plan(loop);
  if (backend == Backend::cuda && has_short_planes(plan.rows, loop.type, inputs)) {
    plan.plane = plan.rows.columns;
    plan.planes = make_uncut_plan(planes_as_columns(plan.rows, loop.type, inputs));
    cut_down(plan.planes, lanes_of_whole_columns(plan.planes, reduce_down_lanes), longest_chain);
    plan.parts = plan.planes.parts();
    return plan;
  }
  if (!plan.along()) {
    if (backend == Backend::cuda && has_even_rows(plan.rows, loop.type)) {
      cut_even_rows(plan.rows, 4 * gpu_teams_at_once);
    } else {
      cut_down(plan.rows, lanes_of_whole_columns(plan.rows, reduce_down_lanes), longest_chain);
    }
    plan.parts = plan.rows.parts();
    return plan;
  }
  plan.row_packs = plan.rows.columns / plan.rows.pack;
  plan.terms = plan.rows.runs * plan.row_packs;
  const int batch = std::max(norm_values(static_cast<int>(size_of(loop.type))) / plan.rows.pack, 1);
  plan.threads = std::max(power_of_two_at_least(ceil_div(plan.terms, batch), norm_most_threads), warp);
  const std::int64_t wanted = plan.rows.kept < enough_teams ? ceil_div(wanted_teams, plan.rows.kept) : 1;
  const std::int64_t step = std::int64_t{plan.threads} * batch;
  const std::int64_t chain = backend == Backend::cuda ? norm_chain : norm_host_chain;
  plan.part_terms = std::clamp<std::int64_t>(ceil_div(plan.terms, wanted), step, plan.threads * chain);
  plan.parts = ceil_div(plan.terms, plan.part_terms);
  return plan;
}

NormPlan make_window_norm_plan(const Loop& windows, const Loop& pixels) {
  NormPlan plan;
  plan.rows = make_uncut_plan(windows);
  plan.rows.pack = gpu_pack_bytes / static_cast<int>(size_of(windows.type));
  cut_even_rows(plan.rows, 2 * gpu_teams_at_once);
  const std::int64_t most_parts = make_norm_plan(pixels, 1, Backend::cuda).parts;
  plan.rows.part_runs = std::max(plan.rows.part_runs, ceil_div(plan.rows.runs, most_parts));
  plan.rows.run_parts = ceil_div(plan.rows.runs, plan.rows.part_runs);
  plan.parts = plan.rows.parts();
  return plan;
}

bool are_steady(const ReducePlan& plan, int first, int count) {
  return std::all_of(plan.operand.begin() + first, plan.operand.begin() + first + count,
                     [&](const ReducePlan::Operand& operand) {
                       if (plan.direction == Direction::along && operand.column_stride != 0) return false;
                       return std::all_of(operand.stride.begin() + plan.kept_rank, operand.stride.begin() + plan.rank,
                                          [](std::int64_t stride) { return stride == 0; });
                     });
}

bool has_even_rows(const ReducePlan& rows, ElementType type) {
  return rows.direction == Direction::down && rows.rank == 1 && rows.kept_rank == 0 &&
         rows.pack * static_cast<int>(size_of(type)) == reduce_down_pack_bytes;
}

ReducePlan make_norm_map(const TensorRef& x, std::span<const TensorRef> others) {
  AxisSet all;
  all.fill(true);
  return make_uncut_plan(make_norm_loop(x, others, all));
}

std::size_t norm_partials(const NormPlan& plan, ElementType type, int numbers) {
  const std::size_t bytes_of_number = type == ElementType::f64 ? 8 : 4;
  return static_cast<std::size_t>(plan.walked().results() * plan.parts * numbers) * bytes_of_number;
}

bool has_side_packs(const ReducePlan& plan, int operand, std::size_t element_bytes) {
  const ReducePlan::Operand& side = plan.operand[operand];
  if (side.column_stride != 1) return false;
  auto bits = reinterpret_cast<std::uintptr_t>(side.data);
  for (int axis = 0; axis < plan.rank; ++axis) {
    bits |= static_cast<std::uint64_t>(side.stride[axis]) * element_bytes;
  }
  const std::size_t bytes = static_cast<std::size_t>(plan.pack) * element_bytes;
  return bits % std::min<std::size_t>(bytes, gpu_pack_bytes) == 0;
}

}  // namespace portops::impl
