// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/kernel_table.hpp"
#include "ops/parts/parts_plan.hpp"

#include <cstdint>
#include <vector>

// The parts of a plan, cut into groups of which a kernel each moves all. Nothing here knows Kokkos.

namespace portops::impl {

/// `equal_runs`: contiguous parts of one length and of the same strides, whose table has the addresses alone. `runs`:
/// other contiguous ones. Else the table has the plan's entries, with the parts' ends in the place of their lengths.
enum class PartsForm : std::uint8_t { equal_runs, runs, strided };

/// Parts that follow each other.
struct PartsGroup {
  PartsForm form = PartsForm::runs;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t before = 0;  ///< the length of all parts before it
  std::int64_t length = 0;  ///< of all its parts
  std::int64_t first_length = 0;
  std::vector<std::int64_t> table;

  int entry_words(const PartsPlan& plan) const { return form == PartsForm::equal_runs ? 1 : plan.entry_words(); }
  std::int64_t words(const PartsPlan& plan) const { return plan.rows() * length * plan.inner(); }
  /// Whether 32 bits hold the number of each word, and of those that a last thread would take.
  bool is_narrow(const PartsPlan& plan) const { return words(plan) < (std::int64_t{1} << 30); }
};

/// Goes through the groups of a plan, from which they may leave out parts that are not wanted. On a GPU a group's table
/// has at most so many words. Hosts have no limit: all parts are one group.
class PartsGroups {
 public:
  PartsGroups(const PartsPlan& plan, Backend backend, int most_words)
      : plan_(plan), backend_(backend), most_words_(most_words), parts_(plan.parts()) {}

  /// Moves on to the next group; false where there is none.
  bool next();
  const PartsGroup& group() const { return group_; }

 private:
  bool is_wanted(std::int64_t part) const { return plan_.entry(part)[0] != 0; }
  bool is_large_gap(std::int64_t part) const;
  std::int64_t end_of_equal(std::int64_t first) const;
  std::int64_t end_of_group(std::int64_t first);
  void fill_table();

  const PartsPlan& plan_;
  Backend backend_;
  int most_words_;
  std::int64_t parts_;
  std::int64_t next_ = 0;
  std::int64_t before_ = 0;  ///< the length of the parts before next_
  PartsGroup group_;
};

}  // namespace portops::impl
