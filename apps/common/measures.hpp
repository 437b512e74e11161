// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace portops::apps {

/// What a network says of an item.
struct Told {
  std::int64_t label = 0;  ///< the first one of the largest logit
  bool is_alone = true;    ///< whether no other logit is as large
  double loss = 0.0;       ///< log Σ exp(logits) − logits[the item's own label]
  double share = 0.0;      ///< the probability of `label`
};

/// Of each item of some logits, [items, classes].
std::vector<Told> told_by(std::span<const double> logits, std::span<const std::int64_t> labels);

/// What items have come to, so far.
struct Measures {
  std::int64_t items = 0;
  std::int64_t right = 0;
  double losses = 0.0;

  void add(std::span<const Told> told, std::span<const std::int64_t> labels);
  void add(const Measures& others);
  double loss() const { return losses / static_cast<double>(items); }
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(items); }
};

/// Throws Error where a loss is NaN or Inf, or the sum of all is. `when` says which they are: "in epoch 3".
void check_losses(const Measures& measures, const std::string& when);

/// How many items of each class are told to be of each: [classes, classes], a row for what they are.
std::vector<std::int64_t> confusion(std::span<const Told> told, std::span<const std::int64_t> labels,
                                    std::int64_t classes);

}  // namespace portops::apps
