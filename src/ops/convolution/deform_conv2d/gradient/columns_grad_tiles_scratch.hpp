// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// What a team of ColumnsGradTiles keeps in scratch: the samples of its tile, and for each pixel of x that they read a
/// list of them.
template <Backend B, class T>
struct ColumnsGradTilesScratch {
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int vector_bytes = 16;
  static constexpr int vector = vector_bytes / static_cast<int>(sizeof(T));
  static constexpr int vectors = 8;  ///< of a sample and chunk: one a thread
  static constexpr int chunk = vectors * vector;
  static constexpr int row_bytes = vectors * vector_bytes;  ///< of a sample's chunk
  /// Of the pixels of x that have counters.
  static constexpr int window_rows = 24, window_columns = 32;
  static constexpr int keys = window_rows * window_columns;
  static constexpr int totals = 3, warps = 8;

  /// Where a sample's operands lie in the image, in vectors.
  struct alignas(vector_bytes) Record {
    A weight[corners];     ///< times the mask; of a sample outside, the first one is what its channels are
    std::uint32_t pixel;   ///< the corner above left; and flags
    std::uint32_t column;  ///< of the group's first chunk
    int key;               ///< of the corner above left in the window, and above it a bit for each corner that exists
  };
  /// What the gradients of offset and mask take of a sample besides.
  struct alignas(vector_bytes) Fraction {
    A down, right;
    A factor;
    std::uint32_t exists;  ///< a bit for each corner
  };
  static constexpr int key_bits = 16;
  static constexpr int unknown_key = -1;  ///< a corner lies outside of the window
  static constexpr int flag_bits = 4;
  enum Flag : std::uint32_t {
    steps_right = 1,  ///< the corners to the right are other pixels than those to the left
    steps_down = 2,
    is_outside = 4,
    is_nan = 8
  };
  struct Entry {
    A weight;
    int grads;  ///< of the sample: where they begin in scratch, in bytes
  };
  /// Lists have an even number of entries: where one is missing, it says that a row of zeros has the weight 0.
  struct alignas(2 * sizeof(Entry)) TwoEntries {
    Entry entry[2];
  };
  /// A pixel of x that is the corner of samples: entries from `begin` to the next target's.
  struct Target {
    std::uint32_t pixel;
    int begin;
  };

  T* grads;  ///< those of the columns: a chunk of each sample, and then zeros
  Record* records;
  Fraction* fractions;
  A* products;  ///< of each sample and corner
  Entry* entries;
  Target* targets;  ///< and one behind the last
  int* counters;
  int* warp_sums;
  int* entry_count;
  int* target_count;
  int* stray_count;  ///< entries of pixels outside of the window

  static constexpr int entries_of_sample = 2 * corners;

  PORTOPS_FUNCTION static constexpr int bytes(int samples) {
    constexpr int alignment = vector_bytes - 8;  // what may be missing to it
    const auto sizes =
        samples * static_cast<int>(entries_of_sample * sizeof(Entry) + corners * sizeof(Target) + sizeof(Record) +
                                   sizeof(Fraction) + corners * sizeof(A) + vectors * vector_bytes);
    return alignment + sizes + vectors * vector_bytes +
           static_cast<int>(sizeof(Target) + sizeof(int) * (keys + totals + warps));
  }

  KOKKOS_FUNCTION ColumnsGradTilesScratch(const Team& team, int samples) {
    auto* at = scratch_of<char>(team);
    at += (vector_bytes - reinterpret_cast<std::uintptr_t>(at) % vector_bytes) % vector_bytes;
    const auto take = [&](int bytes) {
      char* const begin = at;
      at += bytes;
      return begin;
    };
    grads = reinterpret_cast<T*>(take((samples + 1) * vectors * vector_bytes));
    records = reinterpret_cast<Record*>(take(samples * static_cast<int>(sizeof(Record))));
    fractions = reinterpret_cast<Fraction*>(take(samples * static_cast<int>(sizeof(Fraction))));
    products = reinterpret_cast<A*>(take(samples * corners * static_cast<int>(sizeof(A))));
    entries = reinterpret_cast<Entry*>(take(samples * entries_of_sample * static_cast<int>(sizeof(Entry))));
    targets = reinterpret_cast<Target*>(take((samples * corners + 1) * static_cast<int>(sizeof(Target))));
    counters = reinterpret_cast<int*>(take(keys * static_cast<int>(sizeof(int))));
    warp_sums = reinterpret_cast<int*>(take(warps * static_cast<int>(sizeof(int))));
    entry_count = reinterpret_cast<int*>(at);
    target_count = entry_count + 1;
    stray_count = entry_count + 2;
  }
};

}  // namespace portops::impl
