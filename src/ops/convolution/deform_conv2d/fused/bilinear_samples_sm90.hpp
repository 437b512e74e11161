// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/deform_conv2d/sample.hpp"
#include "ops/convolution/fused/fused_columns_sm90.hpp"

// The samples of the fused kernel of deform_conv2d. For deform_conv2d_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// What a sample is to the threads that make columns of it: its weights bring blended numbers to tf32.
template <Precision precision>
__device__ inline void write_sample(const FusedOperands& operands, const Sample<float>& sample, float4& weights,
                                    Place& place) {
  float weight[corners];
  sample.weights(weight);
#pragma unroll
  for (float& w : weight) w *= precision == Precision::tf32 ? sample.factor * blas::sm90::tf32_factor : sample.factor;
  if (!sample.is_outside()) {
    const std::int64_t units =
        sample.image * operands.x_image + sample.y * operands.x_row + sample.x * operands.x_pixel;
    place =
        static_cast<Place>(units * 16) | (sample.steps_right ? steps_right : 0) | (sample.steps_down ? steps_down : 0);
  } else if (sample.is_nan || 0.0f * sample.factor != 0.0f) {
    // No position, or 0 times a mask that is not finite.
    weight[0] = __int_as_float(0x7fffffff);
    place = 0;
  } else {
    place = is_zero;
  }
  weights = make_float4(weight[0], weight[1], weight[2], weight[3]);
}

/// Blended of the four pixels around each.
struct BilinearSamples {
  static constexpr int corner_count = corners;
  static constexpr int most_convolutions = 1;  ///< of a launch
  static constexpr int least_rows = 64;
  template <class T>
  static constexpr bool has_64_pixels = true;
  /// Of few output channels two, so that one begins or writes its sums while the other multiplies. Terms of f32 leave
  /// no registers for that.
  template <Precision precision>
  static constexpr int blocks_at_once(int rows) {
    return rows > 64 || precision == Precision::f32 ? 1 : 2;
  }
  template <Precision precision, int rows>
  static constexpr bool loads_ahead = blocks_at_once<precision>(rows) == 1;

  /// Finds those of a phase, for the block's pixels.
  template <class T, Precision precision, int pixels>
  static __device__ void find(const FusedArguments& arguments, const Phase& phase, std::int64_t first_pixel,
                              char* table) {
    const SampleTable<corner_count, pixels> samples{arguments.phase_taps};
    auto* const weights = reinterpret_cast<float4*>(table);
    auto* const places = reinterpret_cast<Place*>(table + samples.places());
    const Windows& windows = arguments.windows;
    const Sampler<T, float> sampler(windows, arguments.operands.offset, arguments.operands.mask);
    const int pixel = static_cast<int>(threadIdx.x) % pixels;
    const int first_tap = phase.first_taken + static_cast<int>(threadIdx.x) / pixels;
    if (first_pixel + pixel >= windows.images * windows.pixels()) {
      for (int tap = first_tap; tap < phase.taken_end; tap += threads / pixels) {
        weights[tap * pixels + pixel] = float4{};
        places[tap * pixels + pixel] = is_zero;
      }
      return;
    }
    const Pixel at = locate(windows, first_pixel + pixel);
    // Several at a time: what is read for them comes from far away.
    constexpr int batch = 5;
    for (int first = first_tap; first < phase.taken_end; first += batch * threads / pixels) {
      Position<float> position[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int tap = min(first + i * threads / pixels, phase.taken_end - 1);
        const std::uint32_t k = arguments.kernel_width.quotient(phase.first_tap + tap);
        const std::uint32_t l = phase.first_tap + tap - k * arguments.kernel_width.value();
        position[i] = sampler.position(at.image, at.y, at.x, phase.deformable_group, k, l);
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int tap = first + i * threads / pixels;
        if (tap >= phase.taken_end) break;
        write_sample<precision>(arguments.operands, sampler.sample(position[i]), weights[tap * pixels + pixel],
                                places[tap * pixels + pixel]);
      }
    }
  }
};

}  // namespace portops::impl::fused_sm90
