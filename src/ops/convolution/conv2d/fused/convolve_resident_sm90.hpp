// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/cuda/kernel_order.hpp"
#include "ops/convolution/conv2d/fused/whole_columns_sm90.hpp"
#include "ops/convolution/fused/fused_output_sm90.hpp"

#include <cstring>

// The fused kernel of conv2d where the weight of some output channels fits into shared memory: blocks stay there with
// it, and take tiles of pixels one after the other. Each of their warpgroups has tiles of its own, so that one waits
// for windows or writes its sums while others multiply. For conv2d_sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// The steps of a stage, one after the other: how many pixels behind the stage's first the columns of each lie.
class StageTaps {
 public:
  __device__ __forceinline__ StageTaps(const FusedArguments& arguments, const ResidentLayout& layout)
      : width_(static_cast<int>(arguments.kernel_width.value())),
        across_(static_cast<int>(arguments.windows.dilation_x)),
        down_(static_cast<int>(arguments.windows.dilation_y) * layout.pitch - width_ * across_) {}

  __device__ __forceinline__ int offset() const { return offset_; }
  __device__ __forceinline__ void advance() {
    offset_ += across_;
    if (++column_ == width_) {
      column_ = 0;
      offset_ += down_;
    }
  }

 private:
  int width_, across_, down_;
  int offset_ = 0, column_ = 0;
};

/// Adds the products of all steps of a tile, in 16-bit types, of which instructions take so much.
template <Precision precision, bool turned, int rows, int instructions>
__device__ __forceinline__ void multiply_steps(blas::sm90::TileSums<rows>& sums, const FusedArguments& arguments,
                                               const ResidentLayout& layout, blas::sm90::Ring& ring,
                                               SharedAddress stages, SharedAddress weight) {
  constexpr int line_bytes = WeightMap::channels * chunk_bytes, row_bytes = 32 * instructions;
  const bool tells = threadIdx.x % 128 == 0;
  std::uint64_t b = blas::sm90::uniform(blas::sm90::describe<precision, turned, line_bytes>(weight));
  for (int i = 0; i < layout.tile_stages; ++i) {
    const std::uint64_t a = blas::sm90::uniform(
        blas::sm90::describe_rows(stages + ring.stage * layout.stage_bytes, row_bytes, layout.pitch));
    ring.full().wait(ring.round);
    StageTaps taps(arguments, layout);
    for (int tap = 0; tap < layout.stage_taps; ++tap) {
      sums.template add<precision, turned, instructions>(a + static_cast<unsigned>(taps.offset() * row_bytes >> 4), b);
      b += static_cast<unsigned>(layout.tile_bytes >> 4);
      taps.advance();
    }
    sums.template wait<1>();
    // The products of the stage before are over.
    if (i > 0 && tells) ring.empty_before().arrive();
    ring.advance();
  }
  sums.finish();
  if (tells) ring.empty_before().arrive();
}

/// The same in tf32.
template <int rows>
__device__ __forceinline__ void multiply_steps(blas::sm90::TileProduct<Precision::tf32, rows>& sums,
                                               const FusedArguments& arguments, const ResidentLayout& layout,
                                               blas::sm90::Ring& ring, SharedAddress stages, SharedAddress weight) {
  using Layout = Tile<Precision::tf32>;
  const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int first_pixel = warp * 2 * layout.pitch + pixel_of_row(lane / 4);
  for (int i = 0; i < layout.tile_stages; ++i) {
    const SharedAddress stage = stages + ring.stage * layout.stage_bytes;
    ring.full().wait(ring.round);
    StageTaps taps(arguments, layout);
    for (int tap = 0; tap < layout.stage_taps; ++tap) {
      RowsInRegisters<Precision::tf32> columns;
      const int pixel = first_pixel + taps.offset();
      read_columns(stage + Layout::offset(pixel, lane % 4), stage + Layout::offset(pixel + layout.pitch, lane % 4),
                   columns);
      sums.template add<false>(columns, weight, [] {});
      weight += layout.tile_bytes;
      taps.advance();
    }
    if (lane == 0) ring.empty().arrive();
    ring.advance();
  }
  sums.finish();
}

