// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/deform_conv2d/sample.hpp"
#include "ops/convolution/strip.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace portops::impl {

/// On hosts: the samples of a strip at one tap for one deformable group.
/// Positions are worked out side by side, in vectors, and so is the blending of a channel, whose pixels are gathered
/// where they lie. Plain loops over arrays do it: compilers make vectors of them. The numbers are those of Sampler and
/// blend(). Needs numbers of 32 bits: see fits_strips().
template <class T>
class StripSamples : public Strip<T> {
 public:
  using typename Strip<T>::A;
  using Strip<T>::for_rows, Strip<T>::read;
  using Pixels = A[corners][strip_pixels];

  /// The mask's data may be null.
  StripSamples(const Windows& windows, const Tensor4& offset, const Tensor4& mask, const Tensor4& x,
               Edge edge = Edge::of_values)
      : Strip<T>(windows),
        offset_(offset),
        mask_(mask),
        x_(x),
        before_(position_before<A>(edge)),
        step_y_(windows.height > 1 ? static_cast<std::int32_t>(x.stride[2]) : 0),
        step_x_(windows.width > 1 ? static_cast<std::int32_t>(x.stride[3]) : 0) {
    std::fill_n(factor_, strip_pixels, A(1));
  }
  explicit StripSamples(const ImageStep& step) : StripSamples(step.windows, step.offset, step.mask, step.x) {}

  /// Turns to so many pixels of an image, from `first` on.
  void start(std::int64_t image, std::int64_t first, int count) {
    Strip<T>::start(image, first, count);
    for_rows([&](int at, std::int64_t i, std::int64_t j, int pixels) {
      const auto y = static_cast<std::int32_t>(i * windows_.stride_y - windows_.top);
      const auto x = static_cast<std::int32_t>(j * windows_.stride_x - windows_.left);
      const auto step = static_cast<std::int32_t>(windows_.stride_x);
      for (int k = 0; k < pixels; ++k) {
        window_y_[at + k] = y;
        window_x_[at + k] = x + k * step;
      }
    });
  }

  /// Finds the samples at a tap (k, l).
  void find(std::int64_t deformable_group, std::int64_t k, std::int64_t l) {
    const std::int64_t channel = deformable_group * windows_.taps() + k * windows_.kernel_width + l;
    read(offset_, 2 * channel, v_);
    read(offset_, 2 * channel + 1, u_);
    if (mask_.data != nullptr) read(mask_, channel, factor_);
    place(static_cast<std::int32_t>(k * windows_.dilation_y), static_cast<std::int32_t>(l * windows_.dilation_x));
  }

  /// Writes a channel of the samples.
  void blend(A* values, std::int64_t channel) const {
    if constexpr (sizeof(T) > 2) {
      const T* const x = channel_of_x(channel);
      blend_pixels(values, [&](int corner, int j) { return x[offset_of_[corner][j]]; });
    } else {
      Pixels pixels;
      gather(pixels, channel);
      blend(values, pixels);
    }
  }
  void blend(A* values, const Pixels& pixels) const {
    blend_pixels(values, [&](int corner, int j) { return pixels[corner][j]; });
  }

  /// Reads the pixels at the corners; others where a corner is none.
  void gather(Pixels& pixels, std::int64_t channel) const {
    const T* const x = channel_of_x(channel);
    for (int corner = 0; corner < corners; ++corner) {
      if constexpr (sizeof(T) > 2) {
        for (int j = 0; j < count_; ++j) pixels[corner][j] = x[offset_of_[corner][j]];
      } else {
        // No processor gathers 16 bits: they are collected first, and then converted in vectors.
        T elements[strip_pixels];
        for (int j = 0; j < count_; ++j) elements[j] = x[offset_of_[corner][j]];
        blas::convert_run(pixels[corner], elements, count_);
      }
    }
  }

  /// Of each sample: which rows and columns of its corners exist, bit by bit, none where it lies outside.
  static constexpr std::int32_t above = 1, below = 2, left = 4, right = 8;
  const std::int32_t* edges() const { return edges_; }
  /// How far it lies from the corner above left, where it is not outside.
  const A* down() const { return down_; }
  const A* across() const { return across_; }
  const A* factor() const { return factor_; }
  /// The weight of a corner with the mask's factor, and where the corner lies in a channel of an image.
  const A* weight(int corner) const { return weight_[corner]; }
  const std::int32_t* offset(int corner) const { return offset_of_[corner]; }
  /// What a sample outside of the image is without the factor: NaN, where its position is.
  const A* nothing() const { return nothing_; }

