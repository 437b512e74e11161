// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/add_over_lanes.hpp"
#include "core/lanes/atomic_pack.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/scratch_word.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad_plan.hpp"
#include "ops/convolution/deform_conv2d/pixel_samples.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On GPUs, for windows of few products: all gradients without columns in memory, where x lies in packs of N channels
/// (TapsGradPlan). A team takes a tap of some packs of a deformable group, for a chunk of the pixels of all images. Its
/// threads take a pixel each, a pack, and own_outs of the pack's output channels: they find the sample, read its
/// corners, multiply out_grad by the weight, which is in scratch, for the gradient of the column, and by the column for
/// weight_grad, of which they hold the sums. To x_grad they add atomically. Numbers have 32 bits: see fits_pixels().
template <Backend B, class T, int N, int own_outs, bool is_depthwise>
class TapsGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = TapsGradPlan::threads;
  static constexpr int own_sums = own_outs * N;
  static constexpr int blocks = 2;
  std::int64_t first_team = 0;

  /// The second axis of step.x counts packs.
  TapsGrad(const TapsGradPlan& plan, const ImageStep& step, const TapsGradTensors& tensors)
      : samples_(step),
        offset_grad_(tensors.offset_grad),
        mask_grad_(tensors.mask_grad),
        pixels_(step.windows),
        x_(step.x),
        weight_(tensors.weight),
        out_grad_(tensors.out_grad),
        x_grad_(tensors.x_grad),
        products_(static_cast<A*>(tensors.products)),
        weight_sums_(static_cast<A*>(tensors.weight_sums)),
        wants_products_(tensors.wants_products()),
        units_(plan.units),
        teams_(plan.units * plan.chunks),
        all_samples_(step.windows.all_samples()),
        weights_(step.windows.out_channels * step.windows.group_column()),
        pack_lanes_(plan.pack_lanes),
        out_lanes_(plan.out_lanes),
        lanes_(plan.lanes()) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    by_units_ = IndexDivisor(plan.units);
    taps_ = divisor(w.taps());
    kernel_width_ = divisor(w.kernel_width);
    pack_blocks_ = divisor(plan.pack_blocks);
    run_packs_ = divisor(plan.run_packs);
    group_channels_ = divisor(w.group_channels());
    all_pixels_ = narrow(w.images * w.pixels());
    chunk_pixels_ = narrow(plan.chunk_pixels);
    packs_ = narrow(plan.packs);
    run_ = narrow(plan.run);
    deformable_channels_ = narrow(w.deformable_channels());
    group_outs_ = narrow(w.group_out_channels());
    samples_of_pixel_ = narrow(w.samples());
    reads_words_ = has_channel_packs<T>(tensors.out_grad, word) &&
                   (is_depthwise ? plan.run % N : w.group_out_channels() % own_outs) == 0;
  }

  std::int64_t teams() const { return teams_; }
  std::size_t scratch_bytes() const {
    return sizeof(A) * static_cast<std::size_t>(lanes_ * std::max(own_sums, warps * part_sums));
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t index = first_team + team.league_rank();
    const std::int64_t chunk = by_units_.quotient(index);
    const Unit unit = unit_of(static_cast<std::uint32_t>(index - chunk * units_));
    A* const scratch = scratch_of<A>(team);
    const int lane = team.team_rank() & (lanes_ - 1);
    const Constants fixed = constants_of(unit, own_of(unit, lane));
    for (int i = team.team_rank(); i < lanes_; i += threads) stage_weight(unit, i, scratch);
    team.team_barrier();
    A sum[own_sums] = {};
    reads_words_ ? add_chunk<true>(team, static_cast<std::int32_t>(chunk), unit, fixed, scratch, sum)
                 : add_chunk<false>(team, static_cast<std::int32_t>(chunk), unit, fixed, scratch, sum);
    if (weight_sums_ != nullptr) write_sums(team, unit, sum, scratch, weight_sums_ + chunk * weights_);
  }

 private:
  using Shift = typename PixelSamples<T>::Shift;
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int part_sums = std::min(own_sums, 16);  ///< that go through scratch together
  static constexpr int word = is_depthwise ? N : 4;         ///< output channels that are read together
  static constexpr int own_word = is_depthwise ? 1 : word;
  static_assert(own_sums % part_sums == 0 && (is_depthwise ? own_outs == 1 : own_outs % word == 0));

  struct Unit {
    std::int32_t deformable_group, first_pack, tap, k, l;
    std::int32_t number;  ///< of the sample in its pixel
  };
  /// What of a unit a thread takes.
  struct Own {
    std::int32_t pack;             ///< of all
    std::int32_t channel, count;   ///< the first one in the weight, and how many of N exist
    std::int32_t in_group;         ///< the first channel's number in its group
    std::int32_t first_out, outs;  ///< depthwise, those are the channels' own
    std::int32_t out_lane;
  };

  /// What a thread needs of both for each pixel. It is kept: the compiler would rather find it anew.
  struct Constants {
    std::int32_t number;               ///< of the sample in its pixel
    std::int32_t v, u;                 ///< where the tap is from the first one's place, in pixels
    std::int32_t x, x_grad, out_grad;  ///< where what is the thread's own begins in a pixel of these
    std::int32_t outs, channels;       ///< that exist
    std::int32_t corner_bits;          ///< a bit for each corner that it adds to: the out_lanes share them out
  };

  KOKKOS_FUNCTION Constants constants_of(const Unit& unit, const Own& own) const {
    Constants fixed{unit.number,
                    samples_.v_of_tap(unit.k),
                    samples_.u_of_tap(unit.l),
                    own.pack * x_.stride[1],
                    own.pack * x_grad_.stride[1],
                    own.first_out * out_grad_.stride[1],
                    own.outs,
                    own.count,
                    0};
    for (int c = 0; c < corners; ++c) {
      if (own.count > 0 && c % out_lanes_ == own.out_lane) fixed.corner_bits |= 1 << c;
    }
    for (std::int32_t* const kept : {&fixed.number, &fixed.v, &fixed.u, &fixed.x, &fixed.x_grad, &fixed.out_grad,
                                     &fixed.outs, &fixed.channels, &fixed.corner_bits}) {
      keep(*kept);
    }
    return fixed;
  }

  /// Leaves the compiler no way to find the number again.
  KOKKOS_FORCEINLINE_FUNCTION static void keep([[maybe_unused]] std::int32_t& number) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(number));
