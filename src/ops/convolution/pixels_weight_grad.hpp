// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/add_over_lanes.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/pixel_sampling.hpp"
#include "ops/convolution/pixels_weight_grad_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

// weight_grad on GPUs without columns in memory, for groups of few channels: samples are found, and multiplied with
// out_grad, pixel by pixel. How samples are found is the parameter Samples: see pixel_sampling.hpp. The sums over the
// plan's chunks are added up in a fixed order.

namespace portops::impl {

/// Calls action(first, count) for the pixels of a chunk, `most` at a time.
template <class Action>
KOKKOS_FORCEINLINE_FUNCTION void for_chunk(const PixelsWeightGradPlan& plan, std::int64_t chunk, int most,
                                           const Action& action) {
  const std::int64_t begin = chunk * plan.chunk_pixels(), after = begin + plan.chunk_pixels();
  const std::int64_t end = after < plan.all_pixels() ? after : plan.all_pixels();
  for (std::int64_t first = begin; first < end; first += most) {
    action(first, end - first < most ? static_cast<int>(end - first) : most);
  }
}

/// A team takes a chunk of pixels, up to twelve elements of windows, some taps of up to four channels, and up to 32
/// output channels of theirs. Its threads sample some pixels; then they share out the output channels, four a thread,
/// and those with the same ones these pixels: neighbours are threads of other channels where the channels of out_grad
/// are neighbours, and else threads of other pixels. A thread has a sum for each of its products. `most_channels` are
/// those that a team may take.
template <Backend B, class T, int most_channels, class Samples>
class PixelsWeightGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Plan = PixelsWeightGradPlan;
  static constexpr int threads = 256;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  PixelsWeightGrad(const Plan& plan, const ImageStep& step, const Tensor4& out_grad, A* sums)
      : plan_(plan),
        samples_(step),
        pixels_(plan.windows),
        x_(step.x),
        out_grad_(out_grad),
        sums_(sums),
        units_(plan.units()),
        parts_(plan.out_parts()),
        tap_parts_(plan.tap_parts()) {
    const std::int64_t outs = plan.windows.group_out_channels();
    while (shares_ < most_shares && shares_ * own_outs < outs) shares_ *= 2;
    has_packs_ = outs % own_outs == 0 && has_channel_packs<T>(out_grad, own_outs);
  }

  std::int64_t teams() const { return plan_.units() * plan_.chunks(); }
  static std::size_t scratch_bytes() { return sizeof(Scratch); }

  KOKKOS_FUNCTION void operator()(const Team& team) const { has_packs_ ? add_up<true>(team) : add_up<false>(team); }

 private:
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int elements = Plan::block_elements, own_outs = Plan::block_outs / warps;
  static constexpr int own_sums = elements * own_outs, most_shares = Plan::block_outs / own_outs;
  static_assert(most_shares <= warps && most_shares <= warp);

  static constexpr int batch = sizeof(A) == 8 ? 1 : 4;  ///< pixels that a thread multiplies together
  static constexpr int samples_of_thread = sizeof(A) == 8 ? 1 : 2, samples_at_once = samples_of_thread * threads;
  static_assert(Plan::pixels_at_once % samples_at_once == 0);

  /// That are sampled before the first sample is waited for.
  static constexpr int some_bytes = Samples::taps_together * static_cast<int>(sizeof(float));
  static constexpr int some_taps = std::max(some_bytes / static_cast<int>(sizeof(A)) / most_channels, 1);

  /// Those of the warp's output channels, of a pixel.
  using Grads = Word<T, own_outs>;

  struct Scratch {
    union {
      A value[elements][samples_at_once];
      A sum[warps][most_shares][own_sums];  ///< in the end
    };
    std::int32_t pixel[samples_at_once];  ///< where a pixel's first channel lies in out_grad
  };
  /// Elements are counted tap by tap.
  struct Unit {
    std::int32_t first_channel, channels, first_out, outs, first_tap, taps, sample;
    std::int64_t to;  ///< where the weight of the first channel and output channel is counted

    KOKKOS_FORCEINLINE_FUNCTION std::int32_t elements() const { return taps * channels; }
  };

