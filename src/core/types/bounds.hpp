// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>

namespace portops::impl {

/// Between which numbers a result is clipped, as clip does it; relu is from 0 on.
struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();

  /// Whether anything is clipped.
  explicit operator bool() const { return *this != Bounds(); }
  bool operator==(const Bounds&) const = default;
};

}  // namespace portops::impl
