// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "picture.hpp"

#include <portops/core/element_type.hpp>
#include <portops/core/tensor.hpp>
#include <portops/core/tensor_ref.hpp>

namespace portops::apps {

/// The light of the pixels, 0 to 1, in the picture's order: rows, columns, channels. `extents` has as many elements.
Tensor light_of(const Picture& picture, ElementType type, const Extents& extents);

/// The picture of so much light, which lies in host memory in a picture's order.
Picture picture_of(const Tensor& light, std::int64_t width, std::int64_t height);

}  // namespace portops::apps
