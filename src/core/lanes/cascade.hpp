// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace portops::impl {

/// A long sum as a tree, for terms that come one after the other: level 0 adds up 16 terms, level 1 as many sums of
/// level 0, and so on; the last level takes all that come. So no chain of additions is long, and the tree depends on
/// the number of terms alone. This class only says which level is added to which: what a level is, a row of numbers or
/// a tile of them, is the caller's. For hosts.
///
///   for each term:   sum[0] = begins(term) ? value : sum[0] + value;   carry(term + 1, add);
///   at the end:      finish(terms, add), which returns the level of the whole sum
class Cascade {
 public:
  static constexpr int most_levels = 5;

  /// The levels that so many terms take.
  static constexpr int levels(std::int64_t terms) {
    int count = 1;
    for (; count < most_levels && terms >= radix; terms /= radix) ++count;
    return count;
  }

  /// Whether a term, numbered from 0 on, is the first of its sum in level 0.
  static constexpr bool begins(std::int64_t term) { return term % radix == 0; }

  /// After so many terms: calls add(level, to, first) for each level whose sum is complete. It is to be added to that
  /// of the level `to` or, if it is the first there, to become it.
  template <class Add>
  static void carry(std::int64_t terms, const Add& add) {
    for (int level = 0; level + 1 < most_levels; ++level) {
      if (terms % radix != 0) return;
      terms /= radix;
      add(level, level + 1, level + 2 < most_levels ? terms % radix == 1 : terms == 1);
    }
  }

  /// Adds up what so many terms have left in the levels: calls add(level, to, false), and returns the last one.
  template <class Add>
  static int finish(std::int64_t terms, const Add& add) {
    int total = -1;
    for (int level = 0; level < most_levels && terms > 0; ++level) {
      const bool is_empty = level + 1 < most_levels && terms % radix == 0;
      terms /= radix;
      if (is_empty) continue;
      if (total >= 0) add(total, level, false);
      total = level;
    }
    return total < 0 ? 0 : total;
  }

 private:
  static constexpr std::int64_t radix = 16;
};

}  // namespace portops::impl