/// Splits what lies in a stage into terms, a warpgroup's: 16 channels of a pixel at a time, in the order of a packed
/// weight. A pixel has a row of each term.
__device__ __forceinline__ void split_stage(const ResidentLayout& layout, SharedAddress stage, SharedAddress terms) {
  constexpr int count = blas::sm90::terms_of<Precision::f32>, pieces = 2, vectors = 4, units = 2;
  const int all = layout.copied_bytes / chunk_bytes * pieces;
  for (int i = threadIdx.x % 128; i < all; i += 128) {
    const int pixel = i / pieces, piece = i % pieces;
    float4 vector[vectors];
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      vector[j] = blas::sm90::read_float4(stage + pixel * chunk_bytes + ((piece * vectors + j ^ pixel % 8) << 4));
    }
#pragma unroll
    for (int unit = 0; unit < units; ++unit) {
      std::uint32_t words[count][vectors];
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
        std::uint32_t pair[count];
        blas::sm90::split_pair(unit == 0 ? vector[j].x : vector[j].z, unit == 0 ? vector[j].y : vector[j].w, pair);
#pragma unroll
        for (int term = 0; term < count; ++term) words[term][j] = pair[term];
      }
#pragma unroll
      for (int term = 0; term < count; ++term) {
        blas::sm90::write_words(
            terms + term * layout.term_bytes + Tile<Precision::f32>::offset(pixel, piece * units + unit), words[term]);
      }
    }
  }
}

/// The same in f32, as terms.
template <int rows>
__device__ __forceinline__ void multiply_steps(blas::sm90::TileProduct<Precision::f32, rows>& sums,
                                               const FusedArguments& arguments, const ResidentLayout& layout,
                                               blas::sm90::Ring& ring, SharedAddress stages, SharedAddress weight) {
  using Layout = Tile<Precision::f32>;
  const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  // Of four matrices of eight pixels and a unit: two rows of the patch, then their next unit.
  const int first_pixel = (2 * warp + lane / 8 % 2) * layout.pitch + lane % 8, first_unit = lane / 16;
  const SharedAddress terms = stages + layout.stages * layout.stage_bytes;
  for (int i = 0; i < layout.tile_stages; ++i) {
    ring.full().wait(ring.round);
    // No warp reads the terms of the stage before any more.
    blas::sm90::synchronize_warpgroup(warpgroup);
    split_stage(layout, stages + ring.stage * layout.stage_bytes, terms);
    blas::sm90::synchronize_warpgroup(warpgroup);
    if (threadIdx.x % 128 == 0) ring.empty().arrive();
    ring.advance();
    StageTaps taps(arguments, layout);
    for (int tap = 0; tap < layout.stage_taps; ++tap) {
      RowsInRegisters<Precision::f32> columns;
      const int pixel = first_pixel + taps.offset();
#pragma unroll
      for (int term = 0; term < Layout::terms; ++term) {
#pragma unroll
        for (int k = 0; k < Layout::instructions; ++k) {
          blas::sm90::read_matrices<false>(terms + term * layout.term_bytes + Layout::offset(pixel, 2 * k + first_unit),
                                           columns.words[term][k]);
        }
      }
      sums.template add<false>(columns, weight, [] {});
      weight += layout.tile_bytes;
      taps.advance();
    }
  }
  sums.finish();
}

/// Two neighbours of a type.
template <class T>
struct alignas(2 * sizeof(T)) PairOf {
  T first, second;
};

/// Four lanes that have a word of each of four vectors have a vector each.
__device__ __forceinline__ void exchange_words(std::uint32_t (&words)[4]) {
  const unsigned lane = threadIdx.x;
#pragma unroll
  for (int apart = 1; apart <= 2; apart *= 2) {
    const bool is_second = (lane & apart) != 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t& first = words[apart == 1 ? 2 * i : i];
      std::uint32_t& second = words[apart == 1 ? 2 * i + 1 : i + 2];
      const std::uint32_t other = __shfl_xor_sync(0xffffffffu, is_second ? first : second, apart);
      (is_second ? first : second) = other;
    }
  }
}

