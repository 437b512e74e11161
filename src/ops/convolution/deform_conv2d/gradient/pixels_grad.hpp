// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/lanes.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/deform_conv2d/gradient/columns_grad.hpp"
#include "ops/convolution/deform_conv2d/pixel_samples.hpp"

#include <cstdint>

namespace portops::impl {

/// On GPUs, for windows of few products: the gradients of x, offset and mask without columns in memory. A thread takes
/// a sample of a pixel: the channels of its deformable group or, where these are many, every second, fourth or eighth
/// block of them. Of each channel it adds up the products of out_grad and the weight, and adds what follows to x_grad,
/// atomically. Neighbouring threads are neighbouring pixels. Needs numbers of 32 bits: see fits_pixels().
template <Backend B, class T, int N>
class PixelsGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 4;
  std::int64_t first_team = 0;

  /// x_grad: sums; null data if it is not wanted.
  PixelsGrad(const ImageStep& step, const Tensor4& weight, const Tensor4& out_grad, const Tensor4& x_grad,
             const Tensor4& offset_grad, const Tensor4& mask_grad)
      : samples_(step),
        sampler_(step.windows, step.offset, step.mask, Edge::of_gradients),
        sample_grad_(step.windows, {nullptr, offset_grad, mask_grad}),
        x_(step.x),
        weight_(weight),
        out_grad_(out_grad),
        x_grad_(x_grad),
        wants_products_(offset_grad.data != nullptr || mask_grad.data != nullptr) {
    const Windows& w = step.windows;
    const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
    const auto divisor = [](std::int64_t number) { return Divisor(static_cast<std::uint32_t>(number)); };
    items_ = w.images * w.samples() * w.pixels();
    run_ = narrow(w.channel_run());
    run_blocks_ = divisor(ceil_div(run_, N));
    blocks_ = narrow(w.deformable_channels() / run_ * ceil_div(run_, N));
    while (slice_bits_ < most_slice_bits && (1 << slice_bits_) * least_blocks < blocks_) ++slice_bits_;
    pixels_ = divisor(w.pixels());
    out_width_ = divisor(w.out_width);
    samples_of_pixel_ = divisor(w.samples());
    taps_ = divisor(w.taps());
    kernel_width_ = divisor(w.kernel_width);
    group_channels_ = divisor(w.group_channels());
    group_outs_ = narrow(w.group_out_channels());
    deformable_channels_ = narrow(w.deformable_channels());
  }

