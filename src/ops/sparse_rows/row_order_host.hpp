// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sparse_rows/row_order_functors.hpp"

#include <algorithm>
#include <utility>

// Ordering rows on hosts: a radix sort from the last digit to the first, in blocks that threads share out. Stable, so
// that neither threads nor blocks show in what comes out.

namespace portops::impl {

/// How a host cuts rows into blocks, and places into digits.
struct HostBlocks {
  static constexpr std::int64_t block = std::int64_t{1} << 14;
  static constexpr int most_digit_bits = 8;
  static constexpr int most_digits = 1 << most_digit_bits;

  explicit HostBlocks(std::int64_t rows) : n(rows), blocks(ceil_div(rows, block)) {}
  std::int64_t begin(std::int64_t b) const { return b * block; }
  std::int64_t end(std::int64_t b) const { return std::min(n, (b + 1) * block); }

  std::int64_t n;
  std::int64_t blocks;
};

/// Counts the digits of a block's places.
template <class Index>
struct CountDigits {
  HostBlocks blocks;
  const Index* places;
  int shift;
  Index mask;
  Index* counts;  ///< [block][digit]

  void operator()(std::int64_t b) const {
    Index* const own = counts + b * HostBlocks::most_digits;
    std::fill(own, own + HostBlocks::most_digits, Index{0});
    for (std::int64_t i = blocks.begin(b); i < blocks.end(b); ++i) ++own[(places[i] >> shift) & mask];
  }
};

/// Turns counts into where each block puts the first row of each digit.
template <class Index>
struct PlaceDigits {
  HostBlocks blocks;
  Index* counts;

  void operator()(std::int64_t) const {
    Index at = 0;
    for (int digit = 0; digit < HostBlocks::most_digits; ++digit) {
      for (std::int64_t b = 0; b < blocks.blocks; ++b) {
        at += std::exchange(counts[b * HostBlocks::most_digits + digit], at);
      }
    }
  }
};

/// Moves a block's rows to where their digits say.
template <class Index>
struct MoveRows {
  HostBlocks blocks;
  const Index* places;
  const Index* positions;
  Index* places_out;
  Index* positions_out;
  int shift;
  Index mask;
  Index* counts;

  void operator()(std::int64_t b) const {
    Index* const own = counts + b * HostBlocks::most_digits;
    for (std::int64_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      const Index to = own[(places[i] >> shift) & mask]++;
      places_out[to] = places[i];
      positions_out[to] = positions[i];
    }
  }
};

/// How many places occur first in each block, then in all blocks before it, then up to each row.
template <class Index>
struct CountFirsts {
  HostBlocks blocks;
  IsFirst<Index> is_first;
  Index* counts;

  void operator()(std::int64_t b) const {
    Index count = 0;
    for (std::int64_t i = blocks.begin(b); i < blocks.end(b); ++i) count += is_first(i);
    counts[b] = count;
  }
};
template <class Index>
struct AddFirsts {
  HostBlocks blocks;
  Index* counts;
  Index* numbers;

  void operator()(std::int64_t) const {
    Index total = 0;
    for (std::int64_t b = 0; b < blocks.blocks; ++b) total += std::exchange(counts[b], total);
    numbers[blocks.n] = total;
  }
};
template <class Index>
struct NumberFirsts {
  HostBlocks blocks;
  IsFirst<Index> is_first;
  const Index* counts;
  Index* numbers;

  void operator()(std::int64_t b) const {
    Index number = counts[b];
    for (std::int64_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      number += is_first(i);
      numbers[i] = number;
    }
  }
};

inline std::size_t host_sorter_bytes(const SparseRows& sparse) {
  const std::size_t index = sparse.narrow() ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  return static_cast<std::size_t>(HostBlocks(sparse.n).blocks * HostBlocks::most_digits) * index;
}

template <Backend B, class Index>
RowOrder<Index> sort_on_host(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                             Index* (&places)[2], Index* (&positions)[2], Index* counts) {
  read_places<B>(ctx, labels, sparse, places[0], positions[0]);
  const std::string& label = labels.sort;
  const HostBlocks blocks(sparse.n);
  const int bits = bits_of_places(sparse);
  const int passes = static_cast<int>(ceil_div(bits, HostBlocks::most_digit_bits));
  const int digit_bits = static_cast<int>(ceil_div(bits, passes));
  const Index mask = (Index{1} << digit_bits) - 1;
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * digit_bits;
    launch_items<B, 0>(ctx, label, CountDigits<Index>{blocks, places[0], shift, mask, counts}, blocks.blocks);
    launch_items<B, 0>(ctx, label, PlaceDigits<Index>{blocks, counts}, 1);
    launch_items<B, 0>(ctx, label,
                       MoveRows<Index>{blocks, places[0], positions[0], places[1], positions[1], shift, mask, counts},
                       blocks.blocks);
    std::swap(places[0], places[1]);
    std::swap(positions[0], positions[1]);
  }
  return {places[0], positions[0], nullptr};
}

template <Backend B, class Index>
void number_on_host(const Context& ctx, const RowOrderLabels& labels, const SparseRows& sparse,
                    const RowOrder<Index>& order, Index* counts) {
  const std::string& label = labels.count;
  const HostBlocks blocks(sparse.n);
  const IsFirst<Index> is_first{order.places, static_cast<Index>(sparse.height), sparse.n};
  launch_items<B, 0>(ctx, label, CountFirsts<Index>{blocks, is_first, counts}, blocks.blocks);
  launch_items<B, 0>(ctx, label, AddFirsts<Index>{blocks, counts, order.numbers}, 1);
  launch_items<B, 0>(ctx, label, NumberFirsts<Index>{blocks, is_first, counts, order.numbers}, blocks.blocks);
}

}  // namespace portops::impl
