// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/turn_words.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace portops::impl {

/// On hosts: to[line · to_line + i] = from[line · from_line + i · from_step] for so many lines of `count` neighbours,
/// between elements and the type that they are computed in, or two alike. Fast where from_step or from_line is 1.
template <class To, class From>
class CopyLines {
 public:
  static void copy(To* to, std::int64_t to_line, const From* from, std::int64_t from_line, std::int64_t from_step,
                   std::int64_t lines, int count) {
    if (from_step == 1) {
      for (std::int64_t line = 0; line < lines; ++line) copy_run(to + line * to_line, from + line * from_line, count);
    } else if (from_line == 1 && lines >= side && count >= side) {
      // Lines are written from end to end; the last squares reach back where there is no whole one left.
      for (std::int64_t k = 0; k < lines; k += side) {
        const std::int64_t line = std::min(k, lines - side);
        for (int i = 0; i < count; i += side) {
          const int at = std::min(i, count - side);
          turn(to + line * to_line + at, to_line, from + line + at * from_step, from_step);
        }
      }
    } else {
      for (std::int64_t line = 0; line < lines; ++line) {
        for (int i = 0; i < count; ++i) {
          to[line * to_line + i] = static_cast<To>(from[line * from_line + i * from_step]);
        }
      }
    }
  }

 private:
  using A = Arithmetic<To>;
  static constexpr int side = host::turned_side<A>;

  static void copy_run(To* to, const From* from, int count) {
    if constexpr (std::is_same_v<To, From>) {
      // By blocks, of which the last one reaches back: lines are short, and calls of a library's function are not.
      constexpr int block = 64 / sizeof(To), half = block / 2;
      if (count >= block) {
        for (int i = 0; i < count - block; i += block) std::memcpy(to + i, from + i, sizeof(To) * block);
        std::memcpy(to + count - block, from + count - block, sizeof(To) * block);
      } else if (count >= half) {
        std::memcpy(to, from, sizeof(To) * half);
        std::memcpy(to + count - half, from + count - half, sizeof(To) * half);
      } else {
        for (int i = 0; i < count; ++i) to[i] = from[i];
      }
    } else {
      blas::convert_run(to, from, count);
    }
  }

  /// Squares are turned in the type that is computed in.
  static void turn(To* to, std::int64_t to_line, const From* from, std::int64_t from_step) {
    if constexpr (std::is_same_v<To, From>) {
      static_assert(std::is_same_v<To, A>);
      host::turn(to, to_line, from, from_step);
    } else {
      A before[side * side], turned[side * side];
      for (int i = 0; i < side; ++i) blas::convert_run(before + i * side, from + i * from_step, side);
      host::turn(turned, side, before, side);
      for (int line = 0; line < side; ++line) blas::convert_run(to + line * to_line, turned + line * side, side);
    }
  }
};

template <class To, class From>
void copy_lines(To* to, std::int64_t to_line, const From* from, std::int64_t from_line, std::int64_t from_step,
                std::int64_t lines, int count) {
  CopyLines<To, From>::copy(to, to_line, from, from_line, from_step, lines, count);
}

/// Writes so many pixels, which lie at one distance, of some channels, from `offset` on. Of `from`, channels and pixels
/// lie so far apart.
template <class T>
void write_pixels(const Tensor4& tensor, std::int64_t offset, const Arithmetic<T>* from, std::int64_t channel_step,
                  std::int64_t pixel_step, int channels, int pixels) {
  T* const to = static_cast<T*>(tensor.data) + offset;
  if (tensor.stride[3] == 1) {
    copy_lines(to, tensor.stride[1], from, channel_step, pixel_step, channels, pixels);
  } else if (tensor.stride[1] == 1) {
    copy_lines(to, tensor.stride[3], from, pixel_step, channel_step, pixels, channels);
  } else {
    for (int c = 0; c < channels; ++c) {
      for (int p = 0; p < pixels; ++p) {
        to[c * tensor.stride[1] + p * tensor.stride[3]] = static_cast<T>(from[c * channel_step + p * pixel_step]);
      }
    }
  }
}

}  // namespace portops::impl
