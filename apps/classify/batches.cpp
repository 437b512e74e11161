// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batches.hpp"

#include "common/slice.hpp"
#include "common/transfer.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace portops::apps {

namespace {

Tensor indices_on_backend(const Context& ctx, const std::vector<std::int64_t>& values) {
  const Tensor host(ElementType::i64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), host.data<std::int64_t>());
  return to_backend(ctx, host);
}

}  // namespace

Batches::Batches(const Context& ctx, const std::vector<Line>& lines, const std::vector<std::size_t>& order,
                 std::int64_t size) {
  std::vector<std::int64_t> words;
  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> lengths;
  for (const std::size_t i : order) {
    const Line& line = lines[i];
    words.insert(words.end(), line.words.begin(), line.words.end());
    labels.push_back(line.label);
    lengths.push_back(static_cast<std::int64_t>(line.words.size()));
  }
  words_ = indices_on_backend(ctx, words);
  labels_ = indices_on_backend(ctx, labels);
  std::int64_t first_word = 0;
  std::int64_t number = 0;
  for (auto from = lengths.begin(); from != lengths.end();) {
    const auto to = from + std::min<std::int64_t>(size, lengths.end() - from);
    const Levels levels = Levels::from_lengths({from, to});
    const std::int64_t first = from - lengths.begin();
    batches_.push_back(
        {slice(words_, first_word, {levels.rows()}), slice(labels_, first, {to - from}), levels, number++, first});
    first_word += levels.rows();
    from = to;
  }
}

std::int64_t most_words(const std::vector<Line>& lines, std::int64_t size) {
  std::vector<std::int64_t> lengths;
  for (const Line& line : lines) lengths.push_back(static_cast<std::int64_t>(line.words.size()));
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  const auto count = std::min(size, static_cast<std::int64_t>(lengths.size()));
  return std::accumulate(lengths.begin(), lengths.begin() + count, std::int64_t{0});
}

}  // namespace portops::apps
