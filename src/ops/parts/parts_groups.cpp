// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/parts_groups.hpp"

#include <algorithm>

namespace portops::impl {

/// Threads have nothing to do for a part that is not wanted. Where it is large, a group ends before it instead.
bool PartsGroups::is_large_gap(std::int64_t part) const {
  constexpr std::int64_t large_bytes = std::int64_t{4} << 20;
  const std::int64_t length = plan_.entry(part)[1];
  return !is_wanted(part) && length >= large_bytes / plan_.word / plan_.inner() / plan_.rows();
}

std::int64_t PartsGroups::end_of_equal(std::int64_t first) const {
  const int words = plan_.entry_words();
  const std::int64_t* const model = plan_.entry(first);
  const std::int64_t most = std::min<std::int64_t>(parts_, first + most_words_);
  const std::int64_t* entry = model + words;
  std::int64_t end = first + 1;
  for (; end < most; ++end, entry += words) {
    bool differs = entry[1] != model[1];
    // The strides of a part that is not wanted are never asked for.
    for (int i = 2; i < words; ++i) differs = differs || (entry[0] != 0 && entry[i] != model[i]);
    if (differs) break;
  }
  return end;
}

std::int64_t PartsGroups::end_of_group(std::int64_t first) {
  group_.form = plan_.contiguous ? PartsForm::runs : PartsForm::strided;
  if (backend_ != Backend::cuda) return parts_;
  std::int64_t end = std::min<std::int64_t>(parts_, first + most_words_ / plan_.entry_words());
  if (plan_.contiguous) {
    const std::int64_t end_of_equal = this->end_of_equal(first);
    if (end_of_equal >= end) {
      group_.form = PartsForm::equal_runs;
      end = end_of_equal;
    }
  }
  for (std::int64_t part = first + 1; part < end; ++part) {
    if (is_large_gap(part)) return part;
  }
  return end;
}

bool PartsGroups::next() {
  while (next_ < parts_ && !is_wanted(next_)) before_ += plan_.entry(next_++)[1];
  if (next_ == parts_) return false;
  group_.first = next_;
  group_.before = before_;
  next_ = end_of_group(group_.first);
  std::int64_t end = next_;
  while (!is_wanted(end - 1)) --end;
  group_.count = end - group_.first;
  group_.first_length = plan_.entry(group_.first)[1];
  fill_table();
  before_ += group_.length;
  for (std::int64_t part = end; part < next_; ++part) before_ += plan_.entry(part)[1];
  return true;
}

void PartsGroups::fill_table() {
  const int words = group_.entry_words(plan_), entry_words = plan_.entry_words();
  group_.table.resize(static_cast<std::size_t>(group_.count * words));
  group_.length = 0;
  const std::int64_t* entry = plan_.entry(group_.first);
  std::int64_t* to = group_.table.data();
  for (std::int64_t k = 0; k < group_.count; ++k, entry += entry_words, to += words) {
    group_.length += entry[1];
    to[0] = entry[0];
    if (words == 1) continue;
    to[1] = group_.length;
    for (int i = 2; i < words; ++i) to[i] = entry[i];
  }
}

}  // namespace portops::impl
