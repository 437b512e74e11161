// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/bounds.hpp"
#include "ops/convolution/windows.hpp"

namespace portops::impl {

/// The most pixels of a strip: see strip.hpp.
inline constexpr int strip_pixels = 128;
/// The most output channels of a group in strips, and of all groups that a thread takes together.
inline constexpr int strip_sums = 32;

/// The images that are worked on at once, and where they lie. Numbers of images are those of the step.
struct ImageStep {
  Windows windows{};
  Tensor4 offset{}, mask{};  ///< of deform_conv2d; mask: null data for none
  Tensor4 x{};  ///< with neighbouring channels at neighbouring addresses, unless it is read in strips or by pixels
  bool samples_strips = false;  ///< whether samples are found in strips, where that is a choice
  void* columns = nullptr;      ///< of the element type: rows of Windows::column() elements, one a pixel of out
};

/// Where a convolution leaves its sums, what it adds to them, and how it finishes the rounded result (Finish).
struct ConvolutionOut {
  Tensor4 out;
  const void* bias = nullptr;  ///< may be null
  std::int64_t bias_stride = 0;
  const void* addend = nullptr;  ///< may be null
  Bounds bounds = {};
};

}  // namespace portops::impl
