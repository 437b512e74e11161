// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm_sm90.hpp"

#include "blas/gemm_kernels_sm90.hpp"
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace portops::blas {
namespace {

using namespace gemm_sm90;

constexpr int narrow_side = 64;

/// A product as the kernel computes it, in tiles of so many columns.
struct Oriented {
  GemmOperand a, b;
  bool a_turned, b_turned;
  std::int64_t c_row, c_column;
  int columns;

  Oriented(const Product& p, int tile_columns)
      : a{static_cast<const float*>(p.a), p.a_stride, p.batch.a_stride, p.rows},
        b{static_cast<const float*>(p.b), p.b_stride, p.batch.b_stride, p.columns},
        a_turned(p.a_transpose == Transpose::yes),
        b_turned(p.b_transpose == Transpose::no),
        c_row(p.c_stride),
        c_column(1),
        columns(tile_columns) {
    // That of few rows with its operands exchanged, so that it has few columns.
    if (p.rows <= narrow_side && p.columns > narrow_side && p.bias == nullptr) {
      std::swap(a, b);
      std::swap(a_turned, b_turned);
      std::swap(c_row, c_column);
    }
  }
};

/// What blocks do with a tile, in us on an H200: a step, and writing its sums; and, where several have steps of a tile,
/// what it takes to add up their sums: once, for each of them, and for each tile of the product.
struct Costs {
  struct Sharing {
    double once, each, tile;
  };
  double step, write;
  Sharing collect;  ///< one block waits for the others
  Sharing add_up;   ///< in a kernel of its own
};
constexpr Costs costs_of(int columns) {
  return columns == side ? Costs{1.0, 1.2, {1.0, 0.85, 0.0}, {2.0, 0.09, 0.06}}
                         : Costs{0.68, 0.7, {1.2, 0.8, 0.0}, {2.2, 0.075, 0.025}};
}

/// How a product is shared out.
struct Plan {
  Oriented of;
  std::int64_t row_tiles, column_tiles, tiles, tile_steps;
  int blocks;
  bool shares_tiles = false;
  bool adds_up = false;  ///< in a kernel of its own
  double time;

  Plan(const Product& p, int columns, int multiprocessors, std::size_t workspace)
      : of(p, columns),
        row_tiles(impl::ceil_div(of.a.lines, side)),
        column_tiles(impl::ceil_div(of.b.lines, columns)),
        tiles(row_tiles * column_tiles * p.batch.count),
        tile_steps(impl::ceil_div(p.inner, depth)),
        blocks(static_cast<int>(std::min<std::int64_t>(tiles, multiprocessors))) {
    const Costs cost = costs_of(columns);
    const std::int64_t all_steps = tiles * tile_steps;
    const auto times = [](std::int64_t count, double of_one) { return static_cast<double>(count) * of_one; };
    time = times(impl::ceil_div(tiles, blocks), times(tile_steps, cost.step) + cost.write);
    for (const bool adds : {false, true}) {
      const std::int64_t most = std::min({std::int64_t{multiprocessors}, all_steps, blocks_in(workspace, adds)});
      if (most < 2) continue;
      const Costs::Sharing sharing = adds ? cost.add_up : cost.collect;
      const std::int64_t least_steps = impl::ceil_div(all_steps, most);
      const std::int64_t most_sharers = impl::ceil_div(tile_steps, least_steps);
      for (std::int64_t sharers = 1; sharers <= most_sharers; ++sharers) {
        const double add = sharing.once + times(sharers, sharing.each) + times(tiles, sharing.tile);
        if (add >= time) break;
        const std::int64_t steps = std::max(least_steps, impl::ceil_div(tile_steps, sharers));
        const double shared = times(steps, cost.step) + times(impl::ceil_div(steps, tile_steps), cost.write) + add;
        if (shared >= time || steps >= all_steps) continue;
        time = shared;
        blocks = static_cast<int>(impl::ceil_div(all_steps, steps));
        shares_tiles = true;
        adds_up = adds;
      }
    }
  }

  std::size_t bytes() const { return shares_tiles ? flag_bytes + static_cast<std::size_t>(blocks) * left(adds_up) : 0; }

  static constexpr std::size_t flag_bytes = 4096;

 private:
  /// What a block leaves at most.
  std::size_t left(bool adds) const {
    return (adds ? 2 : 1) * sizeof(float) * side * static_cast<std::size_t>(of.columns);
  }
  std::int64_t blocks_in(std::size_t workspace, bool adds) const {
    return workspace <= flag_bytes ? 0 : static_cast<std::int64_t>((workspace - flag_bytes) / left(adds));
  }
  static_assert(side * side == sum_packs<side> * 4 * consumers);
};

/// The plan that takes the least time.
Plan plan_of(const Product& p, int multiprocessors, std::size_t workspace) {
  const Plan narrow(p, narrow_side, multiprocessors, workspace);
  if (narrow.of.b.lines <= narrow_side) return narrow;
  const Plan wide(p, side, multiprocessors, workspace);
  return narrow.time < wide.time ? narrow : wide;
}

bool is_aligned(const void* data, std::int64_t stride, std::int64_t batch_stride, std::int64_t contiguous) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % 4 == 0 && batch_stride % 4 == 0 &&
         contiguous % 4 == 0;
}

}  // namespace

