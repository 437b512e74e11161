// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/tensor_cores_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_walk_sm90.hpp"

// How the producers of a block, the threads behind its consumers, bring pixels to shared memory. A form F says how many
// there are of both. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

/// Pixels of a rectangle of an image, which may reach beyond it, and a thread's unit of four of their channels.
struct Rectangle {
  const float* first;  ///< of the unit, of the image's first pixel
  int channels;        ///< of the unit that there are, at most 0 where there is none
  int y, x, height, width;
  int image_height, image_width;
  int stride_y, stride_x;  ///< in units, or in numbers where these are copied
};

/// A number that goes through a rectangle's pixels, so many at a time, row by row.
struct Stepper {
  int value, step, turn;  ///< turn: besides, from the end of a row to the next one's first pixel

  __device__ __forceinline__ Stepper(const Place& begin, const Place& step_by, int width, int of_row, int of_column)
      : value(begin.row * of_row + begin.column * of_column),
        step(step_by.row * of_row + step_by.column * of_column),
        turn(of_row - width * of_column) {}
  __device__ __forceinline__ void advance(bool turns) {
    value += step;
    if (turns) value += turn;
  }
};

/// Begins to copy the rectangle's pixels into shared memory, row by row; what is outside of the image becomes 0. By
/// units of 16 bytes, of which the last one need not be full, or by numbers where units do not lie at multiples of
/// these.
template <class F, int units, bool by_numbers = false>
__device__ __forceinline__ void copy_rectangle(const Rectangle& from, SharedAddress to, int pitch, int row_pitch) {
  constexpr int together = F::producers / units;
  const int thread = static_cast<int>(threadIdx.x) - F::consumers, first = thread / units;
  const Place begin(first, from.width), step(together, from.width);
  const auto stepper = [&](int of_row, int of_column) { return Stepper(begin, step, from.width, of_row, of_column); };
  Stepper y = stepper(1, 0), x = stepper(0, 1);
  Stepper at = stepper(from.stride_y, from.stride_x), place = stepper(row_pitch, pitch);
  y.value += from.y;
  x.value += from.x;
  at.value += from.y * from.stride_y + from.x * from.stride_x;
  place.value += static_cast<int>(to) + thread % units * 16;
  const int x_end = from.x + from.width - step.column;
#pragma unroll 2
  for (int left = from.height * from.width - first; left > 0; left -= together) {
    const bool is_in = from.channels > 0 && static_cast<unsigned>(y.value) < static_cast<unsigned>(from.image_height) &&
                       static_cast<unsigned>(x.value) < static_cast<unsigned>(from.image_width);
    const auto to_place = static_cast<SharedAddress>(place.value);
    if constexpr (by_numbers) {
      const float* const unit = from.first + (is_in ? at.value : 0);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool exists = is_in && i < from.channels;
        blas::sm90::copy_number(to_place + 4 * i, unit + (exists ? i : 0), exists ? 4 : 0);
      }
    } else {
      blas::sm90::copy_unit(to_place, reinterpret_cast<const float4*>(from.first) + (is_in ? at.value : 0),
                            is_in ? 16 : 0);
    }
    const bool turns = x.value >= x_end;
    y.advance(turns);
    x.advance(turns);
    at.advance(turns);
    place.advance(turns);
  }
}

/// Calls each(place) for a thread's units of so many pixels in shared memory.
template <class F, int units, class Each>
__device__ __forceinline__ void for_pixels(SharedAddress first, int pitch, int count, const Each& each) {
  constexpr int together = F::producers / units;
  const int thread = static_cast<int>(threadIdx.x) - F::consumers;
  SharedAddress place = first + thread / units * pitch + thread % units * 16;
#pragma unroll 4
  for (int pixel = thread / units; pixel < count; pixel += together) {
    each(place);
    place += together * pitch;
  }
}

/// Leaves numbers in shared memory rounded to tf32.
__device__ __forceinline__ void round_unit(SharedAddress place, const float4& numbers) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(blas::sm90::tf32_bits(numbers.x)),
               "r"(blas::sm90::tf32_bits(numbers.y)), "r"(blas::sm90::tf32_bits(numbers.z)),
               "r"(blas::sm90::tf32_bits(numbers.w))
               : "memory");
}

}  // namespace portops::impl::tap_products
