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

/// A product as the kernel computes it: that of few rows with its operands exchanged, so that it has few columns.
struct Oriented {
  GemmOperand a, b;
  bool a_turned, b_turned;
  std::int64_t c_row, c_column;
  int columns;  ///< of a tile

  explicit Oriented(const Product& p)
      : a{static_cast<const float*>(p.a), p.a_stride, p.batch.a_stride, p.rows},
        b{static_cast<const float*>(p.b), p.b_stride, p.batch.b_stride, p.columns},
        a_turned(p.a_transpose == Transpose::yes),
        b_turned(p.b_transpose == Transpose::no),
        c_row(p.c_stride),
        c_column(1),
        columns(p.columns <= narrow_side ? narrow_side : side) {
    if (columns == side && p.rows <= narrow_side && p.bias == nullptr) {
      std::swap(a, b);
      std::swap(a_turned, b_turned);
      std::swap(c_row, c_column);
      columns = narrow_side;
    }
  }
};

/// How a product is shared out.
struct Plan {
  std::int64_t row_tiles, column_tiles, tiles, tile_steps;
  int blocks;
  bool shares_tiles = false;
  bool adds_up = false;  ///< in a kernel of its own

  Plan(const Oriented& of, const Product& p, int multiprocessors, std::size_t workspace)
      : row_tiles(impl::ceil_div(of.a.lines, side)),
        column_tiles(impl::ceil_div(of.b.lines, of.columns)),
        tiles(row_tiles * column_tiles * p.batch.count),
        tile_steps(impl::ceil_div(p.inner, depth)),
        blocks(static_cast<int>(std::min<std::int64_t>(tiles, multiprocessors))) {
    // In steps: what a tile's sums take to be written, left to others and collected there by one block after the
    // other, or what a kernel takes that adds them all up.
    constexpr std::int64_t write = 2, leave = 4, collect = 1, add_up = 6;
    std::int64_t best = impl::ceil_div(tiles, blocks) * (tile_steps + write);
    const std::int64_t most = std::min<std::int64_t>(multiprocessors, tiles * tile_steps);
    for (int count = 2; count <= most; ++count) {
      const std::int64_t steps = impl::ceil_div(tiles * tile_steps, count);
      const std::int64_t others = impl::ceil_div(tile_steps, steps);  // that have steps of a tile
      const std::int64_t alone = steps + impl::ceil_div(steps, tile_steps) * write + leave;
      for (const bool adds : {false, true}) {
        const std::int64_t time = alone + (adds ? add_up : others * collect);
        if (time >= best || bytes(of, count, adds) > workspace) continue;
        best = time;
        blocks = count;
        shares_tiles = true;
        adds_up = adds;
      }
    }
  }

  static constexpr std::size_t flag_bytes = 4096;
  static std::size_t bytes(const Oriented& of, int blocks, bool adds_up) {
    return flag_bytes + static_cast<std::size_t>(blocks) * (adds_up ? 2 : 1) * side *
                            static_cast<std::size_t>(of.columns) * sizeof(float);
  }
  static_assert(side * side == sum_packs<side> * 4 * consumers);
};

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
  const Oriented oriented(product);
  const Plan plan(oriented, product, multiprocessors, std::numeric_limits<std::size_t>::max());
  return plan.shares_tiles ? Plan::bytes(oriented, plan.blocks, plan.adds_up) : 0;
}

namespace {

template <int columns>
void launch(cudaStream_t stream, const Oriented& oriented, const Plan& plan, const GemmArguments& arguments) {
  constexpr const char* label = "portops::gemm[sm90]";
  using Kernel = decltype(&multiply<columns, false, false, false>);
  constexpr Kernel kernels[2][2][2] = {{{multiply<columns, false, false, false>, multiply<columns, false, false, true>},
                                        {multiply<columns, false, true, false>, multiply<columns, false, true, true>}},
                                       {{multiply<columns, true, false, false>, multiply<columns, true, false, true>},
                                        {multiply<columns, true, true, false>, multiply<columns, true, true, true>}}};
  const bool has_bias = arguments.bias != nullptr;
  const Kernel kernel = kernels[oriented.a_turned][oriented.b_turned][has_bias];
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
  const Oriented oriented(p);
  const Plan plan(oriented, p, multiprocessors, workspace.bytes);
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
  oriented.columns == side ? launch<side>(in_order, oriented, plan, arguments)
                           : launch<narrow_side>(in_order, oriented, plan, arguments);
}

}  // namespace portops::blas
