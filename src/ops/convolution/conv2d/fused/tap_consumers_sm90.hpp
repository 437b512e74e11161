// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/tap_rounded_tile_sm90.hpp"
#include "ops/convolution/conv2d/fused/tap_split_tile_sm90.hpp"

// The warps that multiply tiles in shared memory. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

template <class F>
__device__ __forceinline__ void consume(const Arguments& arguments, const Block& block, char* shared,
                                        SharedAddress memory, blas::sm90::Ring ring, const int2* shapes) {
  const Windows& w = arguments.windows;
  const TapRows tap_rows(w, block.first_tap);
  const auto taps = static_cast<int>(w.taps()), kernel_width = static_cast<int>(w.kernel_width);
  const int pitch = x_pitch(F::channels, w.stride_x);
  int tap_bytes[taps_at_once];
#pragma unroll
  for (int i = 0; i < taps_at_once; ++i) {
    // Those that there are not multiply for nothing.
    const int tap = min(block.first_tap + i, taps - 1), y = tap / kernel_width, x = tap - y * kernel_width;
    tap_bytes[i] = ((y - tap_rows.first) * static_cast<int>(w.dilation_y) * arguments.plan.region_width +
                    x * static_cast<int>(w.dilation_x)) *
                   pitch;
  }
  Sums<F> sums;
  for (int i = block.first_tile; i < block.last_tile; ++i) {
    ring.full().wait(ring.round);
    const SharedAddress stage = memory + ring.stage * arguments.plan.stage_bytes;
    if constexpr (F::is_split) {
      multiply_split_tile(arguments, shapes[ring.stage], stage, tap_bytes, sums);
    } else {
      multiply_rounded_tile(arguments, shapes[ring.stage], stage, tap_bytes, sums);
    }
    ring.empty().arrive();
    ring.advance();
  }
  // Others may still be reading a stage.
  blas::sm90::synchronize<2, F::consumers>();
  keep_sums(sums, shared);
}

}  // namespace portops::impl::tap_products
