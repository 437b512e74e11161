// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/add_over_lanes.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/scratch_word.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/lanes/warp.hpp"
#include "ops/convolution/deform_conv2d/pixel_samples.hpp"
#include "ops/convolution/deform_conv2d/small_path.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs, for small calls, whose time is that of waiting: out = bias + weight · columns in one kernel, without a copy
/// of x or of the weight. A team makes the columns of some pixels and a group in its scratch. Then a warp takes four
/// output channels at a time, whose weights its lanes read side by side, `width` neighbours each, and adds up what the
/// lanes have. Numbers have 32 bits: see fits_pixels().
template <Backend B, class T, int own_pixels, int width>
class ConvolveSmall {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 512;
  static constexpr int blocks = 1;
  std::int64_t first_team = 0;

  ConvolveSmall(const ImageStep& step, const Tensor4& weight, const ConvolutionOut& to, const SmallForm& form)
      : samples_(step),
        pixels_(step.windows),
        x_(step.x),
        weight_(weight),
        out_(to.out),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    all_pixels_ = narrow(w.images * w.pixels());
    teams_ = form.teams(w);
    parts_ = divisor(w.groups * form.parts(w));
    group_parts_ = divisor(form.parts(w));
    part_outs_ = narrow(form.outs);
    kernel_width_ = divisor(w.kernel_width);
    deformable_channels_ = divisor(w.deformable_channels());
    taps_ = narrow(w.taps());
    channels_ = narrow(w.group_channels());
    outs_ = narrow(w.group_out_channels());
    elements_ = narrow(w.group_column());
    pitch_ = narrow(form.pitch(w));
    has_channels_last_ = step.x.stride[1] == 1;
    by_inner_ = divisor(has_channels_last_ ? w.group_channels() : w.taps() * own_pixels);
    const bool by_taps = is_dense_by_taps(w, weight);
    of_channel_ = by_taps ? 1 : taps_;
    of_tap_ = by_taps ? channels_ : 1;
    scratch_bytes_ = form.scratch_bytes(w);
  }

  std::int64_t teams() const { return teams_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto index = static_cast<std::uint32_t>(first_team + team.league_rank());
    const std::uint32_t block = parts_.quotient(index), part = index - block * parts_.value();
    const std::uint32_t of_group = group_parts_.quotient(part);
    const auto group = static_cast<std::int32_t>(of_group);
    const std::int32_t first_out = static_cast<std::int32_t>(part - of_group * group_parts_.value()) * part_outs_;
    const std::int32_t first_pixel = static_cast<std::int32_t>(block) * own_pixels;
    A* const columns = scratch_of<A>(team);
    auto* const samples = reinterpret_cast<Sample*>(columns + own_pixels * pitch_);
    const std::int32_t first_deformable = deformable_group(group * channels_);
    const std::int32_t last_deformable = deformable_group((group + 1) * channels_ - 1);
    const std::int32_t count = (last_deformable - first_deformable + 1) * taps_ * own_pixels;
    for (std::int32_t i = team.team_rank(); i < count; i += threads) {
      samples[i] = find(first_pixel + i % own_pixels, first_deformable * taps_ + i / own_pixels);
    }
    team.team_barrier();
    make_columns(team, group, first_pixel, first_deformable, samples, columns);
    team.team_barrier();
    multiply(team, group, first_out, first_pixel, columns, reinterpret_cast<Sums&>(samples[count]));
  }

 private:
  using Sample = SampleCorners<A, corners>;
  static constexpr int warp = 32, warps = threads / warp;
  static constexpr int own_outs = 4, own_sums = own_outs * own_pixels;
  static_assert(own_sums <= warp);
  struct Sums {
    A of_warp[warps][own_sums];
  };
  static_assert(sizeof(Sample) == SmallForm::sample_bytes && sizeof(Sums) <= SmallForm::bytes_of_sums);

  KOKKOS_FORCEINLINE_FUNCTION std::int32_t deformable_group(std::int32_t channel) const {
    return static_cast<std::int32_t>(deformable_channels_.quotient(static_cast<std::uint32_t>(channel)));
  }
  KOKKOS_FORCEINLINE_FUNCTION PixelPlace place(std::int32_t pixel) const {
    return pixels_(pixel < all_pixels_ ? pixel : all_pixels_ - 1);
  }

  KOKKOS_FORCEINLINE_FUNCTION Sample find(std::int32_t pixel, std::int32_t sample) const {
    const PixelPlace at = place(pixel);
    const std::int32_t tap = sample % taps_;
    const auto k = static_cast<std::int32_t>(kernel_width_.quotient(static_cast<std::uint32_t>(tap)));
    const std::int32_t l = tap - k * static_cast<std::int32_t>(kernel_width_.value());
    Sample found = samples_.find(at, k, l, samples_.read(at, sample), x_);
    PORTOPS_UNROLL
    for (int c = 0; c < corners; ++c) found.offset[c] += at.image * x_.stride[0];
    return found;
  }

  /// A thread has some elements under way at once. Neighbouring threads are neighbours in x: pixels, or channels where
  /// these are last.
  KOKKOS_FORCEINLINE_FUNCTION void make_columns(const Team& team, std::int32_t group, std::int32_t first_pixel,
                                                std::int32_t first_deformable, const Sample* samples,
                                                A* columns) const {
    constexpr int underway = 4;
    const std::int32_t all = elements_ * own_pixels, of_deformable = taps_ * own_pixels;
    const std::int32_t exist = (all_pixels_ - first_pixel < own_pixels ? all_pixels_ - first_pixel : own_pixels);
    const T* const x = x_.data + group * channels_ * x_.stride[1];
    PORTOPS_NO_UNROLL
    for (std::int32_t first = team.team_rank(); first < all; first += threads * underway) {
      A value[underway];
      std::int32_t to[underway];
      PORTOPS_UNROLL
      for (int i = 0; i < underway; ++i) {
        const std::int32_t item = first + i * threads < all ? first + i * threads : first;
        const auto outer = static_cast<std::int32_t>(by_inner_.quotient(static_cast<std::uint32_t>(item)));
        const std::int32_t inner = item - outer * static_cast<std::int32_t>(by_inner_.value());
        const std::int32_t channel = has_channels_last_ ? inner : outer, at = has_channels_last_ ? outer : inner;
        const std::int32_t tap = at / own_pixels, pixel = at - tap * own_pixels;
        const std::int32_t deformable = deformable_group(group * channels_ + channel) - first_deformable;
        value[i] = samples[deformable * of_deformable + at].value(x + channel * x_.stride[1]);
        to[i] = pixel < exist ? pixel * pitch_ + channel * of_channel_ + tap * of_tap_ : none;
      }
      PORTOPS_UNROLL
      for (int i = 0; i < underway; ++i) {
        if (to[i] != none) columns[to[i]] = value[i];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Team& team, std::int32_t group, std::int32_t first_out,
                                            std::int32_t first_pixel, const A* columns, Sums& sums) const {
    constexpr int underway = width == 1 ? 6 : 3, step = warp * width;
    const int warp_of_team = team.team_rank() / warp, lane = team.team_rank() % warp;
    const std::int32_t end = first_out + part_outs_ < outs_ ? first_out + part_outs_ : outs_;
    PORTOPS_NO_UNROLL
    for (std::int32_t first = first_out + warp_of_team * own_outs; first < end; first += warps * own_outs) {
      const T* weight[own_outs];
      PORTOPS_UNROLL
      for (int out = 0; out < own_outs; ++out) {
        const std::int32_t its = first + out < end ? first + out : first;
        weight[out] = weight_.data + (group * outs_ + its) * weight_.stride[0];
      }
      A sum[own_sums] = {};
      PORTOPS_NO_UNROLL
      for (std::int32_t of_step = lane * width; of_step < elements_; of_step += step * underway) {
        Word<T, width> factor[underway][own_outs];
        PORTOPS_UNROLL
        for (int i = 0; i < underway; ++i) {
          const std::int32_t element = of_step + i * step < elements_ ? of_step + i * step : of_step;
          PORTOPS_UNROLL
          for (int out = 0; out < own_outs; ++out) {
            factor[i][out] = *reinterpret_cast<const Word<T, width>*>(in_device_memory(weight[out] + element));
          }
        }
        PORTOPS_UNROLL
        for (int i = 0; i < underway; ++i) {
          if (of_step + i * step >= elements_) continue;
          PORTOPS_UNROLL
          for (int p = 0; p < own_pixels; ++p) {
            add_products(factor[i], column_word(columns + p * pitch_ + of_step + i * step), sum, p);
          }
        }
      }
      A* const all = sums.of_warp[warp_of_team];
      warp_barrier();  // what was there has been read
      add_over_lanes<own_sums, warp / 2>(sum, lane, 1, all);
      warp_barrier();
      const std::int32_t out = first + lane / own_pixels, pixel = first_pixel + lane % own_pixels;
      if (lane < own_sums && out < end && pixel < all_pixels_) write(group * outs_ + out, place(pixel), all[lane]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static Word<A, width> column_word(const A* from) {
    if constexpr (width == 1) {
      return *reinterpret_cast<const Word<A, width>*>(from);
    } else {
      return *reinterpret_cast<const ScratchWord<A, width>*>(from);
    }
  }

  /// The sums of pixel p.
  KOKKOS_FORCEINLINE_FUNCTION static void add_products(const Word<T, width> (&factor)[own_outs],
                                                       const Word<A, width>& column, A (&sum)[own_sums], int p) {
    PORTOPS_UNROLL
    for (int out = 0; out < own_outs; ++out) {
      A& its = sum[out * own_pixels + p];
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) its = Kokkos::fma(static_cast<A>(factor[out][i]), column[i], its);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int32_t out, const PixelPlace& at, A sum) const {
    const A result = bias_ != nullptr ? sum + static_cast<A>(bias_[out * bias_stride_]) : sum;
    out_.data[out_.offset(at.image, out, at.i, at.j)] = static_cast<T>(result);
  }

  static constexpr std::int32_t none = -1;

  PixelSamples<T> samples_;
  PixelsOfImages pixels_;
  Tensor32<const T> x_, weight_;
  Tensor32<T> out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t teams_;
  std::size_t scratch_bytes_;
  Divisor parts_, group_parts_;  ///< of the output channels, and of a group's
  Divisor deformable_channels_, kernel_width_;
  Divisor by_inner_;  ///< the channels of a group where they are last in x, or else the samples of a deformable group
  std::int32_t all_pixels_, channels_, outs_, part_outs_, taps_, elements_;
  std::int32_t pitch_;                ///< from a pixel's column to the next one's
  std::int32_t of_channel_, of_tap_;  ///< strides of a column's elements, which are those of the weight
  bool has_channels_last_;
};

/// Calls action<own_pixels, width>() with the kernel's parameters.
template <class T, class Action>
void with_small_form(const Windows& windows, const Tensor4& weight, const SmallForm& form, const Action& action) {
  constexpr int width = 4;
  const bool has_words = windows.group_column() % width == 0 && weight.stride[0] % width == 0 &&
                         reinterpret_cast<std::uintptr_t>(weight.data) % (width * sizeof(T)) == 0;
  const auto of_pixels = [&]<int own_pixels>() {
    has_words ? action.template operator()<own_pixels, width>() : action.template operator()<own_pixels, 1>();
  };
  switch (form.pixels) {
    case 4: return of_pixels.template operator()<4>();
    case 6: return of_pixels.template operator()<6>();
    default: return of_pixels.template operator()<8>();
  }
}

}  // namespace portops::impl