bool suits_sm90(const Product& p) {
  // Below this, tiles of c are mostly empty. But the steps of long sums are shared out, and others compute those of few
  // rows or columns without tensor cores.
  constexpr std::int64_t least = 64, least_of_long = 16, least_inner = 2048, inner_over_longer = 4;
  const auto [shorter, longer] = std::minmax(p.rows, p.columns);
  const bool is_large = std::min(shorter, p.inner) >= least;
  const bool is_long = shorter >= least_of_long && longer >= 2 * side && p.inner >= least_inner &&
                       p.inner >= inner_over_longer * longer && p.bias == nullptr;
  const bool a_inner = p.a_transpose == Transpose::no, b_inner = p.b_transpose == Transpose::yes;
  return p.type == ElementType::f32 && (is_large || is_long) && p.inner < INT32_MAX &&
         is_aligned(p.a, p.a_stride, p.batch.a_stride, a_inner ? p.inner : p.rows) &&
         is_aligned(p.b, p.b_stride, p.batch.b_stride, b_inner ? p.inner : p.columns) &&
         impl::ceil_div(p.rows, narrow_side) * impl::ceil_div(p.columns, narrow_side) * p.batch.count < INT32_MAX;
}

std::size_t sm90_workspace(int multiprocessors, const Product& product) {
  return plan_of(product, multiprocessors, std::numeric_limits<std::size_t>::max()).bytes();
}

namespace {

template <int columns>
void launch(cudaStream_t stream, const Plan& plan, const GemmArguments& arguments) {
  constexpr const char* label = "portops::gemm[sm90]";
  using Kernel = decltype(&multiply<columns, false, false, false>);
  constexpr Kernel kernels[2][2][2] = {{{multiply<columns, false, false, false>, multiply<columns, false, false, true>},
                                        {multiply<columns, false, true, false>, multiply<columns, false, true, true>}},
                                       {{multiply<columns, true, false, false>, multiply<columns, true, false, true>},
                                        {multiply<columns, true, true, false>, multiply<columns, true, true, true>}}};
  const bool has_bias = arguments.bias != nullptr;
  const Kernel kernel = kernels[plan.of.a_turned][plan.of.b_turned][has_bias];
  impl::allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes<columns>, label);
  if (arguments.flags != nullptr) {
    impl::check_cuda(cudaMemsetAsync(arguments.flags, 0, static_cast<std::size_t>(plan.blocks) * sizeof(int), stream),
                     label, "cudaMemsetAsync");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(plan.blocks);
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes<columns>;
  config.stream = stream;
  impl::check_cuda(cudaLaunchKernelEx(&config, kernel, arguments), label, "cudaLaunchKernelEx");
  if (!plan.adds_up) return;
  config.gridDim = dim3(static_cast<unsigned>(plan.tiles), sum_packs<columns>);
  config.blockDim = consumers;
  config.dynamicSmemBytes = 0;
  const auto add = has_bias ? add_up<columns, true> : add_up<columns, false>;
  impl::check_cuda(cudaLaunchKernelEx(&config, add, arguments), label, "cudaLaunchKernelEx");
}

}  // namespace

void multiply_by_sm90(void* stream, int multiprocessors, const Product& p, Workspace workspace) {
  const Plan plan = plan_of(p, multiprocessors, workspace.bytes);
  const Oriented& oriented = plan.of;
  const bool has_pairs = oriented.c_column == 1 && reinterpret_cast<std::uintptr_t>(p.c) % sizeof(float2) == 0 &&
                         p.c_stride % 2 == 0 && p.batch.c_stride % 2 == 0;
  const GemmArguments arguments{oriented.a,
                                oriented.b,
                                static_cast<float*>(p.c),
                                oriented.c_row,
                                oriented.c_column,
                                p.batch.c_stride,
                                static_cast<const float*>(p.bias),
                                p.bias_stride,
                                oriented.a_turned,
                                has_pairs,
                                p.inner,
                                static_cast<float>(p.alpha),
                                static_cast<float>(p.beta),
                                impl::Divisor(static_cast<std::uint32_t>(plan.row_tiles)),
                                impl::Divisor(static_cast<std::uint32_t>(plan.column_tiles)),
                                static_cast<int>(plan.tile_steps),
                                plan.tiles * plan.tile_steps,
                                plan.shares_tiles ? 1 : plan.tile_steps,
                                plan.blocks,
                                reinterpret_cast<float4*>(static_cast<std::byte*>(workspace.data) + Plan::flag_bytes),
                                plan.shares_tiles && !plan.adds_up ? static_cast<int*>(workspace.data) : nullptr};
  auto* const in_order = static_cast<cudaStream_t>(stream);
  oriented.columns == side ? launch<side>(in_order, plan, arguments) : launch<narrow_side>(in_order, plan, arguments);
}

}  // namespace portops::blas
