// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/memory_layout.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/windows.hpp"

// conv2d of few channels, of which each would be a pixel of a few bytes: a row of a window, its pixels side by side, is
// one pixel of as many channels instead.

namespace portops::impl {

/// The call with rows for pixels, and copies of x and of the weight for it, in which a pixel's channels, and a tap's,
/// are padded with zeros to 16 bytes, and x is padded on its left and right.
class WindowRows {
 public:
  /// Of tensors, x, weight and out count. Needs one group, and windows whose pixels are neighbours.
  WindowRows(const Windows& windows, const ConvolutionTensors& tensors);

  Windows windows() const;
  /// Without memory, of the same extents, strides and alignment.
  ConvolutionTensors tensors(void* memory) const;
  /// The weight's elements in the copy.
  TensorRef weight(void* memory) const;
  /// Of the copies.
  std::size_t bytes() const { return layout_.bytes(); }

  void copy_x_and_weight(const Context& ctx, void* memory) const;
  void copy_x(const Context& ctx, void* memory) const;

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(tensors_.x.type())); }
  TensorRef at(const TemporaryArray& array, void* memory, const Extents& extents, const Extents& strides) const;
  void zero(const Context& ctx, void* memory, std::size_t bytes) const;
  void fill_x(const Context& ctx, void* memory) const;

  Windows windows_;
  ConvolutionTensors tensors_;
  std::int64_t pixel_;  ///< channels of a pixel of the copy
  std::int64_t row_;    ///< pixels of its rows
  MemoryLayout layout_;
  TemporaryArray x_;  ///< begins the memory
  TemporaryArray weight_;
};

/// Whether rows of windows are pixels of neighbours, in one group.
bool has_window_rows(const Windows& windows);

/// Whether the fused path takes the call so, and as it is takes it not at all, or with most of its chunks empty, and no
/// other path does without columns in memory.
bool suits_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

void convolve_by_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);
std::size_t window_rows_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
