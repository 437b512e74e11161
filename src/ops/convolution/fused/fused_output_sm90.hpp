// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/fused/fused_blocks_sm90.hpp"

// How a block of the fused kernels brings its sums to out. For _sm90.cu alone.

namespace portops::impl::fused_sm90 {

/// Where neighbours among the sums of a block lie in out.
enum class OutOrder : std::uint8_t { pixels, channels };

/// The sums of a block's share of the inner axis in shared memory: a row of pixels for each output channel, or a row of
/// channels for each pixel. The padding spreads what a warp writes at once, 8 pixels of 4 pairs of channels, over the
/// banks.
template <OutOrder order>
struct SumsLayout {
  int rows, pixels;

  __host__ __device__ constexpr int stride() const { return order == OutOrder::pixels ? pixels + 4 : rows + 8; }
  __host__ __device__ constexpr int size() const { return (order == OutOrder::pixels ? rows : pixels) * stride(); }
  __host__ __device__ constexpr int at(int channel, int pixel) const {
    return order == OutOrder::pixels ? channel * stride() + pixel : pixel * stride() + channel;
  }
};

__host__ __device__ constexpr int sums_bytes(int rows, int pixels) {
  const int by_pixels = SumsLayout<OutOrder::pixels>{rows, pixels}.size();
  const int by_channels = SumsLayout<OutOrder::channels>{rows, pixels}.size();
  return shares_of(pixels) * (by_pixels > by_channels ? by_pixels : by_channels) * 4;
}

constexpr std::int64_t no_target = INT64_MIN;

/// The part of a tile's channels that a block writes.
struct Part {
  int begin;  ///< a multiple of 8
  int width;  ///< a multiple of 8
  int end;    ///< of those that there are
};

/// Packs of `channels` of a part, pixel after pixel, of a tile of `rows` channels.
template <int rows, int channels>
struct PartPacks {
  static constexpr bool is_power_of_2 = (rows & (rows - 1)) == 0;
  int of_pixel;

  __device__ __forceinline__ explicit PartPacks(const Part& part) : of_pixel(part.width / channels) {}

  /// The pixel of a pack.
  __device__ __forceinline__ int pixel(int pack) const {
    if constexpr (is_power_of_2) return pack >> __popc(of_pixel - 1);
    return pack / of_pixel;
  }
  /// Its first channel, of the part.
  __device__ __forceinline__ int channel(int pack) const { return (pack - pixel(pack) * of_pixel) * channels; }
};

/// Adds up the sums of all warpgroups, of this block and of the others of its cluster, that share the inner axis, for a
/// part of the tile: in this block's memory, in that of its first warpgroup.
template <OutOrder order, int rows, int pixels>
__device__ __forceinline__ void join_sums(float* sums, SharedAddress address, const Part& part, int block, int blocks) {
  constexpr SumsLayout<order> layout{rows, pixels};
  constexpr int shares = shares_of(pixels), packs = pixels / 4;
  const auto add = [](float4& sum, const float4& other) {
    sum.x += other.x;
    sum.y += other.y;
    sum.z += other.z;
    sum.w += other.w;
  };
  const PartPacks<rows, 4> by_channels(part);
  const int first = order == OutOrder::pixels ? part.begin * packs : 0;
  const int end = order == OutOrder::pixels ? part.end * packs : pixels * by_channels.of_pixel;
#pragma unroll 4
  for (int i = first + static_cast<int>(threadIdx.x); i < end; i += threads) {
    const int at = order == OutOrder::pixels ? layout.at(i / packs, i % packs * 4)
                                             : layout.at(part.begin + by_channels.channel(i), by_channels.pixel(i));
    float4 sum = *reinterpret_cast<const float4*>(sums + at);
    if constexpr (shares > 1) add(sum, *reinterpret_cast<const float4*>(sums + layout.size() + at));
#pragma unroll
    for (int k = 1; k < most_splits; ++k) {
      if (k == blocks) break;
#pragma unroll
      for (int share = 0; share < shares; ++share) {
        add(sum, blas::sm90::read_of_block(address + 4 * (share * layout.size() + at), (block + k) % blocks));
      }
    }
    *reinterpret_cast<float4*>(sums + at) = sum;
  }
}

/// Writes a part of the sums to `out`, where the tile's first channel lies: each thread a pixel, channel by channel.
template <int rows, int pixels, class T>
__device__ __forceinline__ void write_by_pixels(T* out, std::int64_t stride, const std::int64_t* targets,
                                                const float* biases, const float* sums, const Part& part) {
  constexpr SumsLayout<OutOrder::pixels> layout{rows, pixels};
  constexpr int together = threads / pixels;
  const int pixel = static_cast<int>(threadIdx.x) % pixels;
  const int first = part.begin + static_cast<int>(threadIdx.x) / pixels;
  if (targets[pixel] == no_target) return;
  sums += layout.at(first, pixel);
  out += targets[pixel] + first * stride;
#pragma unroll 8
  for (int channel = first; channel < part.end; channel += together) {
    *out = static_cast<T>(biases[channel] + *sums);
    out += together * stride;
    sums += together * layout.stride();
  }
}

/// The same where channels are neighbours: each thread 16 bytes of a pixel's.
template <int rows, int pixels, class T>
__device__ __forceinline__ void write_by_channels(T* out, const std::int64_t* targets, const float* biases,
                                                  const float* sums, const Part& part) {
  constexpr SumsLayout<OutOrder::channels> layout{rows, pixels};
  constexpr int width = 16 / sizeof(T);
  const PartPacks<rows, width> packs(part);
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < pixels * packs.of_pixel; i += threads) {
    const int pixel = packs.pixel(i), channel = part.begin + packs.channel(i);
    if (targets[pixel] == no_target) continue;
    alignas(16) T values[width];
#pragma unroll
    for (int k = 0; k < width; k += 4) {
      const float4 sum = *reinterpret_cast<const float4*>(sums + layout.at(channel + k, pixel));
      const float4 bias = *reinterpret_cast<const float4*>(biases + channel + k);
      values[k] = static_cast<T>(bias.x + sum.x);
      values[k + 1] = static_cast<T>(bias.y + sum.y);
      values[k + 2] = static_cast<T>(bias.z + sum.z);
      values[k + 3] = static_cast<T>(bias.w + sum.w);
    }
    T* const to = out + targets[pixel] + channel;
    if (channel + width <= part.end && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
    } else {
#pragma unroll
      for (int k = 0; k < width; ++k) {
        if (channel + k < part.end) to[k] = values[k];
      }
    }
  }
}

