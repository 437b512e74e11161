// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/rows.hpp"

namespace portops::impl {

/// What host kernels over a ReducePlan share.
struct HostRows {
  /// Columns that are converted and computed together.
  static constexpr int chunk = 64;
  /// Elements of a work item, or more, where rows are short.
  static constexpr std::int64_t item_elements = 4096;

  /// Reads `count` columns in the type that is computed with.
  template <class T>
  static void load(Arithmetic<T> (&values)[chunk], const T* from, std::int64_t stride, int count) {
    if (stride == 1) {
      host::convert<T, chunk>(values, from, count);
    } else {
      for (int i = 0; i < count; ++i) values[i] = static_cast<Arithmetic<T>>(from[i * stride]);
    }
  }

  /// Writes `count` columns.
  template <class T>
  static void store(T* to, const Arithmetic<T> (&values)[chunk], std::int64_t stride, int count) {
    if (stride == 1 && count == chunk) {
      host::store<T, chunk>(to, values, false);
    } else {
      for (int i = 0; i < count; ++i) to[i * stride] = static_cast<T>(values[i]);
    }
  }
};

}  // namespace portops::impl
