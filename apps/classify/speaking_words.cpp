// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speaking_words.hpp"

#include "common/order.hpp"

#include <algorithm>
#include <numeric>

namespace portops::apps {

std::vector<std::string> speaking_words(const Examples& examples, const std::vector<double>& table, std::size_t label,
                                        std::size_t count) {
  const std::size_t classes = examples.classes.size();
  // What is the same for all classes says nothing.
  const auto weight = [&](std::size_t word) {
    const double* const row = table.data() + (word + 1) * classes;
    return row[label] - std::accumulate(row, row + classes, 0.0) / static_cast<double>(classes);
  };
  std::vector<std::size_t> order = numbers_to(examples.words.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  std::vector<std::string> words;
  for (const std::size_t word : order) {
    if (words.size() == count || !(weight(word) > 0.0)) break;
    words.push_back(examples.words[word]);
  }
  return words;
}

}  // namespace portops::apps
