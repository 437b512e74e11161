// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/element_type.hpp"
#include "ops/convolution/conv2d/fused/weight_parts.hpp"
#include "ops/convolution/windows.hpp"

#include <cstdint>
#include <optional>

// weight_grad of conv2d on GPUs of compute capability 9.0, of windows of six to nine taps, one pixel apart: a patch of
// 8 by 8 pixels of out_grad and the pixels of x in their windows are brought to shared memory once, where a tap is the
// same pixels of x further, and tensor cores take them from. Numbers of f32 become bf16 terms there, once for all taps.
// It gives bias_grad too.

namespace portops::impl {

/// Taps are multiplied in threes, each of which lies as far behind the one before: those of a row or a column of a
/// window, or any that follow each other in a window of one row or column, where the last three may share taps with
/// those before.
struct TapTriples {
  static constexpr int taps = 3, most = 3;

  int count = 0;            ///< up to `most`; none where a window has other rows and columns
  int tap = 1, triple = 1;  ///< from a tap of a triple to the next; from the first one to that of the next triple
  int last_tap = 0;         ///< the first one of the last triple
  int tap_lines = 1;        ///< from a tap to the next in pixels of x, of the region that a patch's windows reach
  int triple_lines = 1, last_line = 0;

  TapTriples() = default;
  TapTriples(const Windows& windows, int region_width);
};

/// How the work is cut: a block has the sums of all taps of some output channels and some channels, over its share of
/// the patches.
struct PatchProductsPlan {
  static constexpr int outs = 64, channels = 32;  ///< of a block
  static constexpr int side = 8;

  int terms = 1;  ///< of bf16 that a number of f32 becomes: 3, or 2 where it may be rounded to tf32; else 1
  int out_tiles = 1, channel_tiles = 1;
  int region_width = 1, region_height = 1;  ///< of the pixels of x in a patch's windows
  TapTriples triples;
  int across = 1, down = 1;  ///< patches of an image; the last ones end where it does
  int shares = 2;            ///< two or more
  int stages = 2;

  PORTOPS_FUNCTION int tiles() const { return out_tiles * channel_tiles; }
  PORTOPS_FUNCTION int element_bytes() const { return terms == 1 ? 2 : 4; }
  /// Each share leaves a part.
  std::size_t sums_bytes(const Windows& windows) const { return WeightParts::bytes(windows, shares); }
};

/// Both with their channels last, their images, rows and pixels at multiples of 16 bytes, which strides count.
struct PatchProductsOperands {
  const void* x = nullptr;
  PixelStrides x_strides{};
  const void* out_grad = nullptr;
  PixelStrides out_grad_strides{};
  WeightParts parts;
};

/// Of so many terms and multiprocessors; none where the windows are others, an image has no whole patch, shared memory
/// has no room, or shares would be so few, or so small, that others are faster.
std::optional<PatchProductsPlan> plan_patch_products(const Windows& windows, int terms, int multiprocessors);

/// Enqueues the products, and the sums of their parts in a fixed order, rounded once. `type` is f16, bf16 or f32; the
/// stream is a cudaStream_t, whose device is the current one.
void multiply_patches(void* stream, ElementType type, const Windows& windows, const PatchProductsPlan& plan,
                      const PatchProductsOperands& operands);

}  // namespace portops::impl
