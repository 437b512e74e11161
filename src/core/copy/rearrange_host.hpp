// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/copy/rearrangement.hpp"
#include "core/lanes/host_caches.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/lanes/turn_words.hpp"

#include <algorithm>

namespace portops::impl {

/// Rearranges on a host where neighbours lie along one axis in `from` and along the other one in `to`, without a change
/// of their type: an item is a tile, which is turned in registers.
template <class Word>
class RearrangeHost {
 public:
  static constexpr int blocks = 0;  // a matter of GPUs

  static bool suits(const Rearrangement& what) {
    return (what.to.x == 1 && what.from.row == 1) || (what.to.row == 1 && what.from.x == 1);
  }

  explicit RearrangeHost(const Rearrangement& what)
      : what_(what),
        lines_are_rows_(what.to.x == 1 && what.from.row == 1),
        lines_(lines_are_rows_ ? what.rows : what.width),
        count_(lines_are_rows_ ? what.width : what.rows),
        to_line_(lines_are_rows_ ? what.to.row : what.to.x),
        from_line_(lines_are_rows_ ? what.from.x : what.from.row),
        tiles_down_(ceil_div(lines_, host::turned_tile)),
        tiles_across_(ceil_div(count_, host::turned_tile)),
        streaming_(exceeds_host_caches(what.size() * static_cast<std::int64_t>(sizeof(Word))) && has_whole_packs()) {}

  std::int64_t items() const { return what_.batches * what_.height * tiles_down_ * tiles_across_; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((turn(item);)) }

 private:
  /// Whether all lines of `to` begin where they can be streamed to.
  bool has_whole_packs() const {
    constexpr auto words = static_cast<std::int64_t>(32 / sizeof(Word));
    return reinterpret_cast<std::uintptr_t>(what_.to.data) % 32 == 0 && to_line_ % words == 0 &&
           (what_.batches == 1 || what_.to.batch % words == 0) && (what_.height == 1 || what_.to.y % words == 0);
  }

  void turn(std::int64_t item) const {
    const std::int64_t rest = item / tiles_across_, across = item - rest * tiles_across_;
    const std::int64_t plane = rest / tiles_down_, down = rest - plane * tiles_down_;
    const std::int64_t batch = plane / what_.height, y = plane - batch * what_.height;
    const std::int64_t line = down * host::turned_tile, at = across * host::turned_tile;
    const auto lines = static_cast<int>(std::min<std::int64_t>(host::turned_tile, lines_ - line));
    const auto count = static_cast<int>(std::min<std::int64_t>(host::turned_tile, count_ - at));
    host::turn_tile(static_cast<Word*>(what_.to.data) + batch * what_.to.batch + y * what_.to.y + line * to_line_ + at,
                    to_line_,
                    static_cast<const Word*>(what_.from.data) + batch * what_.from.batch + y * what_.from.y +
                        at * from_line_ + line,
                    from_line_, lines, count, streaming_);
    if (streaming_) host::end_of_streaming();
  }

  Rearrangement what_;
  bool lines_are_rows_;  ///< of `to`; else they are columns
  std::int64_t lines_;
  std::int64_t count_;  ///< of neighbours in a line
  std::int64_t to_line_;
  std::int64_t from_line_;
  std::int64_t tiles_down_;
  std::int64_t tiles_across_;
  bool streaming_;
};

}  // namespace portops::impl