/// Brings the sums of a block's threads to out, by way of shared memory.
template <OutOrder order, int rows, int pixels, class T, class Product>
__device__ __forceinline__ void write_tile(const FusedArguments& arguments, const BlockTile& tile,
                                           const Product& product, float* sums, SharedAddress address,
                                           const std::int64_t* targets, const float* biases) {
  constexpr SumsLayout<order> layout{rows, pixels};
  constexpr int shares = shares_of(pixels);
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  float* const own_sums = shares == 1 ? sums + layout.at(0, warpgroup * 64) : sums + warpgroup * layout.size();
  product.for_rows([&](int pixel, int first_channel, const auto& pair_at) {
#pragma unroll
    for (int i = 0; i < rows / 8; ++i) {
      const float2 pair = pair_at(i);
      const int channel = first_channel + 8 * i;
      if constexpr (order == OutOrder::pixels) {
        own_sums[layout.at(channel, pixel)] = pair.x;
        own_sums[layout.at(channel + 1, pixel)] = pair.y;
      } else {
        *reinterpret_cast<float2*>(own_sums + layout.at(channel, pixel)) = pair;
      }
    }
  });
  // Each block of a cluster writes some of the channels.
  const int width = rows / arguments.splits, begin = width * tile.split;
  const Part part{begin, width, min(tile.channels, begin + width)};
  if (arguments.splits > 1) {
    blas::sm90::synchronize_cluster();
  } else {
    blas::sm90::synchronize<3, threads>();
  }
  if (shares > 1 || arguments.splits > 1) {
    join_sums<order, rows, pixels>(sums, address, part, tile.split, arguments.splits);
    blas::sm90::synchronize<3, threads>();
  }
  const Tensor4& tensor = arguments.operands.out;
  T* const out = static_cast<T*>(tensor.data) + tile.first_out_channel * tensor.stride[1];
  if constexpr (order == OutOrder::pixels) {
    write_by_pixels<rows, pixels>(out, tensor.stride[1], targets, biases, sums, part);
  } else {
    write_by_channels<rows, pixels>(out, targets, biases, sums, part);
  }
}

/// The end of a block whose threads have their sums, the first `threads` of it: out is written, by way of what the
/// block has in shared memory, which nobody needs any more.
template <int rows, int pixels, class T, class Product>
__device__ __forceinline__ void write_out(const FusedArguments& arguments, const BlockTile& tile,
                                          const Product& product, char* shared, SharedAddress address,
                                          const std::int64_t* targets, const float* biases) {
  float* const sums = reinterpret_cast<float*>(shared);
  const Tensor4& out = arguments.operands.out;
  if (out.stride[1] == 1 && out.stride[3] != 1) {
    write_tile<OutOrder::channels, rows, pixels, T>(arguments, tile, product, sums, address, targets, biases);
  } else {
    write_tile<OutOrder::pixels, rows, pixels, T>(arguments, tile, product, sums, address, targets, biases);
  }
  // The others may still be reading this block's sums.
  if (arguments.splits > 1) blas::sm90::synchronize_cluster();
}

/// Where a pixel lies in out.
__device__ __forceinline__ std::int64_t target_of(const Tensor4& out, const Pixel& at) {
  return at.image * out.stride[0] + at.y * out.stride[2] + at.x * out.stride[3];
}

/// The biases of a block's output channels.
template <class T, int rows>
__device__ __forceinline__ void prepare_biases(const FusedArguments& arguments, const BlockTile& tile, float* biases) {
  const int thread = threadIdx.x;
  if (thread < rows) {
    const auto* const bias = static_cast<const T*>(arguments.operands.bias);
    biases[thread] = bias == nullptr || thread >= tile.channels
                         ? 0.0f
                         : static_cast<float>(bias[(tile.first_out_channel + thread) * arguments.operands.bias_stride]);
  }
}

/// Where a block's pixels lie in out, and its biases.
template <class T, int rows, int pixels, class Locate>
__device__ __forceinline__ void prepare_output(const FusedArguments& arguments, const BlockTile& tile,
                                               std::int64_t* targets, float* biases, const Locate& locate_pixel) {
  const int thread = threadIdx.x;
  const Windows& windows = arguments.windows;
  if (thread < pixels) {
    const std::int64_t pixel = tile.first_pixel + thread;
    const bool is_there = pixel < windows.images * windows.pixels();
    targets[thread] = is_there ? target_of(arguments.operands.out, locate_pixel(windows, pixel)) : no_target;
  }
  prepare_biases<T, rows>(arguments, tile, biases);
}

}  // namespace portops::impl::fused_sm90