  /// `packs`: the warp's output channels are read at once.
  template <bool packs>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const Team& team) const {
    const std::int64_t index = first_team + team.league_rank();
    const std::int64_t chunk = units_.quotient(index);
    const Unit unit = unit_of(index - chunk * plan_.units());
    Scratch& scratch = *scratch_of<Scratch>(team);
    const int thread = team.team_rank(), warp_of_team = thread / warp;
    const int share = packs ? thread & (shares_ - 1) : warp_of_team & (shares_ - 1);
    const int first_pixel = packs ? thread / shares_ : warp_of_team / shares_ * warp + thread % warp;
    const int step = threads / shares_;
    // Of a share that has none the sums are those of others, and are not read.
    const int outs_left = unit.outs - share * own_outs;
    const std::int32_t first_out = (unit.first_out + (outs_left > 0 ? share * own_outs : 0)) * out_grad_.stride[1];
    A sum[own_sums] = {};
    for_chunk(plan_, chunk, samples_at_once, [&](std::int64_t begin, int count) {
      team.team_barrier();
      sample(unit, begin, count, scratch, thread);
      team.team_barrier();
      PORTOPS_NO_UNROLL
      for (int i = first_pixel; i < count; i += batch * step) {
        // All loads are on their way before the first one is waited for.
        Grads grads[batch];
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          const T* const from = out_grad_.data + (scratch.pixel[i + b * step < count ? i + b * step : i] + first_out);
          if constexpr (packs) {
            grads[b] = *reinterpret_cast<const Grads*>(from);
          } else {
            PORTOPS_UNROLL
            for (int m = 0; m < own_outs; ++m) grads[b].set(m, from[m < outs_left ? m * out_grad_.stride[1] : 0]);
          }
        }
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (i + b * step >= count) break;
          A grad[own_outs];
          PORTOPS_UNROLL
          for (int m = 0; m < own_outs; ++m) grad[m] = static_cast<A>(grads[b][m]);
          PORTOPS_UNROLL
          for (int e = 0; e < elements; ++e) {
            if (e >= unit.elements()) break;
            const A value = scratch.value[e][i + b * step];
            PORTOPS_UNROLL
            for (int m = 0; m < own_outs; ++m) {
              sum[e * own_outs + m] = Kokkos::fma(grad[m], value, sum[e * own_outs + m]);
            }
          }
        }
      }
    });
    team.team_barrier();
    add_over_lanes<own_sums, warp / 2>(sum, thread % warp, packs ? shares_ : 1, scratch.sum[warp_of_team][share]);
    team.team_barrier();
    write<packs>(unit, scratch, thread, sums_ + chunk * plan_.weights());
  }

  KOKKOS_FUNCTION Unit unit_of(std::int64_t index) const {
    const Windows& w = plan_.windows;
    const std::int64_t of_part = parts_.quotient(index), part = index - of_part * plan_.out_parts();
    const std::int64_t block = tap_parts_.quotient(of_part);
    const std::int64_t first_tap = (of_part - block * plan_.tap_parts()) * plan_.part_taps();
    const std::int64_t run = quotient(block, plan_.run_blocks());
    const std::int64_t in_run = (block - run * plan_.run_blocks()) * Plan::block_channels;
    const std::int64_t channel = run * plan_.run() + in_run, group = quotient(channel, w.group_channels());
    const std::int64_t in_group = part * Plan::block_outs;
    const std::int64_t first_out = group * w.group_out_channels() + in_group;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    return {narrow(channel),
            narrow(lesser(plan_.run() - in_run, Plan::block_channels)),
            narrow(first_out),
            narrow(lesser(w.group_out_channels() - in_group, Plan::block_outs)),
            narrow(first_tap),
            narrow(lesser(w.taps() - first_tap, plan_.part_taps())),
            narrow(quotient(channel, w.deformable_channels()) * w.taps() + first_tap),
            (first_out * w.group_channels() + channel - group * w.group_channels()) * w.taps() + first_tap};
  }

  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  /// Of pixels from `begin` on, those that are the thread's.
  KOKKOS_FORCEINLINE_FUNCTION void sample(const Unit& unit, std::int64_t begin, int count, Scratch& scratch,
                                          int thread) const {
    PixelPlace at[samples_of_thread];
    const T* x[samples_of_thread];
    PORTOPS_UNROLL
    for (int i = 0; i < samples_of_thread; ++i) {
      // Of those beyond the last one, that one's.
      const int pixel = thread + i * threads < count ? thread + i * threads : count - 1;
      at[i] = pixels_(begin + pixel);
      x[i] = x_.data + x_.offset(at[i].image, unit.first_channel, 0, 0);
      scratch.pixel[thread + i * threads] = out_grad_.offset(at[i].image, 0, at[i].i, at[i].j);
    }
    const auto width = static_cast<std::int32_t>(plan_.windows.kernel_width);
    std::int32_t k = unit.first_tap / width, l = unit.first_tap - k * width;
    A* to = &scratch.value[0][thread];
    PORTOPS_NO_UNROLL
    for (std::int32_t first = 0; first < unit.taps; first += some_taps) {
      A value[samples_of_thread][some_taps][most_channels];
      PORTOPS_UNROLL
      for (int tap = 0; tap < some_taps; ++tap) {
        if (first + tap >= unit.taps) break;
        PORTOPS_UNROLL
        for (int i = 0; i < samples_of_thread; ++i) {
          const auto sample = samples_.find(at[i], k, l, samples_.read(at[i], unit.sample + first + tap), x_);
          PORTOPS_UNROLL
          for (int c = 0; c < most_channels; ++c) {
            if (c < unit.channels) value[i][tap][c] = sample.value(x[i] + c * x_.stride[1]);
          }
        }
        if (++l == width) {
          l = 0;
          ++k;
        }
      }
      PORTOPS_UNROLL
      for (int tap = 0; tap < some_taps; ++tap) {
        if (first + tap >= unit.taps) break;
        PORTOPS_UNROLL
        for (int c = 0; c < most_channels; ++c) {
          if (c >= unit.channels) break;
          PORTOPS_UNROLL
          for (int i = 0; i < samples_of_thread; ++i) to[i * threads] = value[i][tap][c];
          to += samples_at_once;
        }
      }
    }
  }

  /// Adds the sums of the warps that have a share, in a fixed order.
  template <bool packs>
  KOKKOS_FUNCTION void write(const Unit& unit, const Scratch& scratch, int thread, A* to) const {
    for (int i = thread; i < unit.outs * unit.elements(); i += threads) {
      const int out = i / unit.elements(), e = i - out * unit.elements();
      const int share = out / own_outs, of_share = e * own_outs + out - share * own_outs;
      const int first = packs ? 0 : share, step = packs ? 1 : shares_;
      A total = scratch.sum[first][share][of_share];
      for (int other = first + step; other < warps; other += step) total += scratch.sum[other][share][of_share];
      const int tap = e / unit.channels, c = e - tap * unit.channels;
      const Windows& w = plan_.windows;
      to[unit.to + (out * w.group_channels() + c) * w.taps() + tap] = total;
    }
  }

  Plan plan_;
  Samples samples_;
  PixelsOfImages pixels_;
  Tensor32<const T> x_, out_grad_;
  A* sums_;
  IndexDivisor units_, parts_, tap_parts_;
  int shares_ = 1;  ///< of the output channels
  bool has_packs_;
};

