// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_run.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/divisor_of.hpp"
#include "core/lanes/host_caches.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"
#include "ops/parts/parts_table.hpp"

#include <algorithm>

namespace portops::impl {

/// Copies the parts of a group into the whole or out of it. The words of the whole that the parts make up are counted
/// row by row; neighbouring ones are taken by neighbouring threads, whatever part they belong to: all threads have the
/// same to do, however the parts' sizes differ. On a GPU the group's table is among the kernel's own arguments and has
/// up to `table_words`; on hosts it stays in the group. Index, which counts words, may be int where the group is
/// narrow.
template <Backend B, class Word, PartsForm form, int table_words, class Index>
class MoveParts {
 public:
  static constexpr int blocks = 4;

  MoveParts(const PartsPlan& plan, const PartsGroup& group)
      : from_whole_(plan.direction == PartsDirection::to_parts),
        parts_(static_cast<int>(group.count)),
        outer_axes_(plan.outer_axes),
        inner_axes_(plan.inner_axes),
        entry_words_(group.entry_words(plan)),
        inner_(static_cast<Index>(plan.inner())),
        length_(static_cast<Index>(group.length)),
        whole_(reinterpret_cast<Word*>(plan.whole) + group.before * plan.axis_stride()),
        axis_stride_(plan.axis_stride()),
        row_divisor_(make_divisor(static_cast<Index>(group.length * plan.inner()))),
        run_(static_cast<Index>(group.first_length)),
        run_divisor_(make_divisor(run_)),
        size_(static_cast<Index>(group.words(plan))),
        table_(group) {
    if constexpr (B != Backend::cuda) {
      const auto bytes = static_cast<std::int64_t>(sizeof(Word)) * size_, row = bytes / plan.rows();
      streaming_ = exceeds_host_caches(bytes);
      if (form == PartsForm::runs && outer_axes_ == 1 && row <= most_row_bytes && longest_run() <= most_run_words) {
        rows_ = plan.rows();
        rows_of_item_ = std::clamp(bytes / enough_items, least_item_bytes, most_item_bytes) / row;
      }
    }
    for (int axis = 0; axis < max_rank; ++axis) {
      extent_[axis] = plan.extent[static_cast<std::size_t>(axis)];
      stride_[axis] = plan.stride[static_cast<std::size_t>(axis)];
      equal_stride_[axis] = axis < plan.outer_axes ? plan.entry(group.first)[2 + axis] : 0;
    }
  }

  std::int64_t items() const {
    if constexpr (B == Backend::cuda) return ceil_div(std::int64_t{size_}, threads * in_flight) * threads;
    return rows_of_item_ > 0 ? ceil_div(rows_, rows_of_item_) : ceil_div(std::int64_t{size_}, host_words);
  }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    if constexpr (B == Backend::cuda) {
      move_packs(item);
    } else {
      KOKKOS_IF_ON_HOST((rows_of_item_ > 0 ? move_rows(item) : move_lines(item);))
    }
  }

 private:
  /// A GPU's threads that take neighbouring words, and the words of a thread, all of which are on their way before the
  /// first one is waited for. They lie so close that most are in the same run.
  static constexpr int threads = 32;
  static constexpr int in_flight = sizeof(Word) == 16 ? 2 : sizeof(Word) == 8 ? 4 : 8;
  /// Words of a work item of a host.
  static constexpr std::int64_t host_words = (std::int64_t{1} << 15) / static_cast<std::int64_t>(sizeof(Word));
  /// Rows of a host that are no longer, with runs that are no longer, are taken some at a time, part by part: so many
  /// bytes of them that a cache keeps all, and that there are items enough.
  static constexpr std::int64_t most_row_bytes = std::int64_t{1} << 14;
  static constexpr std::int64_t most_run_words = 1024 / static_cast<std::int64_t>(sizeof(Word));
  static constexpr std::int64_t least_item_bytes = std::int64_t{1} << 15, most_item_bytes = std::int64_t{1} << 18;
  static constexpr std::int64_t enough_items = 128;
  static constexpr bool is_strided = form == PartsForm::strided;

