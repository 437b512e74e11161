// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/windows.hpp"

#include <cstddef>

namespace portops::impl {

/// Neighbouring channels that a thread of ConvolveTaps takes: eight of 16 bits where runs allow it, else four.
inline int taps_pack(const Windows& windows, std::size_t element_bytes) {
  return element_bytes == 2 && windows.channel_run() % 8 == 0 ? 8 : 4;
}

}  // namespace portops::impl
