// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divisor_of.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace portops::impl {

/// to = from over a CopyPlan, on a GPU, where `to` has no gaps: a thread reads the words of a pack one by one, wherever
/// they lie, and writes them at once. What is fetched beside a word stays in a cache until other threads of the team
/// need it: packs come in the order of memory or, where neighbours in `from` are far from each other in that order, a
/// line of memory after the other along the axes on which these neighbours lie.
template <class W, class Index>
class CopyToPacks {
 public:
  static constexpr int blocks = 4;

  static bool suits(const CopyPlan& plan) {
    const StridedAxes& to = plan.to.axes;
    if (!plan.same_axes || to.rank < 2) return false;
    std::int64_t dense = 1;
    for (int axis = to.rank - 1; axis >= 0; --axis) {
      if (to.stride[axis] != dense) return false;
      dense *= to.extent[axis];
    }
    return true;
  }

  explicit CopyToPacks(const CopyPlan& plan)
      : size_(static_cast<Index>(plan.size)),
        from_(reinterpret_cast<const W*>(plan.from.data)),
        to_(reinterpret_cast<W*>(plan.to.data)),
        head_(static_cast<int>(reinterpret_cast<std::uintptr_t>(to_) % line_bytes / sizeof(W))),
        packs_(ceil_div(size_ + head_, pack)),
        rank_(plan.to.axes.rank) {
    for (int i = 0; i < rank_; ++i) {
      const int axis = rank_ - 1 - i;
      extent_[i] = static_cast<Index>(plan.from.axes.extent[axis]);
      stride_[i] = static_cast<Index>(plan.from.axes.stride[axis]);
      by_extent_[i] = make_divisor(extent_[i]);
    }
    order_packs();
  }

  std::int64_t items() const { return items_; }
  /// Whether packs are not taken in the order of memory.
  bool takes_rows() const { return row_ != 0; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    Index end = packs_;
    const Index number = row_ == 0 ? static_cast<Index>(item) : number_of(static_cast<Index>(item), end);
    if (number >= end) return;
    const Index at = number * pack - head_;
    if (at >= 0 && at + pack <= size_) {
      move_pack(at);
    } else {
      PORTOPS_NO_UNROLL
      for (int i = 0; i < pack; ++i) {
        if (at + i >= 0 && at + i < size_) to_[at + i] = in_device_memory(from_)[Place(*this, at + i).from];
      }
    }
  }