  /// A word in its part and in the whole, and how many of the following ones lie at these strides from each other.
  struct Place {
    Word* part = nullptr;  ///< null for a part that is not wanted
    Word* whole = nullptr;
    Index left = 0;
    std::int64_t part_stride = 1;
    std::int64_t whole_stride = 1;
  };

  using Table = typename PartsTable<B, form, table_words>::Entries;

  KOKKOS_FORCEINLINE_FUNCTION Index end_of(Table table, int part) const {
    return static_cast<Index>(table[part * entry_words_ + 1]);
  }

  /// The part that has position `at` along the axis, found soonest where it is `before` or one of the next.
  KOKKOS_FORCEINLINE_FUNCTION int find(Table table, Index at, int before) const {
    int low = before > 0 && end_of(table, before - 1) > at ? 0 : before;
    const Index behind = at - end_of(table, low);
    if (behind < 0) return low;
    ++low;
    // Every part has one position at least.
    int high = behind < parts_ - 1 - low ? low + static_cast<int>(behind) : parts_ - 1;
    PORTOPS_NO_UNROLL
    while (low < high) {
      const int middle = (low + high) / 2;
      if (end_of(table, middle) > at) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /// Adds the offsets of a position along axes [begin, end) in a part of these strides and in the whole.
  KOKKOS_FORCEINLINE_FUNCTION void add_offsets(std::int64_t index, int begin, int end, const std::int64_t* part_stride,
                                               std::int64_t& part, std::int64_t& whole) const {
    PORTOPS_NO_UNROLL
    for (int axis = end - 1; axis >= begin; --axis) {
      const std::int64_t outer = axis > begin ? quotient(index, extent_[axis]) : 0;
      const std::int64_t along = index - outer * extent_[axis];
      part += along * part_stride[axis];
      whole += along * stride_[axis];
      index = outer;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void locate(Table table, Index word, Place& place, int& part) const {
    const Index row = outer_axes_ == 0 ? 0 : static_cast<Index>(row_divisor_.quotient(word));
    const Index in_row = word - row * (length_ * inner_);
    const Index position = is_strided && inner_axes_ > 0 ? static_cast<Index>(quotient(in_row, inner_)) : in_row;
    Index begin, end;
    const std::int64_t* strides;
    std::int64_t address;
    if constexpr (form == PartsForm::equal_runs) {
      part = static_cast<int>(run_divisor_.quotient(position));
      begin = part * run_;
      end = begin + run_;
      strides = equal_stride_;
      address = table[part];
    } else {
      part = find(table, position, part);
      begin = part == 0 ? 0 : end_of(table, part - 1);
      end = end_of(table, part);
      const std::int64_t* const entry = table + part * entry_words_;
      strides = entry + 2;
      address = entry[0];
    }
    std::int64_t in_part = position - begin, in_whole = std::int64_t{position} * axis_stride_;
    place.left = end - position;
    if constexpr (is_strided) {
      const int axes = outer_axes_ + inner_axes_;
      in_part *= strides[axes];
      place.part_stride = strides[axes];
      place.whole_stride = axis_stride_;
      if (inner_axes_ > 0) {
        const Index inside = in_row - position * inner_;
        add_offsets(inside, outer_axes_, axes, strides, in_part, in_whole);
        place.part_stride = strides[axes - 1];
        place.whole_stride = stride_[axes - 1];
        const std::int64_t line = extent_[axes - 1];
        place.left = static_cast<Index>(line - (inside - quotient(inside, line) * line));
      }
    }
    add_offsets(row, 0, outer_axes_, strides, in_part, in_whole);
    place.part = address == 0 ? nullptr : Kokkos::bit_cast<Word*>(address) + in_part;
    place.whole = whole_ + in_whole;
  }

  /// What a GPU's thread copies.
  KOKKOS_FORCEINLINE_FUNCTION void move_packs(std::int64_t item) const {
    const Table table = table_.entries();
    auto at = static_cast<Index>(item / threads * (threads * in_flight) + item % threads);
    Word word[in_flight];
    Word* to[in_flight];
    Place place;
    int part = 0;
    PORTOPS_UNROLL
    for (int k = 0; k < in_flight; ++k) {
      to[k] = nullptr;
      if (at < size_) {
        if (!is_strided && place.left > threads) {
          place.left -= threads;
          place.whole += threads;
          if (place.part != nullptr) place.part += threads;
        } else {
          locate(table, at, place, part);
        }
        if (place.part != nullptr) {
          word[k] = *in_device_memory(from_whole_ ? place.whole : place.part);
          to[k] = from_whole_ ? place.part : place.whole;
        }
      }
      at += threads;
    }
    PORTOPS_UNROLL
    for (int k = 0; k < in_flight; ++k) {
      if (to[k] != nullptr) *in_device_memory(to[k]) = word[k];
    }
  }

  /// What a host's work item copies: line by line, a line being what lies side by side, or at one stride.
  void move_lines(std::int64_t item) const {
    const std::int64_t end = (item + 1) * host_words < size_ ? (item + 1) * host_words : size_;
    const Table table = table_.entries();
    int part = 0;
    for (std::int64_t at = item * host_words; at < end;) {
      Place place;
      locate(table, at, place, part);
      const std::int64_t count = place.left < end - at ? place.left : end - at;
      if (place.part != nullptr) move_line(place, count);
      at += count;
    }
    if (streaming_) host::end_of_streaming();
  }

  std::int64_t longest_run() const {
    const Table table = table_.entries();
    std::int64_t longest = 0;
    for (int part = 0; part < parts_; ++part) {
      longest = std::max<std::int64_t>(longest, end_of(table, part) - (part == 0 ? 0 : end_of(table, part - 1)));
    }
    return longest;
  }

  /// What it copies of short rows: of all its rows one part after the other, so that each tensor is read or written
  /// piece by piece, not line by line.
  void move_rows(std::int64_t item) const {
    const std::int64_t first = item * rows_of_item_;
    const std::int64_t rows = rows_of_item_ < rows_ - first ? rows_of_item_ : rows_ - first;
    const Table table = table_.entries();
    std::int64_t begin = 0;
    for (int part = 0; part < parts_; ++part) {
      const std::int64_t* const entry = table + part * entry_words_;
      const std::int64_t count = entry[1] - begin;
      Place place;
      if (entry[0] != 0) {
        place.part = Kokkos::bit_cast<Word*>(entry[0]) + first * entry[2];
        place.whole = whole_ + first * stride_[0] + begin;
        for (std::int64_t row = 0; row < rows; ++row, place.part += entry[2], place.whole += stride_[0]) {
          move_line(place, count);
        }
      }
      begin = entry[1];
    }
    if (streaming_) host::end_of_streaming();
  }

  void move_line(const Place& place, std::int64_t count) const {
    const Word* const from = from_whole_ ? place.whole : place.part;
    Word* const to = from_whole_ ? place.part : place.whole;
    const std::int64_t from_stride = from_whole_ ? place.whole_stride : place.part_stride;
    const std::int64_t to_stride = from_whole_ ? place.part_stride : place.whole_stride;
    if (from_stride == 1 && to_stride == 1) {
      host::copy_run(to, from, count, streaming_);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
    }
  }

  bool from_whole_;
  bool streaming_ = false;
  std::int64_t rows_ = 0, rows_of_item_ = 0;  ///< of hosts that take short rows
  int parts_;
  int outer_axes_;
  int inner_axes_;
  int entry_words_;
  Index inner_;
  Index length_;  ///< of all parts along the axis
  Word* whole_;   ///< where the group's first part begins
  std::int64_t axis_stride_;
  DivisorOf<Index> row_divisor_;
  Index run_;  ///< the parts' length, where they have the same
  DivisorOf<Index> run_divisor_;
  Index size_;
  std::int64_t extent_[max_rank];
  std::int64_t stride_[max_rank];
  std::int64_t equal_stride_[max_rank];  ///< of every part, where they have the same
  PartsTable<B, form, table_words> table_;
};

}  // namespace portops::impl
