// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <utility>

namespace portops::impl {
namespace {

/// Whether the stride along an axis is the given one, or does not matter.
bool lies(const TensorRef& tensor, int axis, std::int64_t stride) {
  return tensor.extent(axis) <= 1 || tensor.stride(axis) == stride;
}

Rearrangement::Side side(const Tensor4& tensor) {
  return {tensor.data, tensor.stride[0], tensor.stride[1], tensor.stride[2], tensor.stride[3]};
}

Rearrangement make_rearrangement(const TensorRef& tensor, std::int64_t count, const Rearrangement::Side& from,
                                 const Rearrangement::Side& to) {
  Rearrangement result{count, tensor.extent(1), tensor.extent(2), tensor.extent(3), from, to};
  result.merge_columns();
  return result;
}

Rearrangement::Side channels_last(const TensorRef& tensor, void* data, std::int64_t pixel) {
  const std::int64_t row = tensor.extent(3) * pixel;
  return {data, tensor.extent(2) * row, 1, row, pixel};
}

}  // namespace

Tensor4 tensor4(const TensorRef& tensor, std::int64_t first) {
  if (!tensor) return {};
  auto* const data = static_cast<std::byte*>(tensor.data());
  const auto element = static_cast<std::int64_t>(size_of(tensor.type()));
  return {data + first * tensor.stride(0) * element,
          {tensor.stride(0), tensor.stride(1), tensor.stride(2), tensor.stride(3)}};
}

TensorRef moved(const TensorRef& tensor, std::int64_t elements, const Extents& extents, const Extents& strides) {
  auto* const data = static_cast<std::byte*>(tensor.data());
  return {data + elements * static_cast<std::int64_t>(size_of(tensor.type())), tensor.type(), extents, strides,
          tensor.space()};
}

bool has_channels_last(const TensorRef& tensor) { return lies(tensor, 1, 1); }

bool is_dense_channels_last(const TensorRef& tensor) {
  const Rearrangement::Side dense = channels_last(tensor, nullptr, tensor.extent(1));
  return lies(tensor, 0, dense.batch) && lies(tensor, 1, 1) && lies(tensor, 2, dense.y) && lies(tensor, 3, dense.x);
}

std::int64_t pixel_distance(const TensorRef& tensor) {
  if (tensor.extent(3) > 1) return tensor.stride(3);
  if (tensor.extent(2) > 1) return tensor.stride(2);
  return tensor.extent(0) > 1 ? tensor.stride(0) : tensor.extent(1);
}

bool is_matrix_of_pixels(const TensorRef& tensor) {
  const std::int64_t distance = pixel_distance(tensor);
  return distance >= std::max<std::int64_t>(tensor.extent(1), 1) && lies(tensor, 1, 1) &&
         lies(tensor, 2, tensor.extent(3) * distance) &&
         lies(tensor, 0, tensor.extent(2) * tensor.extent(3) * distance);
}

bool is_matrix_of_planes(const TensorRef& tensor) {
  return lies(tensor, 3, 1) && lies(tensor, 2, tensor.extent(3)) &&
         (tensor.extent(1) <= 1 || tensor.stride(1) >= tensor.extent(2) * tensor.extent(3));
}

Rearrangement to_channels_last(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy,
                               std::int64_t pixel) {
  return make_rearrangement(tensor, count, side(tensor4(tensor, first)), channels_last(tensor, copy, pixel));
}

Rearrangement from_channels_last(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy) {
  return make_rearrangement(tensor, count, channels_last(tensor, copy, tensor.extent(1)), side(tensor4(tensor, first)));
}

TensorRef copy_with_channels_last(const TensorRef& tensor, void* copy, std::int64_t pixel) {
  const Rearrangement::Side side = channels_last(tensor, copy, pixel);
  return {copy, tensor.type(), tensor.extents(), {side.batch, side.row, side.y, side.x}, tensor.space()};
}

Rearrangement from_contiguous(const TensorRef& tensor, std::int64_t first, std::int64_t count, void* copy) {
  const Extents strides = tensor.extents().row_major_strides();
  return make_rearrangement(tensor, count, {copy, strides[0], strides[1], strides[2], strides[3]},
                            side(tensor4(tensor, first)));
}

}  // namespace portops::impl