/// The same depthwise, where an output channel is that of one channel or of a few, and none has many: a team takes up
/// to four channels, of one deformable group.
template <Backend B, class T, class Samples>
class DepthwiseWeightGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  using Plan = PixelsWeightGradPlan;
  static constexpr int threads = 256;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  DepthwiseWeightGrad(const Plan& plan, const ImageStep& step, const Tensor4& out_grad, A* sums)
      : plan_(plan),
        samples_(step),
        pixels_(plan.windows),
        x_(step.x),
        out_grad_(out_grad),
        sums_(sums),
        units_(plan.units()),
        taps_(plan.windows.taps()) {}

  std::int64_t teams() const { return plan_.units() * plan_.chunks(); }
  static std::size_t scratch_bytes() { return sizeof(A) * channels * warps; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t index = first_team + team.league_rank();
    const std::int64_t chunk = units_.quotient(index);
    const Unit unit = unit_of(index - chunk * plan_.units());
    A sum[channels] = {};
    for_chunk(plan_, chunk, threads, [&](std::int64_t begin, int count) {
      if (team.team_rank() < count) add_pixel(unit, begin + team.team_rank(), sum);
    });
    A* const scratch = scratch_of<A>(team);
    PORTOPS_UNROLL
    for (int c = 0; c < channels; ++c) {
      const A of_warp = sum_over_lanes(sum[c], warp);
      if (team.team_rank() % warp == 0) scratch[c * warps + team.team_rank() / warp] = of_warp;
    }
    team.team_barrier();
    const int c = team.team_rank();
    if (c >= unit.channels) return;
    A total = scratch[c * warps];
    PORTOPS_UNROLL
    for (int i = 1; i < warps; ++i) total += scratch[c * warps + i];
    // As many weights as channels to a tap, one behind the other.
    sums_[chunk * plan_.weights() + (unit.first_channel + c) * plan_.windows.taps() + unit.tap] = total;
  }

 private:
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int channels = Plan::block_channels;

  struct Unit {
    std::int32_t first_channel, channels, tap, k, l, sample;
    std::int32_t out[Plan::block_channels];
  };

  KOKKOS_FUNCTION Unit unit_of(std::int64_t index) const {
    const Windows& w = plan_.windows;
    const std::int64_t block = taps_.quotient(index), tap = index - block * w.taps();
    const std::int64_t run = quotient(block, plan_.run_blocks());
    const std::int64_t in_run = (block - run * plan_.run_blocks()) * channels;
    const std::int64_t channel = run * plan_.run() + in_run, left = plan_.run() - in_run;
    const std::int64_t k = quotient(tap, w.kernel_width);
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    Unit unit{narrow(channel),
              narrow(left < channels ? left : channels),
              narrow(tap),
              narrow(k),
              narrow(tap - k * w.kernel_width),
              narrow(quotient(channel, w.deformable_channels()) * w.taps() + tap),
              {}};
    for (int c = 0; c < channels; ++c) unit.out[c] = narrow(quotient(channel + c, w.group_channels()));
    return unit;
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_pixel(const Unit& unit, std::int64_t pixel, A (&sum)[channels]) const {
    const PixelPlace at = pixels_(pixel);
    const auto sample = samples_.find(at, unit.k, unit.l, samples_.read(at, unit.sample), x_);
    const T* const x = x_.data + x_.offset(at.image, unit.first_channel, 0, 0);
    const T* const grads = out_grad_.data + out_grad_.offset(at.image, 0, at.i, at.j);
    PORTOPS_UNROLL
    for (int c = 0; c < channels; ++c) {
      if (c >= unit.channels) break;
      const A grad = static_cast<A>(grads[unit.out[c] * out_grad_.stride[1]]);
      sum[c] = Kokkos::fma(grad, sample.value(x + c * x_.stride[1]), sum[c]);
    }
  }

  Plan plan_;
  Samples samples_;
  PixelsOfImages pixels_;
  Tensor32<const T> x_, out_grad_;
  A* sums_;
  IndexDivisor units_, taps_;
};

