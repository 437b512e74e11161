// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace portops::impl {

/// On hosts: what calls of add, and of clip or relu, would make of a convolution's result, where it is written
/// (ProgramCall). As they do, each rounds to the element type.
template <class T>
struct Finish {
  using A = Arithmetic<T>;
  static constexpr int most = 128;  ///< neighbours that it takes at once

  const T* addend = nullptr;  ///< elements that lie as those of `out` do; may be null
  bool has_bounds = false;
  A min = 0, max = 0;  ///< the bounds, as the element type has them

  Finish() = default;
  explicit Finish(const ConvolutionOut& to)
      : addend(static_cast<const T*>(to.addend)),
        has_bounds(to.bounds),
        min(static_cast<A>(static_cast<T>(to.bounds.min))),
        max(static_cast<A>(static_cast<T>(to.bounds.max))) {}

  explicit operator bool() const { return addend != nullptr || has_bounds; }

  /// What of it sums take before they are written: bounds, where nothing is added and writing does not round.
  Finish of_sums() const { return suits_sums() ? *this : Finish(); }
  /// And what is left of it then.
  Finish of_written() const { return suits_sums() ? Finish() : *this; }

  A within_bounds(A x) const {
    const A raised = x < min ? min : x;
    return raised > max ? max : raised;
  }

  /// to[i] = what is made of from[i], for at most so many neighbours from element `at` of `out` on.
  void operator()(T* to, const T* from, std::int64_t at, int count) const {
    if constexpr (std::is_same_v<T, A>) {
      for (int i = 0; i < count; ++i) {
        const A sum = addend != nullptr ? from[i] + addend[at + i] : from[i];
        to[i] = has_bounds ? within_bounds(sum) : sum;
      }
    } else {
      A value[most] = {}, other[most] = {};
      blas::convert_run(value, from, count);
      if (addend != nullptr) {
        T rounded[most] = {};
        blas::convert_run(other, addend + at, count);
        for (int i = 0; i < count; ++i) value[i] += other[i];
        blas::convert_run(rounded, value, count);
        blas::convert_run(value, rounded, count);
      }
      for (int i = 0; i < count && has_bounds; ++i) value[i] = within_bounds(value[i]);
      blas::convert_run(to, value, count);
    }
  }

 private:
  bool suits_sums() const { return addend == nullptr && std::is_same_v<T, A>; }
};

/// Adds the bias of so many channels, from `channel` on, to the sums of pixels, which have rows of `stride`, and clips
/// them, if `finish` does; bias may be null.
template <class T>
void add_bias(Arithmetic<T>* sums, std::int64_t stride, int pixels, const T* bias, std::int64_t bias_stride,
              std::int64_t channel, int channels, const Finish<T>& finish) {
  using A = Arithmetic<T>;
  constexpr int most = 64;
  A addend[most] = {};
  for (int first = 0; first < channels; first += most) {
    const int count = std::min(channels - first, most);
    for (int i = 0; i < count && bias != nullptr; ++i) {
      addend[i] = static_cast<A>(bias[(channel + first + i) * bias_stride]);
    }
    for (int p = 0; p < pixels; ++p) {
      A* const sum = sums + p * stride + first;
      if (bias != nullptr) {
        for (int i = 0; i < count; ++i) sum[i] += addend[i];
      }
      if (finish.has_bounds) {
        for (int i = 0; i < count; ++i) sum[i] = finish.within_bounds(sum[i]);
      }
    }
  }
}

/// As write_pixels(), and finishes them. Where there is something to finish, pixels or channels of `tensor` are
/// neighbours.
template <class T>
void write_finished(const Finish<T>& finish, const Tensor4& tensor, std::int64_t offset, const Arithmetic<T>* from,
                    std::int64_t channel_step, std::int64_t pixel_step, int channels, int pixels) {
  if (!finish) return write_pixels<T>(tensor, offset, from, channel_step, pixel_step, channels, pixels);
  const bool by_channels = tensor.stride[3] != 1;
  const std::int64_t line_step = by_channels ? pixel_step : channel_step;
  const std::int64_t step = by_channels ? channel_step : pixel_step;
  const std::int64_t to_line = tensor.stride[by_channels ? 3 : 1];
  const int lines = by_channels ? pixels : channels, length = by_channels ? channels : pixels;
  constexpr int most_lines = 16;
  T rounded[most_lines * Finish<T>::most];
  for (int line = 0; line < lines; line += most_lines) {
    const int some = std::min(lines - line, most_lines);
    for (int i = 0; i < length; i += Finish<T>::most) {
      const int count = std::min(length - i, Finish<T>::most);
      copy_lines(rounded, count, from + line * line_step + i * step, line_step, step, some, count);
      for (int k = 0; k < some; ++k) {
        const std::int64_t at = offset + (line + k) * to_line + i;
        finish(static_cast<T*>(tensor.data) + at, rounded + std::int64_t{k} * count, at, count);
      }
    }
  }
}

/// The same for a result that lies in other memory, contiguous as `out` is: an item some neighbours.
template <class T>
struct FinishAll {
  static constexpr int blocks = 0;
  Finish<T> finish;
  const T* from;
  T* out;
  std::int64_t count;

  std::int64_t items() const { return ceil_div(count, std::int64_t{Finish<T>::most}); }
  void operator()(std::int64_t item) const {
    const std::int64_t at = item * Finish<T>::most;
    finish(out + at, from + at, at, static_cast<int>(std::min<std::int64_t>(count - at, Finish<T>::most)));
  }
};

}  // namespace portops::impl
