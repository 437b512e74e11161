// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batches.hpp"

#include "common/slice.hpp"
#include "common/transfer.hpp"

#include <algorithm>

namespace portops::apps {

Batches::Batches(const Context& ctx, const std::vector<Line>& lines, const std::vector<std::size_t>& order,
                 std::int64_t size) {
  std::vector<std::int64_t> words;
  std::vector<std::int64_t> lengths;
  for (const std::size_t i : order) {
    const Line& line = lines[i];
    words.insert(words.end(), line.words.begin(), line.words.end());
    labels_.push_back(line.label);
    lengths.push_back(static_cast<std::int64_t>(line.words.size()));
  }
  words_ = indices_on_backend(ctx, words);
  device_labels_ = indices_on_backend(ctx, labels_);
  std::int64_t first_word = 0;
  for (auto from = lengths.begin(); from != lengths.end();) {
    const auto to = from + std::min<std::int64_t>(size, lengths.end() - from);
    const Levels levels = Levels::from_lengths({from, to});
    const std::int64_t first = from - lengths.begin();
    batches_.push_back(
        {slice(words_, first_word, {levels.rows()}), slice(device_labels_, first, {to - from}), levels, first});
    first_word += levels.rows();
    from = to;
  }
}

}  // namespace portops::apps
