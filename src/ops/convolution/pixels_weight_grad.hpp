// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/pixel_sampling.hpp"
#include "ops/convolution/pixels_weight_grad_plan.hpp"

#include <cstdint>
#include <string>

// weight_grad on GPUs without columns in memory, for groups of few channels: samples are found, and multiplied with
// out_grad, pixel by pixel. How samples are found is the parameter Samples: see pixel_sampling.hpp. The sums over the
// plan's chunks are added up in a fixed order.

namespace portops::impl {

/// Finds the pixels of all images, which are counted one image after the other.
class PixelsOfImages {
 public:
  explicit PixelsOfImages(const Windows& w)
      : pixels_(static_cast<std::uint32_t>(w.pixels())), out_width_(static_cast<std::uint32_t>(w.out_width)) {}

  KOKKOS_FUNCTION PixelPlace operator()(std::int64_t index) const {
    const auto narrow = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
    const std::uint32_t image = pixels_.quotient(static_cast<std::uint32_t>(index));
    const std::uint32_t pixel = static_cast<std::uint32_t>(index) - image * pixels_.value();
    const std::uint32_t i = out_width_.quotient(pixel);
    return {narrow(image), narrow(i), narrow(pixel - i * out_width_.value())};
  }

 private:
  Divisor pixels_, out_width_;
};

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

/// A team takes a chunk of pixels, a tap, and up to four channels with up to 32 output channels of theirs. Its threads
/// sample some pixels; then its warps share out the output channels, four a warp, and warps with the same ones these
/// pixels. A thread has a sum for each product of its warp.
template <Backend B, class T, class Samples>
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
        taps_(plan.windows.taps()) {
    while (out_warps_ < warps && out_warps_ * own_outs < plan.windows.group_out_channels()) out_warps_ *= 2;
  }

