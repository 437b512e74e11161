// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/element_type.hpp"
#include "ops/convolution/conv2d/fused/weight_parts.hpp"
#include "ops/convolution/windows.hpp"

#include <cstddef>
#include <cstdint>

// weight_grad of conv2d on GPUs of compute capability 9.0 in 16-bit types: a product over the pixels of out_grad and of
// x, which tensor cores take from where the windows lie. With a column of ones beside x it gives bias_grad too.

namespace portops::impl {

/// How the product is cut into the work of blocks: a block has the sums of `rows` output channels and 192 elements of
/// the weight's windows, over its share of the pixels.
struct WeightProductsPlan {
  int rows = 128;        ///< 64 or 128
  int row_tiles = 1;     ///< of a group
  int column_tiles = 1;  ///< of a group
  int steps = 1;         ///< of 64 pixels, of planes those of one image
  int shares = 1;        ///< of the steps
  int parts = 1;         ///< sums of each element: with 64 rows a block leaves two
  int tap_chunks = 1;    ///< of 64 channels, of which the last one need not be full
  bool of_planes = false;

  /// Of parts; a single one is the result.
  std::size_t sums_bytes(const Windows& windows) const { return parts == 1 ? 0 : WeightParts::bytes(windows, parts); }
};

/// Both tensors with their channels last, those of a pixel at multiples of 16 bytes; or, of windows that are pixels,
/// both in planes, which begin and end at multiples of 16 bytes. Strides count units of 16 bytes.
struct WeightProductsOperands {
  const void* x = nullptr;
  PixelStrides x_strides{};  ///< of planes that of images alone
  std::int64_t x_plane = 0;  ///< from one to the next
  const void* out_grad = nullptr;
  PixelStrides out_grad_strides{};
  std::int64_t out_grad_plane = 0;
  WeightParts parts;
};

/// Of so many multiprocessors.
WeightProductsPlan plan_weight_products(const Windows& windows, bool of_planes, int multiprocessors);

/// Enqueues the products, and the sums of their parts in a fixed order, rounded once. `type` is f16 or bf16; the stream
/// is a cudaStream_t, whose device is the current one.
void multiply_for_weight(void* stream, ElementType type, const Windows& windows, const WeightProductsPlan& plan,
                         const WeightProductsOperands& operands);

}  // namespace portops::impl
