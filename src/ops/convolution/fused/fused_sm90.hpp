// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/element_type.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <cstdint>

// The fused path on GPUs of compute capability 9.0: columns are made in shared memory, tile by tile, and multiplied
// there by tensor cores.

namespace portops::impl {

/// Channels of a step of the inner axis: 128 bytes of x.
constexpr std::int64_t chunk_channels(ElementType type) { return 128 / static_cast<std::int64_t>(size_of(type)); }

/// Whether blocks stay on their multiprocessors, with the weight of their output channels in shared memory, and take
/// tiles of 64 pixels one after the other: none do, or tiles are runs of pixels, or patches of 8 by 8, whose windows
/// are brought together.
enum class Residence : std::uint8_t { none, runs, patches };
constexpr std::int64_t patch_side = 8;

/// How a call is cut into the work of blocks of threads. A block has the sums of `rows` output channels of a group and
/// `pixels` pixels; where these are too few to fill the device, `splits` blocks share the inner axis of the product and
/// add their sums through each other's shared memory, in a fixed order.
struct FusedPlan {
  static constexpr int most_phase_taps = 25;
  static constexpr int most_splits = 4;

  ElementType type = ElementType::f32;
  bool tf32 = false;  ///< f32 only: operands are rounded to tf32
  int rows = 128;     ///< 64, 128 or 256; of f32 also 96 and 192; resident and, of f32, for whole pixels also 32
  int pixels = 128;   ///< 128 or, resident or with 128 or 256 rows, 64
  int splits = 1;     ///< 1, 2 or 4
  Residence residence = Residence::none;
  std::int64_t load = 1;  ///< blocks of the launch for each multiprocessor, rounded up

  // The inner axis: steps of one tap and one chunk of channels, which are 128 bytes of x. Channels that have a group
  // and a deformable group in common (a run) begin a chunk; the last one need not be full.
  int run_bytes = 128;  ///< of x, a multiple of 16
  int run_chunks = 1;
  int group_chunks = 1;
  int phase_taps = 1;  ///< taps whose samples are in shared memory together; then come the next ones for all chunks
  int steps = 1;       ///< of a group

  int row_tiles = 1;  ///< of a group
  std::int64_t pixel_tiles = 1;
  std::int64_t blocks = 1;  ///< for each tile of output channels: one for each tile of pixels, or resident ones

  bool is_resident() const { return residence != Residence::none; }
  /// Bytes of channels that a step of resident blocks takes: no more than there are, where they are few.
  int step_bytes() const {
    if (group_chunks > 1 || run_bytes > 64 || type == ElementType::f32) return 128;
    return run_bytes > 32 ? 64 : 32;
  }
  /// Bytes of a pixel of x.
  std::int64_t pixel_bytes(const Windows& windows) const {
    return windows.channels / windows.channel_run() * run_bytes;
  }
  /// Bytes of a row of a tile of the packed weight: 128, or three terms of 64 where f32 is not rounded.
  int row_bytes() const { return type == ElementType::f32 && !tf32 ? 192 : 128; }
  std::size_t weight_bytes(const Windows& windows) const {
    return static_cast<std::size_t>(windows.groups) * row_tiles * steps * rows * row_bytes();
  }
};

/// The tensors of a call. x has its channels last, runs and pixels of it at multiples of 16 bytes, with zeros that fill
/// up the last 16 bytes of a run, and less than 4 GiB from its first element to its last.
struct FusedOperands {
  const void* x = nullptr;
  std::int64_t x_image = 0, x_row = 0, x_pixel = 0;  ///< strides in units of 16 bytes
  bool x_is_copied = false;                          ///< by the kernel that was enqueued last, to where it is
  Tensor4 offset, mask, weight, out;
  const void* bias = nullptr;
  std::int64_t bias_stride = 0;
  void* packed_weight = nullptr;  ///< FusedPlan::weight_bytes(), aligned to 256 bytes
};

/// One of the convolutions that are launched together. Their plans differ in steps and tiles of pixels alone, their
/// windows neither in channels nor in groups.
struct FusedConvolution {
  Windows windows;
  FusedPlan plan;
  FusedOperands operands;
};

}  // namespace portops::impl
