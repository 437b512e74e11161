// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/copy/rearrangement.hpp"
#include "core/lanes/host_caches.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>

namespace portops::impl {

/// Rearranges on a host where one side has two to four neighbours only, one group behind the other: the channels of
/// images, which are taken apart into planes or put together from them. An item is a piece of all planes of a batch.
template <class Word>
class RearrangeFewHost {
 public:
  static constexpr int blocks = 0;  // a matter of GPUs

  static bool suits(const Rearrangement& what) { return is_apart(what) || is_together(what); }

  explicit RearrangeFewHost(const Rearrangement& what)
      : what_(what),
        apart_(is_apart(what)),
        rows_are_few_(is_few(what.rows)),
        planes_(static_cast<int>(rows_are_few_ ? what.rows : what.width)),
        length_(rows_are_few_ ? what.width : what.rows),
        plane_(plane_stride(apart_ ? what.to : what.from)),
        pieces_(ceil_div(length_, piece)),
        streaming_(exceeds_host_caches(what.size() * static_cast<std::int64_t>(sizeof(Word))) && has_whole_packs()) {}

  std::int64_t items() const { return what_.batches * what_.height * pieces_; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((planes_ == 2 ? move<2>(item) : planes_ == 3 ? move<3>(item) : move<4>(item);))
  }

 private:
  /// Positions of an item, and those that are taken together.
  static constexpr std::int64_t piece = 4096;
  static constexpr int pack = 64 / static_cast<int>(sizeof(Word));

  static bool is_few(std::int64_t extent) { return extent >= 2 && extent <= 4; }
  /// Whether the side has few neighbours, one group behind the other, and the other one has whole planes.
  static bool is_woven(const Rearrangement& what, const Rearrangement::Side& woven, const Rearrangement::Side& planes) {
    return is_few(what.rows) ? woven.row == 1 && woven.x == what.rows && planes.x == 1
                             : is_few(what.width) && woven.x == 1 && woven.row == what.width && planes.row == 1;
  }
  static bool is_apart(const Rearrangement& what) { return is_woven(what, what.from, what.to); }
  static bool is_together(const Rearrangement& what) { return is_woven(what, what.to, what.from); }

  std::int64_t plane_stride(const Rearrangement::Side& side) const { return rows_are_few_ ? side.row : side.x; }

  /// Whether all that is written begins where it can be streamed to.
  bool has_whole_packs() const {
    constexpr auto words = static_cast<std::int64_t>(32 / sizeof(Word));
    return reinterpret_cast<std::uintptr_t>(what_.to.data) % 32 == 0 && (!apart_ || plane_ % words == 0) &&
           (what_.batches == 1 || what_.to.batch % words == 0) && (what_.height == 1 || what_.to.y % words == 0);
  }

  template <int planes>
  void move(std::int64_t item) const {
    const std::int64_t rest = item / pieces_, first = (item - rest * pieces_) * piece;
    const std::int64_t batch = rest / what_.height, y = rest - batch * what_.height;
    const std::int64_t count = std::min(piece, length_ - first);
    const auto* const from = static_cast<const Word*>(what_.from.data) + batch * what_.from.batch + y * what_.from.y;
    auto* const to = static_cast<Word*>(what_.to.data) + batch * what_.to.batch + y * what_.to.y;
    if (apart_) {
      take_apart<planes>(to + first, from + first * planes, count);
    } else {
      put_together<planes>(to + first * planes, from + first, count);
    }
    if (streaming_) host::end_of_streaming();
  }

  template <int planes>
  void take_apart(Word* to, const Word* from, std::int64_t count) const {
    std::int64_t at = 0;
    for (; at + pack <= count; at += pack) {
      alignas(64) Word words[planes][pack];
      for (int i = 0; i < pack; ++i) {
        for (int k = 0; k < planes; ++k) words[k][i] = from[(at + i) * planes + k];
      }
      for (int k = 0; k < planes; ++k) host::store_rounded(to + k * plane_ + at, words[k], streaming_);
    }
    for (; at < count; ++at) {
      for (int k = 0; k < planes; ++k) to[k * plane_ + at] = from[at * planes + k];
    }
  }

  template <int planes>
  void put_together(Word* to, const Word* from, std::int64_t count) const {
    std::int64_t at = 0;
    for (; at + pack <= count; at += pack) {
      alignas(64) Word words[pack * planes];
      for (int i = 0; i < pack; ++i) {
        for (int k = 0; k < planes; ++k) words[i * planes + k] = from[k * plane_ + at + i];
      }
      host::store_rounded(to + at * planes, words, streaming_);
    }
    for (; at < count; ++at) {
      for (int k = 0; k < planes; ++k) to[at * planes + k] = from[k * plane_ + at];
    }
  }

  Rearrangement what_;
  bool apart_;         ///< else they are put together
  bool rows_are_few_;  ///< else the columns are
  int planes_;
  std::int64_t length_;  ///< of a plane
  std::int64_t plane_;   ///< from one plane to the next
  std::int64_t pieces_;
  bool streaming_;
};

}  // namespace portops::impl
