// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/norm_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace portops::impl {
namespace {

/// Teams that keep a GPU busy until the last one: results are cut into parts where there are fewer.
constexpr std::int64_t enough_teams = 1024, wanted_teams = 2048;
constexpr int warp = 32;

int power_of_two_at_least(std::int64_t value, int least, int most) {
  const std::int64_t clamped = std::clamp<std::int64_t>(value, least, most);
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(clamped)));
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

NormPlan make_norm_plan(const Loop& loop) {
  NormPlan plan;
  plan.rows = make_uncut_plan(loop);
  if (!plan.along()) {
    cut_down(plan.rows, lanes_of_whole_columns(plan.rows, reduce_down_lanes), longest_chain);
    plan.parts = plan.rows.parts();
    return plan;
  }
  plan.row_packs = plan.rows.columns / plan.rows.pack;
  plan.terms = plan.rows.runs * plan.row_packs;
  const int batch = std::max(norm_values(static_cast<int>(size_of(loop.type))) / plan.rows.pack, 1);
  plan.threads = power_of_two_at_least(ceil_div(plan.terms, batch), warp, norm_most_threads);
  const std::int64_t wanted = plan.rows.kept < enough_teams ? ceil_div(wanted_teams, plan.rows.kept) : 1;
  const std::int64_t step = std::int64_t{plan.threads} * batch;
  plan.part_terms =
      std::clamp<std::int64_t>(ceil_div(plan.terms, wanted), step, std::int64_t{plan.threads} * norm_chain);
  plan.parts = ceil_div(plan.terms, plan.part_terms);
  return plan;
}

ReducePlan make_norm_map(const TensorRef& x, std::span<const TensorRef> others) {
  AxisSet all;
  all.fill(true);
  return make_uncut_plan(make_norm_loop(x, others, all));
}

std::size_t norm_partials(const NormPlan& plan, ElementType type, int numbers) {
  const std::size_t bytes_of_number = type == ElementType::f64 ? 8 : 4;
  return static_cast<std::size_t>(plan.rows.results() * plan.parts * numbers) * bytes_of_number;
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
