// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/levels.hpp"

#include "core/types/fail.hpp"
#include "core/types/levels_data.hpp"

#include <atomic>

namespace portops {
namespace impl {
namespace {

std::int64_t next_id() {
  static std::atomic<std::int64_t> last{0};
  return ++last;
}

/// `ends` is what the level must end with: the items of the next one; −1: any number of rows.
void check_level(std::size_t level, const std::vector<std::int64_t>& offsets, std::int64_t ends) {
  if (offsets.empty()) fail("portops::Levels: level ", level, " has no offsets, expected at least the first, 0");
  if (offsets.front() != 0) fail("portops::Levels: level ", level, " begins with ", offsets.front(), ", expected 0");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] >= offsets[i - 1]) continue;
    fail("portops::Levels: level ", level, " runs backwards at position ", i, ": ", offsets[i], " after ",
         offsets[i - 1]);
  }
  if (ends >= 0 && offsets.back() != ends) {
    fail("portops::Levels: level ", level, " ends with ", offsets.back(), ", expected ", ends, " (the items of level ",
         level + 1, ")");
  }
}

std::string text_of(const std::vector<std::int64_t>& offsets) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets.size() > most && i == most - 1) {
      text += ", …";
      i = offsets.size() - 1;
    }
    text += (i == 0 ? "" : ", ") + std::to_string(offsets[i]);
  }
  return "[" + text + "]";
}

}  // namespace

LevelsData::LevelsData(std::vector<std::vector<std::int64_t>> offsets) : offsets_(std::move(offsets)), id_(next_id()) {
  if (offsets_.empty()) fail("portops::Levels: there are no levels, expected at least one");
  for (std::size_t level = 0; level < offsets_.size(); ++level) {
    const bool last = level + 1 == offsets_.size();
    // A next level without offsets is wrong itself, and found below.
    check_level(level, offsets_[level],
                last ? -1 : std::max<std::int64_t>(static_cast<std::int64_t>(offsets_[level + 1].size()) - 1, 0));
  }
}

}  // namespace impl

Levels::Levels(std::vector<std::vector<std::int64_t>> offsets)
    : data_(std::make_shared<impl::LevelsData>(std::move(offsets))) {}

Levels Levels::from_lengths(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(lengths.size() + 1);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) impl::fail("portops::Levels: sequence ", i, " has length ", lengths[i], ", expected 0 or more");
    std::int64_t end = 0;
    if (__builtin_add_overflow(offsets.back(), lengths[i], &end)) {
      impl::fail("portops::Levels: 64 bits cannot hold the rows of sequences 0 to ", i);
    }
    offsets.push_back(end);
  }
  return Levels({std::move(offsets)});
}

int Levels::depth() const { return data_ == nullptr ? 0 : static_cast<int>(data_->offsets().size()); }

const std::vector<std::int64_t>& Levels::offsets(int level) const {
  const int index = level < 0 ? depth() + level : level;
  if (index < 0 || index >= depth()) {
    impl::fail("portops::Levels: there is no level ", level, ", expected less than ", depth());
  }
  return data_->offsets()[static_cast<std::size_t>(index)];
}

Levels Levels::upper() const {
  if (depth() < 2) return {};
  const auto& all = data_->offsets();
  return Levels({all.begin(), all.end() - 1});
}

std::string Levels::to_string() const {
  std::string text;
  for (int level = 0; level < depth(); ++level) text += (level == 0 ? "" : ", ") + impl::text_of(offsets(level));
  return "[" + text + "]";
}

bool operator==(const Levels& a, const Levels& b) {
  return a.data() == b.data() || (a && b && a.data()->offsets() == b.data()->offsets());
}

}  // namespace portops