/// Writes the sums of a pixel that this thread has, pairs of channels from `column` on, eight apart, where channels are
/// neighbours. `out` is where the pixel's first channel lies, or null where it is not there; it has so many.
template <int rows, class T, class PairAt>
__device__ __forceinline__ void write_channels(T* out, int channels, int column, const PairAt& pair_at) {
  if constexpr (sizeof(T) == 2) {
    // The lanes that have its other channels take part in all that it does.
    const int own = column / 2 * 8;
#pragma unroll
    for (int first = 0; first < rows; first += 32) {
      std::uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 pair = pair_at(first / 8 + i);
        const PairOf<T> converted{static_cast<T>(pair.x), static_cast<T>(pair.y)};
        memcpy(&words[i], &converted, sizeof(converted));
      }
      exchange_words(words);
      const int channel = first + own;
      T* const to = out + channel;
      if (out == nullptr || channel >= channels) continue;
      if (channel + 8 <= channels && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
      } else {
        T values[8];
        memcpy(values, words, sizeof(values));
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          if (channel + k < channels) to[k] = values[k];
        }
      }
    }
  } else {
    if (out == nullptr) return;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(out) % sizeof(PairOf<T>) == 0;
#pragma unroll
    for (int i = 0; i < rows / 8; ++i) {
      const float2 pair = pair_at(i);
      const int channel = column + 8 * i;
      if (is_aligned && channel + 2 <= channels) {
        *reinterpret_cast<PairOf<T>*>(out + channel) = {pair.x, pair.y};
      } else {
        if (channel < channels) out[channel] = pair.x;
        if (channel + 1 < channels) out[channel + 1] = pair.y;
      }
    }
  }
}

/// The same where channels lie so far apart.
template <int rows, class T, class PairAt>
__device__ __forceinline__ void write_apart(T* out, std::int64_t stride, int channels, int column,
                                            const PairAt& pair_at) {
  if (out == nullptr) return;
  out += column * stride;
#pragma unroll
  for (int i = 0; i < rows / 8; ++i) {
    const float2 pair = pair_at(i);
    const int channel = column + 8 * i;
    if (channel < channels) *out = static_cast<T>(pair.x);
    if (channel + 1 < channels) out[stride] = static_cast<T>(pair.y);
    out += 8 * stride;
  }
}

/// A pixel of a tile, which may lie outside of out.
__device__ __forceinline__ Pixel pixel_of_tile(const ResidentLayout& layout, const Windows& windows, int tile,
                                               int pixel) {
  if (!layout.is_patches) return locate_in_order(windows, std::int64_t{tile} * ResidentLayout::pixels + pixel);
  constexpr auto side = static_cast<int>(patch_side);
  const std::uint32_t row = layout.across.quotient(tile), image = layout.down.quotient(row);
  const std::uint32_t y = (row - image * layout.down.value()) * side + pixel / side;
  return {image, y, (tile - row * layout.across.value()) * side + pixel % side};
}

