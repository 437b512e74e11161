// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

// What the 32 threads of a GPU's warp, its lanes, tell each other. On hosts nothing calls these.

namespace portops::impl {

/// The lanes in which the condition holds, a bit for each. All of them must call it.
KOKKOS_FORCEINLINE_FUNCTION unsigned lanes_where([[maybe_unused]] bool condition) {
  KOKKOS_IF_ON_DEVICE((return __ballot_sync(0xffffffffu, condition);))
  KOKKOS_IF_ON_HOST((return 0;))
}

KOKKOS_FORCEINLINE_FUNCTION int bits_in([[maybe_unused]] unsigned lanes) {
  KOKKOS_IF_ON_DEVICE((return __popc(lanes);))
  KOKKOS_IF_ON_HOST((return 0;))
}
/// How many of some lanes are before `lane`.
KOKKOS_FORCEINLINE_FUNCTION int lanes_before(unsigned lanes, int lane) { return bits_in(lanes & ((1u << lane) - 1)); }

/// The value of another lane.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t of_lane(std::int64_t value, [[maybe_unused]] int lane) {
  KOKKOS_IF_ON_DEVICE((return __shfl_sync(0xffffffffu, static_cast<long long>(value), lane);))
  KOKKOS_IF_ON_HOST((return value;))
}
/// What a warp's threads have written, all of them see.
KOKKOS_FORCEINLINE_FUNCTION void warp_barrier() { KOKKOS_IF_ON_DEVICE((__syncwarp();)) }

/// The lanes whose `digit`, of so many bits, is this one's. All of them must call it.
template <int bits>
KOKKOS_FORCEINLINE_FUNCTION unsigned lanes_with(std::uint32_t digit) {
  unsigned lanes = 0xffffffffu;
  PORTOPS_UNROLL
  for (int bit = 0; bit < bits; ++bit) {
    const bool is_set = (digit >> bit & 1u) != 0;
    const unsigned set = lanes_where(is_set);
    lanes &= is_set ? set : ~set;
  }
  return lanes;
}

}  // namespace portops::impl