 private:
  using Strip<T>::windows_, Strip<T>::image_, Strip<T>::count_;

  const T* channel_of_x(std::int64_t channel) const {
    return static_cast<const T*>(x_.data) + image_ * x_.stride[0] + channel * x_.stride[1];
  }

  /// From offsets to samples, so many pixels down and across from the windows' first ones.
  void place(std::int32_t tap_y, std::int32_t tap_x) {
    const auto height = static_cast<std::int32_t>(windows_.height), width = static_cast<std::int32_t>(windows_.width);
    const std::int32_t step_y = step_y_, step_x = step_x_;
    const A before = before_;
    for (int j = 0; j < count_; ++j) {
      const A v = static_cast<A>(window_y_[j] + tap_y) + v_[j];
      const A u = static_cast<A>(window_x_[j] + tap_x) + u_[j];
      const bool inside = (v > before) & (v < static_cast<A>(height)) & (u > before) & (u < static_cast<A>(width));
      const A inside_v = inside ? v : A(0), inside_u = inside ? u : A(0);
      const A floor_v = std::floor(inside_v), floor_u = std::floor(inside_u);
      const auto y = static_cast<std::int32_t>(floor_v), x = static_cast<std::int32_t>(floor_u);
      const bool has_above = y >= 0, has_below = y + 1 < height, has_left = x >= 0, has_right = x + 1 < width;
      const A to_below = inside_v - floor_v, to_right = inside_u - floor_u;
      // The weights of rows and columns that do not exist are 0, and their pixels are others, for nothing.
      const A row[2] = {has_above ? A(1) - to_below : A(0), has_below ? to_below : A(0)};
      const A column[2] = {has_left ? A(1) - to_right : A(0), has_right ? to_right : A(0)};
      const std::int32_t offset_y[2] = {(has_above ? y : 0) * step_y, (has_below ? y + 1 : y) * step_y};
      const std::int32_t offset_x[2] = {(has_left ? x : 0) * step_x, (has_right ? x + 1 : x) * step_x};
      const A factor = factor_[j];
      weight_[0][j] = row[0] * column[0] * factor;
      weight_[1][j] = row[0] * column[1] * factor;
      weight_[2][j] = row[1] * column[0] * factor;
      weight_[3][j] = row[1] * column[1] * factor;
      offset_of_[0][j] = offset_y[0] + offset_x[0];
      offset_of_[1][j] = offset_y[0] + offset_x[1];
      offset_of_[2][j] = offset_y[1] + offset_x[0];
      offset_of_[3][j] = offset_y[1] + offset_x[1];
      down_[j] = to_below;
      across_[j] = to_right;
      const bool is_nan = (v != v) | (u != u);
      nothing_[j] = is_nan ? std::numeric_limits<A>::quiet_NaN() : A(0);
      const std::int32_t edges =
          (has_above ? above : 0) | (has_below ? below : 0) | (has_left ? left : 0) | (has_right ? right : 0);
      edges_[j] = inside ? edges : 0;
    }
  }

  /// `pixel(corner, j)` reads the pixel at a corner.
  template <class Pixel>
  void blend_pixels(A* __restrict values, const Pixel& pixel) const {
    for (int j = 0; j < count_; ++j) {
      A value = weight_[0][j] * static_cast<A>(pixel(0, j));
      value = std::fma(weight_[1][j], static_cast<A>(pixel(1, j)), value);
      value = std::fma(weight_[2][j], static_cast<A>(pixel(2, j)), value);
      value = std::fma(weight_[3][j], static_cast<A>(pixel(3, j)), value);
      values[j] = edges_[j] != 0 ? value : factor_[j] * nothing_[j];
    }
  }

  Tensor4 offset_, mask_, x_;
  A before_;
  std::int32_t step_y_, step_x_;
  /// Where windows begin in x.
  alignas(64) std::int32_t window_y_[strip_pixels];
  alignas(64) std::int32_t window_x_[strip_pixels];
  alignas(64) A v_[strip_pixels];  ///< offsets
  alignas(64) A u_[strip_pixels];
  alignas(64) A factor_[strip_pixels];  ///< the mask's
  alignas(64) A weight_[corners][strip_pixels];
  alignas(64) std::int32_t offset_of_[corners][strip_pixels];  ///< of the corners in a channel of an image
  alignas(64) std::int32_t edges_[strip_pixels];
  alignas(64) A down_[strip_pixels];
  alignas(64) A across_[strip_pixels];
  alignas(64) A nothing_[strip_pixels];
};

}  // namespace portops::impl
