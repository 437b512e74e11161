// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/types/element_type.hpp"
#include "ops/convolution/conv2d/fused/weight_parts.hpp"
#include "ops/convolution/windows.hpp"

#include <cstdint>
#include <optional>

// weight_grad of conv2d on GPUs of compute capability 9.0 in 16-bit types, of windows of six to nine taps, one pixel
// apart: a patch of 8 by 8 pixels of out_grad and the pixels of x in their windows are brought to shared memory once,
// where a tap is the same pixels of x further, and tensor cores take them from. It gives bias_grad too.

namespace portops::impl {

/// How the work is cut: a block has the sums of all taps, `rows` channels of one tensor and all channels of the other,
/// over its share of the patches.
struct PatchProductsPlan {
  static constexpr int rows = 64, columns = 32, side = 8, most_taps = 9;

  bool x_is_rows = false;  ///< or out_grad
  int row_tiles = 1;
  int region_width = 1, region_height = 1;  ///< of the pixels of x in a patch's windows
  int across = 1, down = 1;                 ///< patches of an image; the last ones end where it does
  int shares = 2;                           ///< two or more
  int stages = 2;

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

/// Of so many multiprocessors; none where the windows are others, both tensors have more channels than columns, an
/// image has no whole patch, shared memory has no room, or shares would be so small that adding up their sums costs
/// more.
std::optional<PatchProductsPlan> plan_patch_products(const Windows& windows, int multiprocessors);

/// Enqueues the products, and the sums of their parts in a fixed order, rounded once. `type` is f16 or bf16; the stream
/// is a cudaStream_t, whose device is the current one.
void multiply_patches(void* stream, ElementType type, const Windows& windows, const PatchProductsPlan& plan,
                      const PatchProductsOperands& operands);

}  // namespace portops::impl
