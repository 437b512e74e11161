// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measures.hpp"

#include <portops/core/error.hpp>

#include <algorithm>
#include <cmath>

namespace portops::apps {

std::vector<Told> told_by(std::span<const double> logits, std::span<const std::int64_t> labels) {
  std::vector<Told> told;
  const std::size_t classes = labels.empty() ? 0 : logits.size() / labels.size();
  for (std::size_t item = 0; item < labels.size(); ++item) {
    const std::span<const double> row = logits.subspan(item * classes, classes);
    const auto largest = std::max_element(row.begin(), row.end());
    double sum = 0.0;
    for (const double logit : row) sum += std::exp(logit - *largest);
    told.push_back({.label = largest - row.begin(),
                    .is_alone = std::find(largest + 1, row.end(), *largest) == row.end(),
                    .loss = std::log(sum) + *largest - row[static_cast<std::size_t>(labels[item])],
                    .share = 1.0 / sum});
  }
  return told;
}

void Measures::add(std::span<const Told> told, std::span<const std::int64_t> labels) {
  for (std::size_t item = 0; item < told.size(); ++item) {
    right += told[item].label == labels[item] ? 1 : 0;
    losses += told[item].loss;
  }
  items += static_cast<std::int64_t>(told.size());
}

void Measures::add(const Measures& others) {
  items += others.items;
  right += others.right;
  losses += others.losses;
}

void check_losses(const Measures& measures, const std::string& when) {
  if (std::isfinite(measures.losses)) return;
  throw Error("a loss is NaN or Inf " + when +
              ", expected numbers: a new training with a smaller --learning-rate may help");
}

std::vector<std::int64_t> confusion(std::span<const Told> told, std::span<const std::int64_t> labels,
                                    std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes * classes));
  for (std::size_t item = 0; item < told.size(); ++item) {
    ++counts[static_cast<std::size_t>(labels[item] * classes + told[item].label)];
  }
  return counts;
}

}  // namespace portops::apps
