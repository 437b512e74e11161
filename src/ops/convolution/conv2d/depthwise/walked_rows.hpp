// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace portops::impl {

/// Which rows of `to` row t of `from` belongs to, with t counted from the first tap of the first of them: row
/// (t − k) / step for the taps k that leave nothing over. A thread that goes down the rows of `from` holds as many rows
/// of `to` as one of these can belong to, each in the slot of its number modulo `slots`. t modulo `period`, with which
/// slots repeat, is known at compile time.
template <int K, int step>
struct WalkedRows {
  static constexpr int slots = (K + step - 1) / step, period = slots * step;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool has_tap(int phase, int k) {
    return (phase + period - k) % step == 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int slot(int phase, int k) {
    return (phase + period - k) / step % slots;
  }
  /// Rows of `from` that `rows` rows of `to` reach.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int32_t reach(std::int32_t rows) { return (rows - 1) * step + K; }

  /// Calls visit(t, phase) for these, one after the other.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void walk(std::int32_t rows, const Visit& visit) {
    PORTOPS_NO_UNROLL
    for (std::int32_t first = 0; first < reach(rows); first += period) {
      PORTOPS_UNROLL
      for (int phase = 0; phase < period; ++phase) {
        if (first + phase < reach(rows)) visit(first + phase, phase);
      }
    }
  }
};

}  // namespace portops::impl
