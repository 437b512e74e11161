// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_tiles.hpp"
#include "ops/convolution/conv2d/depthwise/staged_pixels.hpp"
#include "ops/convolution/conv2d/depthwise/walked_rows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// weight_grad and bias_grad of a depthwise convolution: the sums over each chunk of tiles. A team takes a chunk and a
/// block of channels; the pixels of x and out_grad of a tile lie in scratch. A thread goes down the rows of x with all
/// taps of a channel, over some columns of out_grad. `from` is x, `to` is out_grad, which is only read.
template <Backend B, class T, int K, int step, bool last>
class DepthwiseTileWeightGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Plan = DepthwiseWeightGradTiles;
  static constexpr int blocks = sizeof(A) == 8 ? 1 : K < 7 ? 3 : 2;
  std::int64_t first_team = 0;

  DepthwiseTileWeightGrad(const DepthwiseCall& call, const Plan& plan, A* sums)
      : plan_(plan),
        x_(call.from, plan.tiles().from(), call.windows.images, call.windows.channels, call.windows.height,
           call.windows.width),
        out_grad_(call.to, plan.tiles().to(), call.windows.images, call.windows.channels, call.windows.out_height,
                  call.windows.out_width),
        sums_(sums),
        top_(static_cast<std::int32_t>(call.windows.top)),
        left_(static_cast<std::int32_t>(call.windows.left)),
        out_height_(static_cast<std::int32_t>(call.windows.out_height)),
        out_width_(static_cast<std::int32_t>(call.windows.out_width)) {}

  std::int64_t teams() const { return std::int64_t{plan_.chunks().value()} * plan_.tiles().channel_blocks().value(); }
  KOKKOS_FUNCTION int threads() const { return plan_.tiles().threads(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const {
    const std::size_t pixels = Staged::bytes(plan_.tiles().from()) + Staged::bytes(plan_.tiles().to());
    const std::size_t of_sums = sizeof(A) * static_cast<std::size_t>(sums_together * threads());
    return pixels > of_sums ? pixels : of_sums;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t block = plan_.chunks().quotient(index), chunk = index - block * plan_.chunks().value();
    const DepthwiseTiles& tiles = plan_.tiles();
    const std::int32_t channel = static_cast<std::int32_t>(block) * DepthwiseTiles::channels;
    const int lane = team.team_rank() % DepthwiseTiles::channels, warp = team.team_rank() / DepthwiseTiles::channels;
    auto* const x = static_cast<T*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    auto* const grads = x + Staged::bytes(tiles.from()) / sizeof(T);
    const TilePlace part = tiles.part(warp, R);
    const T* const own_x = x + Staged::place(tiles.from(), {part.image, part.i * step, part.j * step}) + lane;
    const T* const own_grads = grads + Staged::place(tiles.to(), part) + lane;
    A sum[K][K] = {}, sum_of_grads(0);
    const std::int64_t begin = chunk * plan_.chunk_tiles(), after = begin + plan_.chunk_tiles();
    const std::int64_t end = after < tiles.count() ? after : tiles.count();
    for (std::int64_t number = begin; number < end; ++number) {
      const TilePlace tile = tiles(static_cast<std::uint32_t>(number));
      if (number > begin) team.team_barrier();
      x_.read(team, x, channel, {tile.image, tile.i * step - top_, tile.j * step - left_});
      out_grad_.read(team, grads, channel, tile);
      wait_for_copies_to_scratch();
      team.team_barrier();
      const std::int32_t below = out_height_ - tile.i - part.i, right = out_width_ - tile.j - part.j;
      const std::int32_t rows = below < tiles.rows() ? below : tiles.rows();
      if (tile.image + part.image >= tiles.images() || rows <= 0 || right <= 0) continue;
      if (right >= R) {
        walk<true>(own_x, own_grads, rows, right, sum, sum_of_grads);
      } else {
        walk<false>(own_x, own_grads, rows, right, sum, sum_of_grads);
      }
    }
    write_sums(team, reinterpret_cast<A*>(x), channel, chunk, sum, sum_of_grads);
  }

 private:
  using Staged = StagedPixels<T, last>;
  using Rows = WalkedRows<K, step>;
  static constexpr int R = DepthwiseTiles::columns(step), count = (R - 1) * step + K;
  static constexpr int sums = K * K + 1;
  /// Those that are in scratch together.
  static constexpr int sums_together = std::min<int>(sums, 32 / (sizeof(A) / 4));

  /// `full`: all R columns are columns of out_grad.
  template <bool full>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const T* x, const T* grads, std::int32_t rows, std::int32_t right,
                                        A (&sum)[K][K], A& sum_of_grads) const {
    A grad[Rows::slots][R] = {};
    const int row_of_x = plan_.tiles().from().columns * Staged::pitch;
    const int row_of_grads = plan_.tiles().to().columns * Staged::pitch;
    const std::int32_t last_row = (rows - 1) * step;
    Rows::walk(rows, [&](std::int32_t t, int phase) {
      if (Rows::has_tap(phase, 0) && t <= last_row) {
        PORTOPS_UNROLL
        for (int r = 0; r < R; ++r) {
          const A value = static_cast<A>(grads[r * Staged::pitch]);
          grad[Rows::slot(phase, 0)][r] = value;
          sum_of_grads += value;
        }
        grads += row_of_grads;
      }
      A value[count];
      PORTOPS_UNROLL
      for (int n = 0; n < count; ++n) value[n] = static_cast<A>(x[n * Staged::pitch]);
      x += row_of_x;
      PORTOPS_UNROLL
      for (int k = 0; k < K; ++k) {
        if (!Rows::has_tap(phase, k)) continue;
        // Where out_grad has no such row or column nothing is a term: x need not be finite there.
        if (static_cast<std::uint32_t>(t - k) > static_cast<std::uint32_t>(last_row)) continue;
        PORTOPS_UNROLL
        for (int r = 0; r < R; ++r) {
          if (!full && r >= right) continue;
          PORTOPS_UNROLL
          for (int l = 0; l < K; ++l) {
            sum[k][l] = Kokkos::fma(grad[Rows::slot(phase, k)][r], value[r * step + l], sum[k][l]);
          }
        }
      }
    });
  }

  /// Adds them up over the warps, in a fixed order.
  KOKKOS_FORCEINLINE_FUNCTION void write_sums(const Team& team, A* scratch, std::int32_t channel, std::uint32_t chunk,
                                              const A (&sum)[K][K], A sum_of_grads) const {
    const int thread = team.team_rank(), threads = team.team_size();
    constexpr int channels = DepthwiseTiles::channels;
    const std::int64_t all_channels = std::int64_t{plan_.tiles().channel_blocks().value()} * channels;
    A* const to = sums_ + chunk * plan_.sums_of_chunk() + channel;
    for (int begin = 0; begin < sums; begin += sums_together) {
      team.team_barrier();
      PORTOPS_UNROLL
      for (int n = 0; n < sums; ++n) {
        const A its = n < K * K ? sum[n / K % K][n % K] : sum_of_grads;
        if (n >= begin && n < begin + sums_together) scratch[(n - begin) * threads + thread] = its;
      }
      team.team_barrier();
      const int together = sums - begin < sums_together ? sums - begin : sums_together;
      for (int at = thread; at < together * channels; at += threads) {
        const int n = at / channels, c = at % channels;
        A total(0);
        for (int from = c; from < threads; from += channels) total += scratch[n * threads + from];
        to[(begin + n) * all_channels + c] = total;
      }
    }
  }

  Plan plan_;
  Staged x_, out_grad_;
  A* sums_;
  std::int32_t top_, left_, out_height_, out_width_;
};

