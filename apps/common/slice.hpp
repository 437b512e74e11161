// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace portops::apps {

/// The elements of a contiguous tensor from `start` on, counted in elements, as a tensor of `extents`.
inline TensorRef slice(const Tensor& tensor, std::int64_t start, const Extents& extents) {
  const ElementType type = tensor.ref().type();
  std::byte* data = tensor.data<std::byte>() + start * static_cast<std::int64_t>(size_of(type));
  return {data, type, extents, extents.row_major_strides(), tensor.ref().space()};
}

}  // namespace portops::apps
