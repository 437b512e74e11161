// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm_kernels_sm90.hpp"
#include "core/exec/context.hpp"
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

// How the products of gemm[sm90] are shared out, and the launches of their kernels. For files compiled for sm_90a
// alone.

namespace portops::blas::gemm_sm90 {

constexpr int narrow_side = 64;

/// The extents of a product, and how many of them there are.
struct Shape {
  std::int64_t rows, columns, inner;
  std::int64_t count = 1;
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
  int columns;  ///< of a tile
  std::int64_t row_tiles, column_tiles, tiles, tile_steps;
  int blocks;
  bool shares_tiles = false;
  bool adds_up = false;  ///< in a kernel of its own
  double time;

  Plan(const Shape& shape, int tile_columns, int multiprocessors, std::size_t workspace)
      : columns(tile_columns),
        row_tiles(impl::ceil_div(shape.rows, side)),
        column_tiles(impl::ceil_div(shape.columns, columns)),
        tiles(row_tiles * column_tiles * shape.count),
        tile_steps(impl::ceil_div(shape.inner, depth)),
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
    return (adds ? 2 : 1) * sizeof(float) * side * static_cast<std::size_t>(columns);
  }
  std::int64_t blocks_in(std::size_t workspace, bool adds) const {
    return workspace <= flag_bytes ? 0 : static_cast<std::int64_t>((workspace - flag_bytes) / left(adds));
  }
  static_assert(side * side == sum_packs<side> * 4 * consumers);
};

/// The plan that takes the least time.
inline Plan plan_of(const Shape& shape, int multiprocessors, std::size_t workspace) {
  const Plan narrow(shape, narrow_side, multiprocessors, workspace);
  if (shape.columns <= narrow_side) return narrow;
  const Plan wide(shape, side, multiprocessors, workspace);
  return narrow.time < wide.time ? narrow : wide;
}

/// Has the kernel share its product out so. The workspace has the bytes of the plan.
inline void follow(const Plan& plan, void* workspace, GemmArguments& arguments) {
  arguments.row_tiles = impl::Divisor(static_cast<std::uint32_t>(plan.row_tiles));
  arguments.column_tiles = impl::Divisor(static_cast<std::uint32_t>(plan.column_tiles));
  arguments.tile_steps = static_cast<int>(plan.tile_steps);
  arguments.steps = plan.tiles * plan.tile_steps;
  arguments.together_steps = plan.shares_tiles ? 1 : plan.tile_steps;
  arguments.blocks = plan.blocks;
  arguments.sums = reinterpret_cast<float4*>(static_cast<std::byte*>(workspace) + Plan::flag_bytes);
  arguments.flags = plan.shares_tiles && !plan.adds_up ? static_cast<int*>(workspace) : nullptr;
}

template <int columns, class A, bool b_turned, bool has_bias, Precision precision>
void launch_tiles(const char* label, cudaStream_t stream, const Plan& plan, const GemmArguments& arguments,
                  const A& a) {
  const auto kernel = multiply<columns, A, b_turned, has_bias, precision>;
  constexpr int bytes = shared_bytes<columns, precision>;
  impl::allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes, label);
  if (arguments.flags != nullptr) {
    impl::check_cuda(cudaMemsetAsync(arguments.flags, 0, static_cast<std::size_t>(plan.blocks) * sizeof(int), stream),
                     label, "cudaMemsetAsync");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(plan.blocks);
  config.blockDim = threads;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  impl::check_cuda(cudaLaunchKernelEx(&config, kernel, arguments, a), label, "cudaLaunchKernelEx");
  if (!plan.adds_up) return;
  config.gridDim = dim3(static_cast<unsigned>(plan.tiles), sum_packs<columns>);
  config.blockDim = consumers;
  config.dynamicSmemBytes = 0;
  impl::check_cuda(cudaLaunchKernelEx(&config, add_up<columns, has_bias>, arguments), label, "cudaLaunchKernelEx");
}

/// Enqueues the products of op(a) and op(b), whose numbers are sums of bf16 terms.
template <class A, bool b_turned, bool has_bias, Precision precision = Precision::f32>
void launch(const char* label, cudaStream_t stream, const Plan& plan, const GemmArguments& arguments, const A& a) {
  plan.columns == side ? launch_tiles<side, A, b_turned, has_bias, precision>(label, stream, plan, arguments, a)
                       : launch_tiles<narrow_side, A, b_turned, has_bias, precision>(label, stream, plan, arguments, a);
}

}  // namespace portops::blas::gemm_sm90