/// Adds up the sums over chunks, 32 neighbours a team, whose warps share the chunks; rounds once.
template <Backend B, class T>
class JoinDepthwiseWeightGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Plan = DepthwiseWeightGradTiles;
  static constexpr int threads = 256;
  static constexpr int blocks = 0;
  std::int64_t first_team = 0;

  JoinDepthwiseWeightGrad(const Windows& windows, const Plan& plan, const A* sums, const Tensor4& weight_grad,
                          const Tensor4& bias_grad)
      : plan_(plan),
        sums_(sums),
        weight_grad_(weight_grad),
        bias_grad_(bias_grad),
        channels_(static_cast<std::int32_t>(windows.channels)),
        kernel_width_(static_cast<std::int32_t>(windows.kernel_width)) {}

  std::int64_t teams() const { return plan_.sums_of_chunk() / lanes; }
  static std::size_t scratch_bytes() { return threads * sizeof(A); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::int32_t>(first_team + team.league_rank());
    const int lane = team.team_rank() % lanes, warp = team.team_rank() / lanes;
    const auto chunks = static_cast<std::int32_t>(plan_.chunks().value());
    const A* const sums = sums_ + std::int64_t{index} * lanes + lane;
    A sum(0);
    for (std::int32_t first = warp; first < chunks; first += batch * warps) {
      A of_chunk[batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const std::int32_t chunk = first + b * warps;
        of_chunk[b] = chunk < chunks ? sums[chunk * plan_.sums_of_chunk()] : A(0);
      }
      sum += sum_of(of_chunk);
    }
    A* const scratch = scratch_of<A>(team);
    scratch[team.team_rank()] = sum;
    team.team_barrier();
    const auto channel_blocks = static_cast<std::int32_t>(plan_.tiles().channel_blocks().value());
    const std::int32_t tap = index / channel_blocks, channel = (index - tap * channel_blocks) * lanes + lane;
    if (warp != 0 || channel >= channels_) return;
    A of_warp[warps];
    PORTOPS_UNROLL
    for (int w = 0; w < warps; ++w) of_warp[w] = scratch[w * lanes + lane];
    const T total = static_cast<T>(sum_of(of_warp));
    if (tap < kernel_width_ * kernel_width_) {
      const std::int32_t k = tap / kernel_width_;
      static_cast<T*>(weight_grad_.data)[weight_grad_.offset(channel, 0, k, tap - k * kernel_width_)] = total;
    } else if (bias_grad_.data != nullptr) {
      static_cast<T*>(bias_grad_.data)[bias_grad_.offset(0, channel, 0, 0)] = total;
    }
  }

 private:
  static constexpr int lanes = DepthwiseTiles::channels, warps = threads / lanes;
  static constexpr int batch = 8;  ///< sums that are under way together

  Plan plan_;
  const A* sums_;
  Tensor4 weight_grad_, bias_grad_;
  std::int32_t channels_, kernel_width_;
};

}  // namespace portops::impl