  std::int64_t teams() const { return ceil_div(items_, threads >> slice_bits_); }
  std::size_t scratch_bytes() const { return slice_bits_ == 0 ? 0 : sizeof(A) * corners * threads; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int items_of_team = threads >> slice_bits_;
    const int of_team = team.team_rank() & (items_of_team - 1), slice = team.team_rank() / items_of_team;
    const std::int64_t item = (first_team + team.league_rank()) * items_of_team + of_team;
    const bool exists = item < items_;
    const Place place = place_of(static_cast<std::uint32_t>(exists ? item : 0));
    const Sample<A> sample = sampler_.sample(
        samples_.position(place.at, place.k, place.l, samples_.read(place.at, place.number), place.deformable_group));
    A product[corners] = {};
    if (exists && !sample.is_outside()) add_channels(place, sample, slice, product);
    if (!wants_products_) return;
    if (slice_bits_ > 0) {
      A* const scratch = scratch_of<A>(team);
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) scratch[k * threads + team.team_rank()] = product[k];
      team.team_barrier();
      if (slice > 0) return;
      for (int other = 1; other < 1 << slice_bits_; ++other) {
        PORTOPS_UNROLL
        for (int k = 0; k < corners; ++k) product[k] += scratch[k * threads + other * items_of_team + of_team];
      }
    }
    if (exists) sample_grad_.write({place.at.image, place.at.i, place.at.j}, place.number, sample, product);
  }

 private:
  static constexpr int most_slice_bits = 3;
  static constexpr int least_blocks = 4;  ///< of a slice, where there are several

  struct Place {
    PixelPlace at;
    std::int32_t number;  ///< of the sample in its pixel
    std::int32_t deformable_group, k, l;
  };

  /// Pixels are counted fastest, then samples and images.
  KOKKOS_FUNCTION Place place_of(std::uint32_t item) const {
    const auto narrow = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
    const std::uint32_t row = pixels_.quotient(item), pixel = item - row * pixels_.value();
    const std::uint32_t image = samples_of_pixel_.quotient(row), number = row - image * samples_of_pixel_.value();
    const std::uint32_t group = taps_.quotient(number), tap = number - group * taps_.value();
    const std::uint32_t i = out_width_.quotient(pixel), k = kernel_width_.quotient(tap);
    return {{narrow(image), narrow(i), narrow(pixel - i * out_width_.value())},
            narrow(number),
            narrow(group),
            narrow(k),
            narrow(tap - k * kernel_width_.value())};
  }

  /// Adds the channels of a slice to x_grad, and their products with the corners.
  KOKKOS_FUNCTION void add_channels(const Place& place, const Sample<A>& sample, int slice,
                                    A (&product)[corners]) const {
    A weight[corners];
    sample.weights(weight);
    const auto y = static_cast<std::int32_t>(sample.y), x = static_cast<std::int32_t>(sample.x);
    const std::int32_t below = y + (sample.steps_down ? 1 : 0), after = x + (sample.steps_right ? 1 : 0);
    std::int32_t from[corners], to[corners];
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      weight[k] *= sample.factor;
      const std::int32_t row = k >= 2 ? below : y, column = k % 2 == 1 ? after : x;
      from[k] = x_.offset(place.at.image, 0, row, column);
      to[k] = x_grad_.offset(place.at.image, 0, row, column);
    }
    for (std::int32_t block = slice; block < blocks_; block += 1 << slice_bits_) {
      const auto run = static_cast<std::int32_t>(run_blocks_.quotient(static_cast<std::uint32_t>(block)));
      const std::int32_t in_run = (block - run * static_cast<std::int32_t>(run_blocks_.value())) * N;
      const std::int32_t channel = place.deformable_group * deformable_channels_ + run * run_ + in_run;
      const int count = run_ - in_run < N ? run_ - in_run : N;
      A grad[N];
      column_grads(place, channel, count, grad);
      PORTOPS_UNROLL
      for (int n = 0; n < N; ++n) {
        if (n >= count) break;
        const T* const pixel = x_.data + (channel + n) * x_.stride[1];
        if (wants_products_) {
          PORTOPS_UNROLL
          for (int k = 0; k < corners; ++k) {
            // Of a corner that does not exist another one is read, for nothing.
            const A value = static_cast<A>(pixel[from[k]]);
            product[k] = sample.exists[k] ? Kokkos::fma(grad[n], value, product[k]) : A(0);
          }
        }
        if (x_grad_.data == nullptr) continue;
        A* const x_grad = x_grad_.data + (channel + n) * x_grad_.stride[1];
        PORTOPS_UNROLL
        for (int k = 0; k < corners; ++k) {
          if (sample.exists[k]) Kokkos::atomic_add(x_grad + to[k], weight[k] * grad[n]);
        }
      }
    }
  }

  /// The gradients of the column's elements of some channels of a group.
  KOKKOS_FORCEINLINE_FUNCTION void column_grads(const Place& place, std::int32_t channel, int count,
                                                A (&grad)[N]) const {
    const auto group = static_cast<std::int32_t>(group_channels_.quotient(static_cast<std::uint32_t>(channel)));
    const std::int32_t in_group = channel - group * static_cast<std::int32_t>(group_channels_.value());
    const std::int32_t first_out = group * group_outs_;
    const T* const out_grad = out_grad_.data + out_grad_.offset(place.at.image, first_out, place.at.i, place.at.j);
    const T* const weight = weight_.data + weight_.offset(first_out, in_group, place.k, place.l);
    PORTOPS_UNROLL
    for (int n = 0; n < N; ++n) grad[n] = A(0);
    constexpr int batch = 8;  // output channels whose loads are on their way together
    for (std::int32_t first = 0; first < group_outs_; first += batch) {
      T of_out[batch];
      PORTOPS_UNROLL
      for (int m = 0; m < batch; ++m) {
        of_out[m] = out_grad[(first + m < group_outs_ ? first + m : first) * out_grad_.stride[1]];
      }
      PORTOPS_UNROLL
      for (int m = 0; m < batch; ++m) {
        if (first + m >= group_outs_) break;
        const T* const of_channel = weight + (first + m) * weight_.stride[0];
        PORTOPS_UNROLL
        for (int n = 0; n < N; ++n) {
          const A factor = static_cast<A>(of_channel[n < count ? n * weight_.stride[1] : 0]);
          grad[n] = Kokkos::fma(factor, static_cast<A>(of_out[m]), grad[n]);
        }
      }
    }
  }

  PixelSamples<T> samples_;
  SamplerOf<T> sampler_;
  SampleGrad<T> sample_grad_;
  Tensor32<const T> x_, weight_, out_grad_;
  Tensor32<A> x_grad_;
  bool wants_products_;
  std::int64_t items_;
  int slice_bits_ = 0;
  std::int32_t blocks_, run_, group_outs_, deformable_channels_;
  Divisor pixels_, out_width_, samples_of_pixel_, taps_, kernel_width_, group_channels_, run_blocks_;
};

}  // namespace portops::impl
