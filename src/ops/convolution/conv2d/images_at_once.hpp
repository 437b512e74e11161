// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/element_type.hpp"
#include "ops/convolution/windows.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// The most images whose windows, of so many numbers, are in memory at once, where they are: few enough for some 64
/// MiB.
inline std::int64_t images_at_once(const Windows& windows, std::int64_t column, ElementType type) {
  constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
  const std::int64_t bytes = windows.pixels() * column * static_cast<std::int64_t>(size_of(type));
  return std::clamp<std::int64_t>(most_bytes / std::max<std::int64_t>(bytes, 1), 1,
                                  std::max<std::int64_t>(windows.images, 1));
}
inline std::int64_t images_at_once(const Windows& windows, ElementType type) {
  return images_at_once(windows, windows.column(), type);
}

}  // namespace portops::impl
