// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

// How tensors of four axes lie in memory, and copies of them with the second axis, the channels, last.

namespace portops::impl {

/// The tensor's elements from `first` on along the first axis; null data for an empty reference.
Tensor4 tensor4(const TensorRef& tensor, std::int64_t first = 0);

/// A view of other extents and strides that begins so many elements after the tensor.
TensorRef moved(const TensorRef& tensor, std::int64_t elements, const Extents& extents, const Extents& strides);

/// Whether neighbouring channels are neighbours in memory.
bool has_channels_last(const TensorRef& tensor);

/// Whether the tensor is contiguous with the channels last.
bool is_dense_channels_last(const TensorRef& tensor);

/// Whether the pixels of all images lie at one distance from one another, their channels side by side: a matrix with a
/// row a pixel. Its rows then lie pixel_distance() apart.
bool is_matrix_of_pixels(const TensorRef& tensor);
/// Whether an image's pixels are neighbours, its channels at one distance: a matrix with a row a channel.
bool is_matrix_of_planes(const TensorRef& tensor);
/// Elements from a pixel to the next.
std::int64_t pixel_distance(const TensorRef& tensor);

/// Between a tensor and a copy of `count` of its images (or what else its first axis counts), from `first` on, with the
/// channels last: contiguous, or with `pixel` elements from a pixel to the next.
Rearrangement to_channels_last(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy,
                               std::int64_t pixel);
inline Rearrangement to_channels_last(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy) {
  return to_channels_last(tensor, first, count, copy, tensor.extent(1));
}
Rearrangement from_channels_last(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy);
/// A view of the copy of all images.
TensorRef copy_with_channels_last(const TensorRef& tensor, void* copy, std::int64_t pixel);

/// Between a tensor and a contiguous copy of its images as they are counted.
Rearrangement from_contiguous(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy);

}  // namespace portops::impl
