// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

#include <cstdint>

namespace portops::impl {

/// The launches of fill on one backend for one element type. Defined in fill_kernels_impl.hpp and compiled once for
/// each pair.
template <Backend B, class T>
struct FillKernels {
  static void fill(const Context& ctx, T* out, std::int64_t count, T number);
  /// Whatever T is.
  static void limit_rows(const Context& ctx, std::int64_t* rows, std::int64_t count, std::int64_t most);
  static void mark_refused(const Context& ctx, const std::int64_t* count, std::int64_t* last_row);
};

}  // namespace portops::impl