#endif
  }

  KOKKOS_FUNCTION Unit unit_of(std::uint32_t index) const {
    const auto narrow = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
    const std::uint32_t line = taps_.quotient(index), tap = index - line * taps_.value();
    const std::uint32_t group = pack_blocks_.quotient(line), block = line - group * pack_blocks_.value();
    const std::uint32_t k = kernel_width_.quotient(tap);
    return {narrow(group),
            narrow(block) * pack_lanes_,
            narrow(tap),
            narrow(k),
            narrow(tap - k * kernel_width_.value()),
            narrow(group * taps_.value() + tap)};
  }

  KOKKOS_FUNCTION Own own_of(const Unit& unit, int lane) const {
    const int of_unit = unit.first_pack + (lane & (pack_lanes_ - 1)), out_lane = lane / pack_lanes_;
    const bool exists = of_unit < packs_;
    const auto pack = static_cast<std::uint32_t>(exists ? of_unit : 0);
    const auto run = static_cast<std::int32_t>(run_packs_.quotient(pack));
    const std::int32_t in_run = (static_cast<std::int32_t>(pack - run * run_packs_.value())) * N;
    const std::int32_t channel = unit.deformable_group * deformable_channels_ + run * run_ + in_run;
    const std::int32_t left = run_ - in_run, count = !exists ? 0 : left < N ? left : N;
    Own own{
        unit.deformable_group * packs_ + static_cast<std::int32_t>(pack), channel, count, 0, channel, count, out_lane};
    if constexpr (!is_depthwise) {
      const auto group = static_cast<std::int32_t>(group_channels_.quotient(static_cast<std::uint32_t>(channel)));
      const std::int32_t outs_left = group_outs_ - out_lane * own_outs;
      own.in_group = channel - group * static_cast<std::int32_t>(group_channels_.value());
      own.outs = !exists || outs_left < 0 ? 0 : outs_left < own_outs ? outs_left : own_outs;
      own.first_out = group * group_outs_ + (own.outs > 0 ? out_lane * own_outs : 0);
    }
    return own;
  }

  /// What a lane takes of the weight: for each output channel of its own those of the pack's channels, 0 where there
  /// are none. Those of neighbouring lanes are neighbours.
  KOKKOS_FUNCTION void stage_weight(const Unit& unit, int lane, A* scratch) const {
    const Own own = own_of(unit, lane);
    for (int i = 0; i < own_sums; ++i) {
      const int out = i / N, n = i - out * N;
      const bool exists = n < own.count && out < own.outs;
      const std::int32_t of_out = is_depthwise ? own.channel + n : own.first_out + out;
      const std::int32_t of_group = is_depthwise ? 0 : own.in_group + n;
      scratch[(out * lanes_ + lane) * N + n] =
          exists ? static_cast<A>(weight_.data[weight_.offset(of_out, of_group, unit.k, unit.l)]) : A(0);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_weight(const A* scratch, int lane, int out, A (&values)[N]) const {
    const A* const from = scratch + (out * lanes_ + lane) * N;
    if constexpr (N == 1 || sizeof(A) == 8) {
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) values[n] = from[n];
    } else {
      const Word<A, N> word = *reinterpret_cast<const ScratchWord<A, N>*>(from);
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) values[n] = word[n];
    }
  }

  /// all_exist: the output channels of all threads do, and are read in words.
  template <bool all_exist>
  KOKKOS_FORCEINLINE_FUNCTION void add_chunk(const Team& team, std::int32_t chunk, const Unit& unit,
                                             const Constants& fixed, const A* scratch, A (&sum)[own_sums]) const {
    const int lane = team.team_rank() & (lanes_ - 1);
    const auto begin = chunk * chunk_pixels_;
    const std::int32_t end = chunk_pixels_ < all_pixels_ - begin ? begin + chunk_pixels_ : all_pixels_;
    const int slots = threads / lanes_;
    // What is read for a pixel's sample is on its way while the one before is worked on.
    std::int32_t pixel = begin + team.team_rank() / lanes_;
    PixelPlace next = pixels_(pixel < end ? pixel : end - 1);
    Shift next_shift = samples_.read(next, fixed.number);
    PORTOPS_NO_UNROLL
    for (std::int32_t first = begin; first < end; first += slots) {
      const PixelPlace at = next;
      // A pixel that does not exist samples outside.
      const Shift shift = pixel < end ? next_shift : Shift{-Kokkos::Experimental::infinity_v<A>, A(0), A(0)};
      const std::int32_t number = pixel < end ? pixel : -1;
      pixel += slots;
      next = pixels_(pixel < end ? pixel : end - 1);
      next_shift = samples_.read(next, fixed.number);
      add_pixel<all_exist>(fixed, unit, lane, at, shift, number, scratch, sum);
    }
  }

  /// A word of output channels of a pixel. Not all_exist: `left` do; the others are 0, and read where others are.
  template <bool all_exist>
  KOKKOS_FORCEINLINE_FUNCTION void read_out_grad(const T* from, int first, int left, A (&values)[word]) const {
    if constexpr (all_exist) {
      const auto read = *reinterpret_cast<const Word<T, word>*>(in_device_memory(from + first));
      PORTOPS_UNROLL
      for (int i = 0; i < word; ++i) values[i] = static_cast<A>(read[i]);
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < word; ++i) {
        const T read = from[i < left ? (first + i) * out_grad_.stride[1] : 0];
        values[i] = i < left ? static_cast<A>(read) : A(0);
      }
    }
  }

  /// The corners of a sample, as much as a thread takes, which begins there in a pixel.
  KOKKOS_FORCEINLINE_FUNCTION void read_corners(std::int32_t image, const PixelGradSample<A>& sample,
                                                std::int32_t begin, Word<T, N> (&pixel)[corners]) const {
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) {
      pixel[c] = *reinterpret_cast<const Word<T, N>*>(
          in_device_memory(x_.data + (x_.offset(image, 0, sample.rows[c / 2], sample.columns[c % 2]) + begin)));
    }
  }

  /// What a thread adds of a pixel, whose number of all is negative if it does not exist.
  template <bool all_exist>
  KOKKOS_FORCEINLINE_FUNCTION void add_pixel(const Constants& fixed, const Unit& unit, int lane, const PixelPlace& at,
                                             const Shift& shift, std::int32_t number, const A* scratch,
                                             A (&sum)[own_sums]) const {
    const bool exists = number >= 0;
    const T* const out_grad = out_grad_.data + (out_grad_.offset(at.image, 0, at.i, at.j) + fixed.out_grad);
    const PixelGradSample<A> sample = samples_.find_for_gradients(at, fixed.v, fixed.u, shift);
    Word<T, N> pixel[corners];
    read_corners(at.image, sample, fixed.x, pixel);
    A value[N];
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) {
      A of_row[2];
      PORTOPS_UNROLL
      for (int r = 0; r < 2; ++r) {
        of_row[r] = Kokkos::fma(sample.of_column[1], static_cast<A>(pixel[2 * r + 1][n]),
                                sample.of_column[0] * static_cast<A>(pixel[2 * r][n]));
      }
      value[n] = Kokkos::fma(sample.of_row[1], of_row[1], sample.of_row[0] * of_row[0]);
      value[n] = sample.factor * (sample.has_value ? value[n] : sample.nothing);
    }
    const bool multiplies = exists && fixed.outs > 0;
    A grad[N] = {};
    PORTOPS_UNROLL
    for (int first = 0; first < own_outs; first += own_word) {
      if (!multiplies) break;
      A of_out[word];
      read_out_grad<all_exist>(out_grad, first, fixed.outs - first, of_out);
      PORTOPS_UNROLL
      for (int i = 0; i < own_word; ++i) {
        A weight[N];
        read_weight(scratch, lane, first + i, weight);
        PORTOPS_UNROLL
        for (int n = 0; n < N; ++n) {
          const A factor = of_out[is_depthwise ? n : i];
          A& to = sum[(first + i) * N + n];
          grad[n] = Kokkos::fma(factor, weight[n], grad[n]);
          to = Kokkos::fma(factor, value[n], to);
        }
      }
    }
    for (int distance = pack_lanes_; distance < lanes_; distance *= 2) {
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) grad[n] += of_other_lane(grad[n], distance);
    }
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) grad[n] = n < fixed.channels ? grad[n] : A(0);
    if constexpr (own_sums * sizeof(A) >= 256) {
      // Beside so many sums there are no registers to keep the corners in.
      std::int32_t begin = fixed.x;
      keep(begin);
      read_corners(at.image, sample, begin, pixel);
    }
    A product[corners] = {};
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) {
      if (!sample.row_exists[c / 2] || !sample.column_exists[c % 2] || (fixed.corner_bits >> c & 1) == 0) continue;
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) product[c] = Kokkos::fma(grad[n], static_cast<A>(pixel[c][n]), product[c]);
      if (x_grad_.data == nullptr) continue;
      const A weight_of_corner = sample.of_row[c / 2] * sample.of_column[c % 2] * sample.factor;
      A part[N];
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) part[n] = weight_of_corner * grad[n];
      add_atomically(
          in_device_memory(x_grad_.data +
                           (x_grad_.offset(at.image, 0, sample.rows[c / 2], sample.columns[c % 2]) + fixed.x_grad)),
          part);
    }
    if (!wants_products_) return;
    for (int distance = lanes_ / 2; distance > 0; distance /= 2) {
      PORTOPS_UNROLL
      for (int c = 0; c < corners; ++c) product[c] += of_other_lane(product[c], distance);
    }
    if (lane == 0 && exists) write_products(fixed.number, unit, at, number, sample, product);
  }

  /// The gradients of a sample's offset and mask, as SampleGrad has them, or what they follow from.
  KOKKOS_FORCEINLINE_FUNCTION void write_products(std::int32_t number_of_sample, const Unit& unit, const PixelPlace& at,
                                                  std::int32_t number_of_pixel, const PixelGradSample<A>& sample,
                                                  const A (&product)[corners]) const {
    if (products_ != nullptr) {
      const std::int64_t of_block = std::int64_t{number_of_pixel} * samples_of_pixel_ + number_of_sample;
      A* const to = products_ + (unit.first_pack / pack_lanes_ * all_samples_ + of_block) * corners;
      PORTOPS_UNROLL
      for (int c = 0; c < corners; ++c) to[c] = product[c];
      return;
    }
    if (mask_grad_.data != nullptr) {
      A sum = sample.nothing;
      PORTOPS_UNROLL
      for (int c = 0; c < corners; ++c) {
        sum = Kokkos::fma(sample.of_row[c / 2] * sample.of_column[c % 2], product[c], sum);
      }
      mask_grad_.data[mask_grad_.offset(at.image, number_of_sample, at.i, at.j)] = static_cast<T>(sum);
    }
    if (offset_grad_.data != nullptr) {
      // A corner that does not exist has products 0.
      const A down = sample.of_column[0] * (product[2] - product[0]) + sample.of_column[1] * (product[3] - product[1]);
      const A right = sample.of_row[0] * (product[1] - product[0]) + sample.of_row[1] * (product[3] - product[2]);
      T* const to = offset_grad_.data + offset_grad_.offset(at.image, 2 * number_of_sample, at.i, at.j);
      to[0] = static_cast<T>(sample.factor * (down + sample.nothing));
      to[offset_grad_.stride[1]] = static_cast<T>(sample.factor * (right + sample.nothing));
    }
  }

  /// Adds the threads' sums, in a fixed order.
  KOKKOS_FUNCTION void write_sums(const Team& team, const Unit& unit, const A (&sum)[own_sums], A* scratch,
                                  A* to) const {
    const int lane = team.team_rank() & (lanes_ - 1), of_warp = team.team_rank() / warp;
    PORTOPS_UNROLL
    for (int first = 0; first < own_sums; first += part_sums) {
      A part[part_sums];
      PORTOPS_UNROLL
      for (int i = 0; i < part_sums; ++i) part[i] = sum[first + i];
      team.team_barrier();
      add_over_lanes<part_sums, warp / 2>(part, team.team_rank() % warp, lanes_,
                                          scratch + (of_warp * lanes_ + lane) * part_sums);
      team.team_barrier();
      for (int i = team.team_rank(); i < lanes_ * part_sums; i += threads) {
        A total = scratch[i];
        PORTOPS_UNROLL
        for (int w = 1; w < warps; ++w) total += scratch[w * lanes_ * part_sums + i];
        const Own own = own_of(unit, i / part_sums);
        const int term = first + i % part_sums, out = term / N, n = term - out * N;
        if (n >= own.count || out >= own.outs) continue;
        const std::int32_t line =
            is_depthwise
                ? own.channel + n
                : (own.first_out + out) * static_cast<std::int32_t>(group_channels_.value()) + own.in_group + n;
        to[line * static_cast<std::int32_t>(taps_.value()) + unit.tap] = total;
      }
    }
  }

  PixelSamples<T> samples_;
  Tensor32<T> offset_grad_, mask_grad_;
  PixelsOfImages pixels_;
  Tensor32<const T> x_, weight_, out_grad_;
  Tensor32<A> x_grad_;
  A* products_;
  A* weight_sums_;
  bool wants_products_, reads_words_;
  std::int64_t units_, teams_, all_samples_, weights_;
  int pack_lanes_, out_lanes_, lanes_;
  std::int32_t all_pixels_, chunk_pixels_, packs_, run_, deformable_channels_, group_outs_, samples_of_pixel_;
  IndexDivisor by_units_;
  Divisor taps_, kernel_width_, pack_blocks_, run_packs_, group_channels_;
};

/// Calls action<N, own_outs, is_depthwise>() with the kernel's parameters.
template <class T, class Action>
void with_taps_grad_form(const TapsGradPlan& plan, const Action& action) {
  if (plan.is_depthwise) return action.template operator()<4, 1, true>();
  if constexpr (sizeof(T) <= 4) {
    if (plan.pack == 1 && plan.own_outs == 16) return action.template operator()<1, 16, false>();
    if (plan.own_outs == 16) return action.template operator()<4, 16, false>();
    if (plan.own_outs == 8) return action.template operator()<4, 8, false>();
  }
  if (plan.pack == 1) return action.template operator()<1, 4, false>();
  action.template operator()<4, 4, false>();
}

}  // namespace portops::impl