 private:
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(W));
  static constexpr int line_bytes = 128;
  /// Words of `from` that are fetched together.
  static constexpr int shared_words = 64 / static_cast<int>(sizeof(W));
  /// With more words of `to` between them a warp would fetch from too many places at once.
  static constexpr int far = 16 * pack;
  /// Packs that lie side by side in any order: a line of memory, without which writing takes longer than reading.
  static constexpr int run = line_bytes / gpu_pack_bytes;

  /// Where an element of `to` lies in `from`, and its place along the two fastest axes, along which it can move on.
  struct Place {
    KOKKOS_FORCEINLINE_FUNCTION Place(const CopyToPacks& of, Index at) {
      Index outer = of.by_extent_[0].quotient(at);
      column = at - outer * of.extent_[0];
      from = column * of.stride_[0];
      Index next = of.by_extent_[1].quotient(outer);
      row = outer - next * of.extent_[1];
      from += row * of.stride_[1];
      PORTOPS_NO_UNROLL
      for (int i = 2; i < of.rank_; ++i) {
        outer = next;
        next = of.by_extent_[i].quotient(outer);
        from += (outer - next * of.extent_[i]) * of.stride_[i];
      }
    }

    Index from, column, row;
  };

  KOKKOS_FORCEINLINE_FUNCTION void move_pack(Index at) const {
    Word<W, pack> words;
    Place place(*this, at);
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      words.set(i, in_device_memory(from_)[place.from]);
      if (i + 1 == pack) break;
      place.from += stride_[0];
      if (++place.column < extent_[0]) continue;
      place.column = 0;
      place.from += stride_[1] - extent_[0] * stride_[0];
      if (++place.row == extent_[1]) place = Place(*this, at + i + 1);
    }
    ColumnAccess<pack, true>::store(to_ + at, words, 1, pack);
  }

  /// Which pack an item takes where they are not taken in the order of memory, and the first one behind its row: no
  /// smaller number where the item has none.
  KOKKOS_FORCEINLINE_FUNCTION Index number_of(Index item, Index& end) const {
    Index left = item / run, row = 0, of_row = 0;
    PORTOPS_NO_UNROLL
    for (int i = 0; i < digits_; ++i) {
      const Index next = digit_[i].extent.quotient(left);
      const Index along = left - next * digit_[i].value;
      row += along * digit_[i].rows;
      of_row += along * digit_[i].packs;
      left = next;
    }
    if (row + 1 < rows_) end = ((row + 1) * row_ + head_) / pack;
    const Index first = (row * row_ + head_) / pack;
    const Index number = first / run * run + of_row + item % run;
    return number < first ? end : number;
  }

  /// Chooses the order of packs: that of memory, or runs of them first along the axes on which neighbours in `from`
  /// lie, then through what lies between these in `to`, a row, and last along all other axes.
  void order_packs() {
    items_ = packs_;
    int order[max_rank], first_taken = rank_;
    bool is_taken[max_rank] = {};
    std::iota(order, order + rank_, 0);
    const auto distance = [&](int axis) { return std::abs(stride_[axis]); };
    std::stable_sort(order, order + rank_, [&](int a, int b) { return distance(a) < distance(b); });
    const auto taken_end = std::remove_if(order, order + rank_, [&](int axis) {
      const bool shares = distance(axis) != 0 && distance(axis) < shared_words;
      return !shares || words_between(0, axis) < far;
    });
    for (const int* axis = order; axis != taken_end; ++axis) {
      is_taken[*axis] = true;
      first_taken = std::min(first_taken, *axis);
    }
    if (first_taken == rank_) return;

    row_ = words_between(0, first_taken);
    rows_ = size_ / row_;
    const auto add = [&](Index extent, Index rows, Index packs) {
      digit_[digits_++] = {make_divisor(extent), extent, rows, packs};
    };
    const auto add_axis = [&](int axis) { add(extent_[axis], words_between(first_taken, axis), 0); };
    std::for_each(order, taken_end, add_axis);
    // A row's first pack and its last one may have words of other rows.
    add(static_cast<Index>(ceil_div(ceil_div(row_, pack), run) + 1), 0, run);
    for (int axis = first_taken; axis < rank_; ++axis) {
      if (!is_taken[axis]) add_axis(axis);
    }
    items_ = std::accumulate(digit_, digit_ + digits_, std::int64_t{run},
                             [](std::int64_t items, const Digit& digit) { return items * digit.value; });
  }

  /// Words of `to` from one position along an axis to the next, in units of those along a faster axis.
  Index words_between(int faster, int axis) const {
    return std::accumulate(extent_ + faster, extent_ + axis, Index(1), std::multiplies<>());
  }

  /// An axis along which runs of packs are counted: so many rows, or packs of a row, are from one to the next.
  struct Digit {
    DivisorOf<Index> extent;
    Index value;
    Index rows, packs;
  };

  Index size_;
  const W* from_;
  W* to_;
  int head_;  ///< words of the first pack before the first one of `to`
  Index packs_;
  int rank_;
  Index extent_[max_rank];  ///< the fastest axis of `to` first
  Index stride_[max_rank];
  DivisorOf<Index> by_extent_[max_rank];
  std::int64_t items_ = 0;
  Index row_ = 0;  ///< words of a row, where packs are not taken in the order of memory
  Index rows_ = 0;
  int digits_ = 0;
  Digit digit_[max_rank + 1];
};

}  // namespace portops::impl