  std::int64_t teams() const { return plan_.units() * plan_.chunks(); }
  static std::size_t scratch_bytes() { return sizeof(Scratch); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t index = first_team + team.league_rank();
    const std::int64_t chunk = units_.quotient(index);
    const Unit unit = unit_of(index - chunk * plan_.units());
    Scratch& scratch = *scratch_of<Scratch>(team);
    const int warp_of_team = team.team_rank() / warp, lane = team.team_rank() % warp;
    const int out_warp = warp_of_team & (out_warps_ - 1);
    const int first_pixel = warp_of_team / out_warps_ * warp + lane, step = warps / out_warps_ * warp;
    // Of a warp that has none the sums are those of others, and are not read.
    const int outs_left = unit.outs - out_warp * own_outs;
    const std::int32_t first_out = (unit.first_out + (outs_left > 0 ? out_warp * own_outs : 0)) * out_grad_.stride[1];
    A sum[channels][own_outs] = {};
    for_chunk(plan_, chunk, samples_at_once, [&](std::int64_t begin, int count) {
      team.team_barrier();
      PORTOPS_UNROLL
      for (int i = 0; i < samples_at_once; i += threads) {
        if (team.team_rank() + i < count) sample(unit, begin + team.team_rank() + i, scratch, team.team_rank() + i);
      }
      team.team_barrier();
      for (int i = first_pixel; i < count; i += batch * step) {
        // All loads are on their way before the first one is waited for.
        T grad[batch][own_outs];
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          const T* const grads = out_grad_.data + (scratch.pixel[i + b * step < count ? i + b * step : i] + first_out);
          PORTOPS_UNROLL
          for (int m = 0; m < own_outs; ++m) grad[b][m] = grads[m < outs_left ? m * out_grad_.stride[1] : 0];
        }
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          if (i + b * step >= count) break;
          PORTOPS_UNROLL
          for (int c = 0; c < channels; ++c) {
            if (c >= unit.channels) break;
            const A value = scratch.value[c][i + b * step];
            PORTOPS_UNROLL
            for (int m = 0; m < own_outs; ++m) sum[c][m] = Kokkos::fma(static_cast<A>(grad[b][m]), value, sum[c][m]);
          }
        }
      }
    });
    team.team_barrier();
    const A of_warp = sum_of_warp(sum, lane);
    if (lane < own_sums) scratch.sum[warp_of_team][lane] = of_warp;
    team.team_barrier();
    write(unit, scratch, team.team_rank(), sums_ + chunk * plan_.weights());
  }

 private:
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int channels = Plan::block_channels, own_outs = Plan::block_outs / warps;
  static constexpr int own_sums = channels * own_outs;

  static constexpr int batch = 4;  ///< pixels that a thread multiplies together
  static constexpr int samples_at_once = 4 * threads;

  struct Scratch {
    A value[channels][samples_at_once];
    A sum[warps][own_sums];
    std::int32_t pixel[samples_at_once];  ///< where a pixel's first channel lies in out_grad
  };
  struct Unit {
    std::int32_t first_channel, channels, first_out, outs, k, l, sample;
    std::int64_t to;  ///< where the weight of the first channel and output channel is counted
  };

  KOKKOS_FUNCTION Unit unit_of(std::int64_t index) const {
    const Windows& w = plan_.windows;
    const std::int64_t of_part = parts_.quotient(index), part = index - of_part * plan_.out_parts();
    const std::int64_t block = taps_.quotient(of_part), tap = of_part - block * w.taps();
    const std::int64_t run = quotient(block, plan_.run_blocks());
    const std::int64_t in_run = (block - run * plan_.run_blocks()) * channels;
    const std::int64_t channel = run * plan_.run() + in_run, group = quotient(channel, w.group_channels());
    const std::int64_t in_group = part * Plan::block_outs;
    const std::int64_t first_out = group * w.group_out_channels() + in_group;
    const std::int64_t k = quotient(tap, w.kernel_width);
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    return {narrow(channel),
            narrow(lesser(plan_.run() - in_run, channels)),
            narrow(first_out),
            narrow(lesser(w.group_out_channels() - in_group, Plan::block_outs)),
            narrow(k),
            narrow(tap - k * w.kernel_width),
            narrow(quotient(channel, w.deformable_channels()) * w.taps() + tap),
            (first_out * w.group_channels() + channel - group * w.group_channels()) * w.taps() + tap};
  }

  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  KOKKOS_FORCEINLINE_FUNCTION void sample(const Unit& unit, std::int64_t pixel, Scratch& scratch, int to) const {
    const PixelPlace at = pixels_(pixel);
    const auto sample = samples_.find(at, unit.k, unit.l, samples_.read(at, unit.sample), x_);
    const T* const x = x_.data + x_.offset(at.image, unit.first_channel, 0, 0);
    PORTOPS_UNROLL
    for (int c = 0; c < channels; ++c) {
      if (c < unit.channels) scratch.value[c][to] = sample.value(x + c * x_.stride[1]);
    }
    scratch.pixel[to] = out_grad_.offset(at.image, 0, at.i, at.j);
  }

  /// Adds the sums of the warps that share output channels, in a fixed order.
  KOKKOS_FUNCTION void write(const Unit& unit, const Scratch& scratch, int thread, A* to) const {
    const int out = thread / channels, c = thread - out * channels;
    if (out >= unit.outs || c >= unit.channels) return;
    const int out_warp = out / own_outs, of_warp = c * own_outs + out - out_warp * own_outs;
    A total = scratch.sum[out_warp][of_warp];
    for (int other = out_warp + out_warps_; other < warps; other += out_warps_) total += scratch.sum[other][of_warp];
    const Windows& w = plan_.windows;
    to[unit.to + (out * w.group_channels() + c) * w.taps()] = total;
  }

  /// The sum over a warp of the product that has the lane's number, modulo `own_sums`: in each round threads give away
  /// the half that others go on with.
  KOKKOS_FORCEINLINE_FUNCTION static A sum_of_warp(const A (&sum)[channels][own_outs], int lane) {
    A term[own_sums];
    PORTOPS_UNROLL
    for (int i = 0; i < own_sums; ++i) term[i] = sum[i / own_outs][i % own_outs];
    PORTOPS_UNROLL
    for (int half = own_sums / 2; half > 0; half /= 2) {
      const bool upper = (lane & half) != 0;
      PORTOPS_UNROLL
      for (int i = 0; i < half; ++i) {
        term[i] = (upper ? term[half + i] : term[i]) + of_lane(upper ? term[i] : term[half + i], half);
      }
    }
    PORTOPS_UNROLL
    for (int distance = own_sums; distance < warp; distance *= 2) term[0] += of_lane(term[0], distance);
    return term[0];
  }
  KOKKOS_FORCEINLINE_FUNCTION static A of_lane(A value, [[maybe_unused]] int distance) {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(0xffffffffu, value, distance);
#else
    return value;
#endif
  }

  Plan plan_;
  Samples samples_;
  PixelsOfImages pixels_;
  Tensor32<const T> x_, out_grad_;
  A* sums_;
  IndexDivisor units_, parts_, taps_;
  int out_warps_ = 1;  ///< warps that take different output channels
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
    launch_by_teams<B>(ctx, label, PixelsWeightGrad<B, T, Samples>(plan, step, out_grad, of_chunks));
  }
  launch_by_teams<B>(ctx, join_label, JoinPixelsWeightGrad<B, T>(step.windows, plan.chunks(), of_chunks, weight_grad));
}

}  // namespace portops::impl