/// out = bias + weight · columns. turned: output channels of the weight are neighbours.
template <class T, Precision precision, int rows, bool turned>
__global__ __launch_bounds__(ResidentLayout::threads(ResidentLayout::most_warpgroups(rows, sizeof(T))),
                             1) void convolve_resident(const __grid_constant__ WholeBatch<1> whole) {
  constexpr bool by_registers = precision == Precision::tf32 || precision == Precision::f32;
  constexpr int pixels = ResidentLayout::pixels;
  const FusedArguments& arguments = whole.batch.arguments[0];
  const Windows& windows = arguments.windows;
  const ResidentLayout& layout = whole.resident;
  extern __shared__ __align__(1024) char shared[];
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const int multiplying = layout.warpgroups * 128;  // threads
  const int thread = threadIdx.x;
  const bool copies = thread >= multiplying;
  const int warpgroup = copies ? (thread - multiplying) / 32 : thread / 128;
  auto* const biases = reinterpret_cast<float*>(shared + layout.biases);
  const BlockTile tile(arguments, 0, rows, pixels);  // but for its pixels

  const blas::sm90::Barrier weight_is_there(memory + layout.barriers);
  blas::sm90::Ring ring{memory + layout.barriers + 16 + warpgroup * layout.stages * 16, layout.stages};
  if (copies && thread % 32 == 0) {
    if (warpgroup == 0) weight_is_there.make(1);
    ring.make(1, precision == Precision::tf32 ? 4 : 1);
  }
  prepare_biases<T, rows>(arguments, tile, biases);
  __syncthreads();

  const auto for_tiles = [&](const auto& action) {
    const int step = layout.warpgroups * static_cast<int>(gridDim.x);
    for (int i = static_cast<int>(blockIdx.x + warpgroup * gridDim.x); i < layout.tiles; i += step) action(i);
  };
  const SharedAddress stages = memory + layout.windows + warpgroup * layout.warpgroup_bytes;

  if (copies) {
    if (thread % 32 != 0) return;
    wait_for_kernel_before();
    if (warpgroup == 0) {
      weight_is_there.announce(tile.steps * layout.tile_bytes);
      SharedAddress to = memory;
      if (!turned && whole.is_packed) {
        const auto* const packed = static_cast<const char*>(arguments.operands.packed_weight);
        const int bytes = tile.steps * layout.tile_bytes;
        weight_is_there.copy(to, packed + static_cast<std::int64_t>(blockIdx.y) * bytes, bytes);
      } else {
        for_steps(arguments, tile, [&](int chunk, int tap) {
          const auto [tap_y, tap_x] = arguments.tap(tap);
          whole.weights[0].template copy<turned, rows>(weight_is_there, to, static_cast<int>(tile.first_out_channel),
                                                       chunk * Tile<precision>::channels, tap_y, tap_x);
          to += layout.tile_bytes;
        });
      }
    }
    const auto dilation_y = static_cast<int>(windows.dilation_y), dilation_x = static_cast<int>(windows.dilation_x);
    const int first_channel = tile.group * static_cast<int>(windows.group_channels());
    bool is_first_round = true;
    for_tiles([&](int number) {
      const WindowMap::Place place(windows, pixel_of_tile(layout, windows, number, 0));
      for_steps(arguments, tile, [&](int chunk, int tap) {
        if (layout.is_patches && tap > 0) return;
        if (!is_first_round) ring.empty().wait(ring.round ^ 1);
        const blas::sm90::Barrier full = ring.full();
        const SharedAddress stage = stages + ring.stage * layout.stage_bytes;
        const int channel = first_channel + chunk * Tile<precision>::channels;
        full.announce(layout.copied_bytes);
        if (layout.is_patches) {
          whole.windows[0].copy_patch(full, stage, place, channel);
        } else {
          const auto [tap_y, tap_x] = arguments.tap(tap);
          whole.windows[0].copy(full, stage, place, channel, tap_y * dilation_y, tap_x * dilation_x);
        }
        ring.advance();
        if (ring.stage == 0) is_first_round = false;
      });
    });
    return;
  }

  const Tensor4& out = arguments.operands.out;
  T* const first_out = static_cast<T*>(out.data) + tile.first_out_channel * out.stride[1];
  weight_is_there.wait(0);
  for_tiles([&](int number) {
    std::conditional_t<by_registers, blas::sm90::TileProduct<precision, rows>, blas::sm90::TileSums<rows>> sums;
    sums.for_packs([&](int i, float4& pack) {
      const float2 bias = *reinterpret_cast<const float2*>(biases + 8 * i + thread % 4 * 2);
      pack = make_float4(bias.x, bias.y, bias.x, bias.y);
    });
    if constexpr (by_registers) {
      multiply_steps(sums, arguments, layout, ring, stages, memory);
    } else if (layout.step_bytes == 128) {
      multiply_steps<precision, turned, rows, 4>(sums, arguments, layout, ring, stages, memory);
    } else if (layout.step_bytes == 64) {
      multiply_steps<precision, turned, rows, 2>(sums, arguments, layout, ring, stages, memory);
    } else {
      multiply_steps<precision, turned, rows, 1>(sums, arguments, layout, ring, stages, memory);
    }
    const auto write = [&](int pixel, int column, const auto& pair_at) {
      const Pixel at = pixel_of_tile(layout, windows, number, pixel);
      const bool is_there = at.image < windows.images && at.y < windows.out_height && at.x < windows.out_width;
      T* const to = is_there ? first_out + target_of(out, at) : nullptr;
      if (out.stride[1] == 1) {
        write_channels<rows>(to, tile.channels, column, pair_at);
      } else {
        write_apart<rows>(to, out.stride[1], tile.channels, column, pair_at);
      }
    };
    if constexpr (precision == Precision::tf32) {
      SumsOfPixels(sums).for_rows(write);
    } else {
      sums.for_rows(write);
    }
  });
}

}  // namespace portops::impl::fused_sm90
