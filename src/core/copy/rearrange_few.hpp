// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"
#include "core/exec/cuda/kernel_order.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace portops::impl {

/// Rearranges few elements on a GPU. An item is a pack of neighbours in `to`, or an element where it has none: it is
/// read one by one from wherever it lies, and what is fetched beside an element stays in a cache until other threads of
/// the team need it. There is one wait, and little code: a kernel's instructions come from memory too.
template <class From, class To>
class RearrangeFew {
 public:
  static constexpr int blocks = 0;

  /// Whether its cost is no more than that.
  static bool suits(const Rearrangement& what, std::int64_t most_items = std::int64_t{1} << 17) {
    return what.size() <= most_items * pack && RearrangeFew(what).cost() <= most_items;
  }

  /// Of fewer than 2^31 elements.
  explicit RearrangeFew(const Rearrangement& what)
      : from_(static_cast<const From*>(what.from.data)), to_(static_cast<To*>(what.to.data)) {
    std::array<Axis, axes> axis{{{what.batches, what.from.batch, what.to.batch},
                                 {what.rows, what.from.row, what.to.row},
                                 {what.height, what.from.y, what.to.y},
                                 {what.width, what.from.x, what.to.x}}};
    // The neighbours in `to` come last, and axes of one element first.
    std::sort(axis.begin(), axis.end(),
              [](const Axis& a, const Axis& b) { return b.extent > 1 && (a.extent == 1 || a.to > b.to); });
    const auto is_whole = [](std::int64_t elements) { return elements % pack == 0; };
    Axis& last = axis.back();
    has_packs_ = last.to == 1 && is_whole(last.extent) && reinterpret_cast<std::uintptr_t>(to_) % gpu_pack_bytes == 0 &&
                 std::all_of(axis.begin(), axis.end() - 1,
                             [&](const Axis& other) { return other.extent == 1 || is_whole(other.to); });
    next_ = last.from;
    if (has_packs_) last = {last.extent / pack, last.from * pack, pack};
    for (std::size_t i = 0; i < axes; ++i) {
      axis_[i] = axis[i];
      extent_[i] = Divisor(static_cast<std::uint32_t>(axis[i].extent));
      items_ *= axis[i].extent;
    }
  }

  std::int64_t items() const { return items_; }
  /// The items, counted several times where threads of other teams need what is fetched beside an element, and fetch it
  /// again.
  std::int64_t cost() const {
    constexpr std::int64_t team = 256, fetched_again = 4;
    std::int64_t between = 1;  // items from an element of an axis to the next
    for (int i = axes - 1; i >= 0 && next_ != 1; --i) {
      if (axis_[i].from == 1 && axis_[i].extent > 1) return between > team ? fetched_again * items_ : items_;
      between *= axis_[i].extent;
    }
    return items_;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    let_next_kernel_start();
    move(static_cast<std::uint32_t>(item));
  }

  /// An item.
  KOKKOS_FORCEINLINE_FUNCTION void move(std::uint32_t item) const {
    std::int64_t from = 0, to = 0;
    PORTOPS_UNROLL
    for (int i = axes - 1; i >= 0; --i) {
      const std::uint32_t outer = i > 0 ? extent_[i].quotient(item) : 0;
      const std::uint32_t along = item - outer * extent_[i].value();
      from += along * axis_[i].from;
      to += along * axis_[i].to;
      item = outer;
    }
    const From* const source = in_device_memory(from_ + from);
    if (!has_packs_) {
      in_device_memory(to_)[to] = static_cast<To>(*source);
      return;
    }
    Word<To, pack> words;
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) words.set(i, static_cast<To>(source[i * next_]));
    ColumnAccess<pack, true>::store(to_ + to, words, 1, pack);
  }

 private:
  static constexpr int axes = 4;
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(To));

  /// Elements from one position to the next, in both layouts.
  struct Axis {
    std::int64_t extent = 1, from = 0, to = 0;
  };

  const From* from_;
  To* to_;
  Axis axis_[axes];
  Divisor extent_[axes];
  std::int64_t next_;  ///< from an element of a pack to the next one, in `from`
  bool has_packs_;
  std::int64_t items_ = 1;
};

}  // namespace portops::impl
