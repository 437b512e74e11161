// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_reach.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_units.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// weight_grad of a depthwise convolution: the sums over each chunk of strips, whatever the layout of the images. A
/// team takes a chunk and a block of channels, a thread all taps of one of these, over some strips of the chunk. `from`
/// is x, `to` is out_grad, which is only read.
template <Backend B, class T, int K, Reach reach>
class DepthwiseStripsWeightGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Plan = DepthwiseWeightGradPlan;
  static constexpr int threads = ChannelBlocks::threads;
  static constexpr int blocks = sizeof(A) == 4 ? 2 : 0;
  std::int64_t first_team = 0;

  DepthwiseStripsWeightGrad(const DepthwiseCall& call, const Plan& plan, A* sums)
      : plan_(plan),
        down_(call.windows.stride_y, call.windows.top, call.windows.dilation_y, call.windows.height),
        across_(call.windows.stride_x, call.windows.left, call.windows.dilation_x, call.windows.width),
        x_(call.from),
        out_grad_(call.to),
        sums_(sums),
        out_height_(static_cast<std::int32_t>(call.windows.out_height)),
        chunks_(static_cast<std::uint32_t>(plan.chunks())) {}

  std::int64_t teams() const { return plan_.chunks() * plan_.block().blocks(); }
  static std::size_t scratch_bytes() { return rows_of_taps * bytes_of_taps; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t block = chunks_.quotient(index);
    const std::int64_t chunk = index - block * chunks_.value();
    const ChannelBlocks& channels = plan_.block();
    const int thread = team.team_rank();
    const std::int32_t first = static_cast<std::int32_t>(block) * channels.channels();
    const std::int32_t channel = first + channels.pack_of(thread);
    A sum[K][K] = {};
    if (channel < channels.all()) {
      const std::int64_t begin = chunk * plan_.chunk_units(), after = begin + plan_.chunk_units();
      const std::int64_t end = after < plan_.units().count() ? after : plan_.units().count();
      for (std::int64_t unit = begin + channels.slot_of(thread); unit < end; unit += channels.slots()) {
        add_strip(static_cast<std::uint32_t>(unit), channel, sum);
      }
    }
    A* const scratch = scratch_of<A>(team);
    for (int k = 0; k < K; k += rows_of_taps) {
      if (k > 0) team.team_barrier();
      PORTOPS_UNROLL
      for (int row = 0; row < K; ++row) {
        if (row < k || row >= k + rows_of_taps) continue;
        PORTOPS_UNROLL
        for (int l = 0; l < K; ++l) scratch[((row - k) * K + l) * threads + thread] = sum[row][l];
      }
      team.team_barrier();
      write_taps(team, scratch, chunk, first, k * K, (K - k < rows_of_taps ? K - k : rows_of_taps) * K);
    }
  }

 private:
  static constexpr int warp_bits = 5, warp = 1 << warp_bits;
  static constexpr int rows = Plan::rows(K, shared_step(reach) > 0);
  /// Rows of taps whose sums are in scratch together, to wait for each other rarely.
  static constexpr std::size_t bytes_of_taps = sizeof(A) * K * threads, most_scratch_bytes = 32 << 10;
  static constexpr int rows_of_taps = std::min<int>(K, most_scratch_bytes / bytes_of_taps);

  KOKKOS_FORCEINLINE_FUNCTION void add_strip(std::uint32_t unit, std::int32_t channel, A (&sum)[K][K]) const {
    const auto [plane, i, j] = plan_.units().in_plane(unit);
    const auto image = static_cast<std::int32_t>(plane);
    if (i + rows <= out_height_ && down_.is_inside(i, i + rows, K)) {
      add_strip<true>(image, channel, i, j, sum);
    } else {
      add_strip<false>(image, channel, i, j, sum);
    }
  }

  /// `inside`: the strip is one of `rows` pixels, whose windows have their rows in the image.
  template <bool inside>
  KOKKOS_FORCEINLINE_FUNCTION void add_strip(std::int32_t image, std::int32_t channel, std::int32_t i, std::int32_t j,
                                             A (&sum)[K][K]) const {
    const std::int32_t left = out_height_ - i;
    A grad[rows][1];
    const T* const grads = out_grad_.data + out_grad_.offset(image, channel, i, j);
    PORTOPS_UNROLL
    for (int n = 0; n < rows; ++n) {
      if (inside || n < left) read_neighbours<T, 1>(grad[n], grads + n * out_grad_.stride[2]);
    }
    StripRows<T, K, reach, 1, rows, inside> strip(down_, i, x_.stride[2]);
    const T* const x = x_.data + x_.offset(image, channel, 0, 0);
    PORTOPS_UNROLL
    for (int l = 0; l < K; ++l) {
      strip.read(x, across_(j, l), x_.stride[3]);
      PORTOPS_UNROLL
      for (int k = 0; k < K; ++k) {
        PORTOPS_UNROLL
        for (int n = 0; n < rows; ++n) {
          if (inside || n < left) sum[k][l] = Kokkos::fma(grad[n][0], strip.value(n, k)[0], sum[k][l]);
        }
      }
    }
  }

  /// Adds up `taps` of them over the threads that have the same channel, in a fixed order: a warp to a sum where these
  /// are many, else a thread.
  KOKKOS_FORCEINLINE_FUNCTION void write_taps(const Team& team, const A* scratch, std::int64_t chunk,
                                              std::int32_t first_channel, int first_tap, int taps) const {
    const ChannelBlocks& channels = plan_.block();
    const int group_bits = channels.slots() >= warp ? warp_bits : 0, group = 1 << group_bits;
    const int lane = team.team_rank() & (group - 1), all = taps << channels.pack_bits();
    // All threads of a warp go round equally often.
    for (int at = team.team_rank() >> group_bits; at < all; at += threads >> group_bits) {
      const int tap = at >> channels.pack_bits(), pack = channels.pack_of(at);
      A sum(0);
      for (int slot = lane; slot < channels.slots(); slot += group) {
        sum += scratch[tap * threads + (slot << channels.pack_bits()) + pack];
      }
      if (group == warp) sum = sum_over_lanes(sum, warp);
      const std::int32_t channel = first_channel + pack;
      if (lane == 0 && channel < channels.all()) {
        sums_[(chunk * channels.all() + channel) * (K * K) + first_tap + tap] = sum;
      }
    }
  }

  Plan plan_;
  AxisReach<reach> down_, across_;
  Tensor32<const T> x_, out_grad_;
  A* sums_;
  std::int32_t out_height_;
  Divisor chunks_;
};

}  // namespace portops::impl
