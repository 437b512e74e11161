// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/weight_parts.hpp"
#include "ops/convolution/windows.hpp"

#include <optional>

// weight_grad of conv2d on GPUs of compute capability 9.0 in f32, rounded to tf32 or not: a tile of out_grad and the
// pixels of x that its windows reach are brought to shared memory once, and multiplied there tap by tap. It gives
// bias_grad too.

namespace portops::impl {

/// How the work is cut: a block has the sums of some output channels, some channels and up to nine taps, over its share
/// of the tiles of all images.
struct TapProductsPlan {
  bool rounds = true;  ///< to tf32
  int outs = 64;       ///< output channels of a block: 32 or 64
  int channels = 64;   ///< 32 or 64
  int out_tiles = 1, channel_tiles = 1, tap_chunks = 1;
  int tile_height = 1, tile_width = 1;    ///< pixels of out_grad
  int region_width = 1, stage_bytes = 0;  ///< of the pixels of x that a tile's windows reach; of both
  int vertical_tiles = 1, horizontal_tiles = 1;
  int shares = 1;
  int cluster = 1;  ///< shares whose blocks add up their sums before they leave them; divides `shares`

  PORTOPS_FUNCTION int parts() const { return shares / cluster; }
  /// Of parts; a single one is the result.
  std::size_t sums_bytes(const Windows& windows) const {
    return parts() == 1 ? 0 : WeightParts::bytes(windows, parts());
  }
};

/// Both tensors with their channels last, those of a pixel at multiples of 16 bytes, which strides count; of out_grad,
/// what fills up the last 16 bytes is read, or it lies anywhere, and its strides count numbers.
struct TapProductsOperands {
  const float* x = nullptr;
  PixelStrides x_strides{};
  const float* out_grad = nullptr;
  PixelStrides out_grad_strides{};
  bool out_grad_by_numbers = false;
  WeightParts parts;
};

/// Of so many multiprocessors; none where more than a third of a block's taps would be missing, no tile fits into
/// shared memory, or shares would be too many. It follows from the arguments alone.
std::optional<TapProductsPlan> plan_tap_products(const Windows& windows, bool rounds, int multiprocessors);

/// Enqueues the products, and the sums of their parts in a fixed order. The stream is a cudaStream_t, whose device is
/// the current one.
void multiply_taps(void* stream, const Windows& windows, const TapProductsPlan& plan,
                   const TapProductsOperands& operands);

}  // namespace portops::impl
