// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/barriers_sm90.hpp"
#include "core/lanes/divide.hpp"
#include "ops/convolution/conv2d/fused/tap_forms.hpp"
#include "ops/convolution/conv2d/fused/tap_products.hpp"

// What all threads of a block of tap_products.hpp know of their work. For files compiled for sm_90a alone.

namespace portops::impl::tap_products {

using blas::sm90::SharedAddress;

struct Arguments {
  Windows windows;
  TapProductsOperands operands;
  TapProductsPlan plan;
  int tiles;        ///< of all images
  int barriers_at;  ///< in shared memory
  Divisor by_tiles_of_image, by_horizontal_tiles;
};

/// What a block computes.
struct Block {
  int group, first_out, first_channel, first_tap, share;
  int first_tile, last_tile;

  template <class F>
  static __device__ __forceinline__ Block of(const Arguments& arguments) {
    const TapProductsPlan& plan = arguments.plan;
    const auto x = static_cast<int>(blockIdx.x), y = static_cast<int>(blockIdx.y);
    Block block;
    block.group = y / plan.out_tiles;
    block.first_out = (y - block.group * plan.out_tiles) * F::outs;
    const int chunk = x / plan.channel_tiles;
    block.first_tap = chunk * taps_at_once;
    block.first_channel = (x - chunk * plan.channel_tiles) * F::channels;
    block.share = static_cast<int>(blockIdx.z);
    block.first_tile = static_cast<int>(std::int64_t{arguments.tiles} * block.share / plan.shares);
    block.last_tile = static_cast<int>(std::int64_t{arguments.tiles} * (block.share + 1) / plan.shares);
    return block;
  }

  __device__ __forceinline__ bool sums_out_grad(const Arguments& arguments) const {
    return arguments.operands.parts.bias_grad != nullptr && first_channel == 0 && first_tap == 0;
  }
};

/// A tile of out_grad: where it lies in its image, and how many rows and columns of it there are: its shape, of which
/// consumers know no more.
struct OutTile {
  int image, y, x, height, width;

  __device__ __forceinline__ OutTile(const Arguments& arguments, int tile) {
    const TapProductsPlan& plan = arguments.plan;
    image = static_cast<int>(arguments.by_tiles_of_image.quotient(static_cast<std::uint32_t>(tile)));
    const std::uint32_t in_image = tile - image * arguments.by_tiles_of_image.value();
    const std::uint32_t row = arguments.by_horizontal_tiles.quotient(in_image);
    y = static_cast<int>(row) * plan.tile_height;
    x = static_cast<int>(in_image - row * arguments.by_horizontal_tiles.value()) * plan.tile_width;
    height = min(plan.tile_height, static_cast<int>(arguments.windows.out_height) - y);
    width = min(plan.tile_width, static_cast<int>(arguments.windows.out_width) - x);
  }
};

}  // namespace portops::impl::tap_products