/// Adds up the sums over chunks, which lie chunk by chunk in the order of weight_grad's elements: a team takes as many
/// neighbours as memory hands out together, and its slots share the chunks. Rounds once.
template <Backend B, class T>
class JoinPixelsWeightGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 0;
  std::int64_t first_team = 0;

  JoinPixelsWeightGrad(const Windows& windows, std::int64_t chunks, const A* sums, const Tensor4& weight_grad)
      : windows_(windows), chunks_(chunks), sums_(sums), weight_grad_(weight_grad) {}

  std::int64_t teams() const { return ceil_div(weights(), lanes); }
  static std::size_t scratch_bytes() { return threads * sizeof(A); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int lane = team.team_rank() % lanes, slot = team.team_rank() / lanes;
    const std::int64_t index = (first_team + team.league_rank()) * lanes + lane;
    A sum[1] = {A(0)};
    for (std::int64_t first = slot; first < chunks_ && index < weights(); first += batch * slots) {
      A of_chunk[batch];
      PORTOPS_UNROLL
      for (int b = 0; b < batch; ++b) {
        const std::int64_t chunk = first + b * slots;
        of_chunk[b] = chunk < chunks_ ? sums_[chunk * weights() + index] : A(0);
      }
      sum[0] += sum_of(of_chunk);
    }
    join_over_slots(team, scratch_of<A>(team), slots, lanes, sum, Plus());
    if (slot != 0 || index >= weights()) return;
    const Windows& w = windows_;
    const std::int64_t line = quotient(index, w.taps()), tap = index - line * w.taps();
    const std::int64_t out = quotient(line, w.group_channels()), k = quotient(tap, w.kernel_width);
    const std::int64_t at = weight_grad_.offset(out, line - out * w.group_channels(), k, tap - k * w.kernel_width);
    static_cast<T*>(weight_grad_.data)[at] = static_cast<T>(sum[0]);
  }

 private:
  static constexpr int lanes = 32 / static_cast<int>(sizeof(A)), slots = threads / lanes;
  static constexpr int batch = 8;  ///< sums that are under way together

  PORTOPS_FUNCTION std::int64_t weights() const { return windows_.out_channels * windows_.group_column(); }

  Windows windows_;
  std::int64_t chunks_;
  const A* sums_;
  Tensor4 weight_grad_;
};

/// Enqueues both. `sums`: memory for as many as the plan says.
template <Backend B, class T, class Samples>
void launch_pixels_weight_grad(const Context& ctx, const std::string& label, const std::string& join_label,
                               const ImageStep& step, const Tensor4& out_grad, void* sums, const Tensor4& weight_grad) {
  const PixelsWeightGradPlan plan{step.windows};
  auto* const of_chunks = static_cast<Arithmetic<T>*>(sums);
  if (plan.is_depthwise()) {
    launch_by_teams<B>(ctx, label, DepthwiseWeightGrad<B, T, Samples>(plan, step, out_grad, of_chunks));
  } else {
    constexpr int most = PixelsWeightGradPlan::block_channels;
    if (plan.run() == 1) {
      launch_by_teams<B>(ctx, label, PixelsWeightGrad<B, T, 1, Samples>(plan, step, out_grad, of_chunks));
    } else {
      launch_by_teams<B>(ctx, label, PixelsWeightGrad<B, T, most, Samples>(plan, step, out_grad, of_chunks));
    }
  }
  launch_by_teams<B>(ctx, join_label, JoinPixelsWeightGrad<B, T>(step.windows, plan.chunks(), of_chunks, weight_grad));
}

}  // namespace portops::impl
