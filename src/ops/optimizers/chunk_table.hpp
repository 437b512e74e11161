// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/kernel_table.hpp"
#include "core/exec/launch.hpp"
#include "core/types/macros.hpp"
#include "portops/core/config.hpp"
#if defined(PORTOPS_HAS_CUDA)
#include "core/exec/cuda/table_launch.hpp"
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace portops::impl {

/// Neighbouring elements of one entry of a table: those from `first` on, and how many there are to the entry's end.
struct ListChunk {
  const std::int64_t* entry;  ///< the addresses
  std::int64_t first;
  std::int64_t left;
};

/// A table of entries, addresses and a number of elements, and behind each the number of chunks up to its end. A chunk
/// is what 256 threads of a GPU take, or a work item of a host, which finds it by its number: long and short tensors
/// are cut into pieces of one size. On a GPU the table is among the arguments of the kernel that it belongs to.
template <Backend B, int operands, int chunk_elements, int table_words>
class ChunkTable {
 public:
  static constexpr int threads = 256;
  static constexpr int entry_words = operands + 2;

  explicit ChunkTable(const std::vector<std::int64_t>& words)
      : entries_(static_cast<int>(words.size()) / entry_words), host_words_(words.data()), chunks_(words.back()) {
    if constexpr (B == Backend::cuda) std::memcpy(words_, words.data(), words.size() * sizeof(std::int64_t));
  }

  std::int64_t items() const { return B == Backend::cuda ? chunks_ * threads : chunks_; }

  KOKKOS_FORCEINLINE_FUNCTION ListChunk find(std::int64_t item) const {
    const std::int64_t chunk = B == Backend::cuda ? item / threads : item;
    const std::int64_t* const words = this->words();
    int low = 0, high = entries_ - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (end_of(words, middle) > chunk) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const std::int64_t begin = low == 0 ? 0 : end_of(words, low - 1);
    const std::int64_t* const entry = words + low * entry_words;
    const std::int64_t first = (chunk - begin) * chunk_elements;
    return {entry, first, entry[operands] - first};
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION const std::int64_t* words() const {
    if constexpr (B == Backend::cuda) {
      return words_;
    } else {
      return host_words_;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t end_of(const std::int64_t* words, int entry) {
    return words[entry * entry_words + operands + 1];
  }

  int entries_;
  const std::int64_t* host_words_;  ///< outlives kernels of hosts, which end before their launch does
  std::int64_t chunks_;
  std::int64_t words_[B == Backend::cuda ? table_words : 1];
};

/// Enqueues make(table) for all entries, addresses and a number of elements each: one kernel, or one for as many as a
/// table takes.
template <Backend B, int operands, int chunk_elements, class Make>
void launch_over_lists(const Context& ctx, const std::string& label, const std::vector<std::int64_t>& entries,
                       const Make& make) {
  constexpr std::size_t given_words = operands + 1;
  const std::size_t count = entries.size() / given_words;
  std::size_t most = count;
#if defined(PORTOPS_HAS_CUDA)
  if constexpr (B == Backend::cuda) most = static_cast<std::size_t>(most_table_words(ctx) / (operands + 2));
#endif
  std::vector<std::int64_t> words;
  for (std::size_t first = 0; first < count; first += most) {
    words.clear();
    std::int64_t chunks = 0;
    for (std::size_t i = first; i < std::min(first + most, count); ++i) {
      const auto entry = entries.begin() + static_cast<std::ptrdiff_t>(i * given_words);
      chunks += ceil_div(entry[operands], std::int64_t{chunk_elements});
      words.insert(words.end(), entry, entry + given_words);
      words.push_back(chunks);
    }
    if constexpr (B != Backend::cuda) {
      launch_by_items<B>(ctx, label, make(ChunkTable<B, operands, chunk_elements, 1>(words)));
    } else {
#if defined(PORTOPS_HAS_CUDA)
      if constexpr (compiles_large_tables) {
        if (words.size() > small_table) {
          launch_with_table(ctx, label, make(ChunkTable<B, operands, chunk_elements, large_table>(words)));
          continue;
        }
      }
      launch_with_table(ctx, label, make(ChunkTable<B, operands, chunk_elements, small_table>(words)));
#endif
    }
  }
}

}  // namespace portops::impl
