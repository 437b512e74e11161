// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/resident_layout.hpp"
#include "ops/convolution/conv2d/fused/tensor_maps_sm90.hpp"
#include "ops/convolution/fused/fused_columns_sm90.hpp"

// What the kernels of conv2d by copies of windows are given, and how they read columns in tf32. For conv2d_sm90.cu
// alone.

namespace portops::impl::fused_sm90 {

/// The convolutions of a launch, how the windows of each lie in x, and its weight.
template <int most>
struct WholeBatch {
  FusedBatch<most> batch;
  bool is_packed = false;  ///< the weight, of all
  WindowMap windows[most];
  WeightMap weights[most];
  ResidentLayout resident;  ///< of resident blocks, which are those of one convolution
};

/// The pixel, of eight, whose columns are row `row` of these: what eight lanes read at once then lies in all banks.
__device__ __forceinline__ constexpr int pixel_of_row(int row) { return (row & 2) | (row & 1) << 2 | row >> 2; }

/// Reads columns of a step in tf32 on their way to registers: of two pixels, from where this thread's first unit of
/// each lies on.
__device__ __forceinline__ void read_columns(SharedAddress first, SharedAddress second,
                                             RowsInRegisters<Precision::tf32>& columns) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float4 vector = blas::sm90::read_float4((row == 0 ? first : second) ^ half * 64);
      const std::uint32_t words[4] = {__float_as_uint(vector.x), __float_as_uint(vector.y), __float_as_uint(vector.z),
                                      __float_as_uint(vector.w)};
      place_words<Precision::tf32, true>(words, row, half, columns);
    }
  }
}

/// Reads those of a warpgroup whose pixels are rows of a tile, eight after eight.
class ColumnReader {
 public:
  /// Of a warp's 16 pixels, so many pixels behind the stage's first.
  __device__ __forceinline__ explicit ColumnReader(int first_pixel) {
    const int lane = threadIdx.x % 32, pixel = first_pixel + pixel_of_row(lane / 4);
    // Kept: the compiler would work it out each time.
    asm volatile("mov.u32 %0, %1;" : "=r"(first_) : "r"(Tile<Precision::tf32>::offset(pixel, lane % 4)));
  }
  __device__ __forceinline__ void operator()(SharedAddress stage, RowsInRegisters<Precision::tf32>& columns) const {
    read_columns(stage + first_, stage + first_ + 8 * Tile<Precision::tf32>::row_bytes, columns);
  }

 private:
  SharedAddress first_;
};

/// Sums whose rows are pixels as ColumnReader takes them.
template <class Product>
struct SumsOfPixels {
  const Product& product;

  template <class Action>
  __device__ __forceinline__ void for_rows(const Action& action) const {
    product.for_rows(
        [&](int row, int column, const auto& pair_at) { action((row & ~7) | pixel_of_row(row & 7), column, pair_at); });
  }
};

}  // namespace portops::impl::fused_sm90
