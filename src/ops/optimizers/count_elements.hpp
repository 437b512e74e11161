// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/strided_tensors.hpp"
#include "ops/optimizers/chunk_table.hpp"
#include "ops/optimizers/step_lists.hpp"

namespace portops::impl {

/// Whether a number is Inf or NaN: what its product with 0 is no 0 of.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION bool is_nonfinite(A value) {
  return !(value * A(0) == A(0));
}

/// Adds to a count. Integers: their sum is the same in any order.
KOKKOS_FORCEINLINE_FUNCTION void add_to_count(std::int64_t* count, int found) {
  if (found != 0) Kokkos::atomic_add(count, static_cast<std::int64_t>(found));
}

struct ZeroCount {
  static constexpr int blocks = 0;
  std::int64_t* count;

  static std::int64_t items() { return 1; }
  KOKKOS_FUNCTION void operator()(std::int64_t) const { *count = 0; }
};

/// Counts the elements of dense items that are Inf or NaN.
template <Backend B, class T, class Table>
class CountChunks {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 4;
  static constexpr int threads = 256;
  static constexpr int pack = static_cast<int>(16 / sizeof(T));
  static constexpr int rounds = 4;
  static constexpr int chunk = threads * pack * rounds;

  CountChunks(const Table& table, std::int64_t* count) : table_(table), count_(count) {}

  std::int64_t items() const { return table_.items(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const ListChunk at = table_.find(item);
    const auto* const from = reinterpret_cast<const T*>(at.entry[0]) + at.first;
    if constexpr (B == Backend::cuda) {
      add_to_count(count_, count_packs(from, at.left, static_cast<int>(item % threads)));
    } else {
      KOKKOS_IF_ON_HOST((add_to_count(count_, count_run(from, at.left < chunk ? at.left : chunk));))
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static int count_packs(const T* from, std::int64_t left, int thread) {
    int found = 0;
    if (left >= chunk && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
      Word<T, pack> words[rounds];
      PORTOPS_UNROLL
      for (int r = 0; r < rounds; ++r) {
        ColumnAccess<pack, true>::load(words[r], from + (r * threads + thread) * pack, 1, pack);
      }
      PORTOPS_UNROLL
      for (int r = 0; r < rounds; ++r) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack; ++i) found += is_nonfinite(static_cast<A>(words[r][i])) ? 1 : 0;
      }
      return found;
    }
    const std::int64_t end = left < chunk ? left : chunk;
    for (std::int64_t i = thread; i < end; i += threads) found += is_nonfinite(static_cast<A>(from[i])) ? 1 : 0;
    return found;
  }

  static int count_run(const T* from, std::int64_t elements) {
    int found = 0;
    for (std::int64_t i = 0; i < elements; ++i) found += is_nonfinite(static_cast<A>(from[i])) ? 1 : 0;
    return found;
  }

  Table table_;
  std::int64_t* count_;
};

/// The same for one item that lies in any way, a work item an element.
template <Backend B, class T>
class CountStrided {
 public:
  static constexpr int blocks = 0;

  CountStrided(const StepItem& item, std::int64_t* count)
      : elements_(item.elements()), tensors_(item.rank, item.extent.data()), count_(count) {
    tensors_.set(0, item.data[0], item.stride[0].data());
  }

  std::int64_t items() const { return elements_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t offset[1] = {};
    tensors_.locate(item, offset);
    add_to_count(count_, is_nonfinite(static_cast<Arithmetic<T>>(tensors_.template at<const T>(0, offset))) ? 1 : 0);
  }

 private:
  std::int64_t elements_;
  StridedTensors<1> tensors_;
  std::int64_t* count_;
};

}  // namespace portops::impl
