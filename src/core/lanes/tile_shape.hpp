// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/backend.hpp"
#include "core/types/element_type.hpp"

// Sizes that suit the machines: what the plans and their kernels agree on. Nothing here knows Kokkos.

namespace portops::impl {

/// A GPU's widest access.
inline constexpr int gpu_pack_bytes = 16;
/// What a host's tile may keep from row to row, on the stack of the thread: it stays in the second level of its caches.
/// More made tiles wider but not faster.
inline constexpr int host_kept_bytes = 48 << 10;
/// The most teams of one launch.
inline constexpr std::int64_t most_teams = 1 << 30;

/// Sizes that suit a backend. A team works on tiles of rows and columns; in it, `lanes` threads side by side share a
/// row, each with `packs` packs of `pack` elements, and `slots` rows are under way at once. Walks (tile_plan.hpp)
/// choose lanes and packs of their own, and a host's tiles have fewer packs where they keep much.
struct TileShape {
  int pack;
  int packs;
  int most_lanes;
  int most_threads;

  constexpr int columns() const { return pack * packs * most_lanes; }
};

constexpr TileShape tile_shape(Backend backend, ElementType type) {
  if (backend != Backend::cuda) return {.pack = 64, .packs = 64, .most_lanes = 1, .most_threads = 1};
  const int pack = gpu_pack_bytes / static_cast<int>(size_of(type));
  return {.pack = pack, .packs = pack > 4 ? 1 : 2, .most_lanes = 32, .most_threads = 256};
}

/// Bytes to which packs are aligned: a GPU's widest access, a host's streaming store.
constexpr int pack_alignment(Backend backend) { return backend == Backend::cuda ? gpu_pack_bytes : 32; }

/// a / b, rounded up.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace portops::impl
