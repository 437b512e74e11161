// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"

#include <cstdint>
#include <string>

namespace portops::impl {

/// A place outside of the table shows in the count of merged rows alone, which is negative then. Before such rows are
/// merged with others, the last one of them is put outside of the table again, so that the new count shows it.
struct MarkRefused {
  const std::int64_t* count;
  std::int64_t* last_row;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    if (*count < 0) *last_row = *count;
  }
};

template <Backend B>
void mark_refused(const Context& ctx, const std::string& label, const std::int64_t* count, std::int64_t* last_row) {
  launch_items<B, 0>(ctx, label, MarkRefused{count, last_row}, 1);
}

}  // namespace portops::impl
