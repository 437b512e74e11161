// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/measures.hpp"
#include "images.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace portops::apps {

/// Shows how far an epoch is: on a terminal by a line that is rewritten a few times a second, elsewhere by a line now
/// and then, so that a log stays short.
class Progress {
 public:
  explicit Progress(std::int64_t steps);

  /// Whether it is time to show something. What is shown has to be waited for.
  bool is_due() const;
  /// `step` steps of the epoch are done, and `steps_to_go` are left of all epochs.
  void show(std::int64_t epoch, std::int64_t step, std::int64_t steps_to_go, const Measures& latest);
  /// Takes the line away.
  void clear();
  /// Since it was made.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t steps_;
  bool is_terminal_;
  Clock::time_point start_, shown_;
};

/// The head of the table of epochs, and a line of it.
void print_epoch_head();
void print_epoch(std::int64_t epoch, const Measures& train, const Measures& test, double seconds);

/// What the items of each class are told to be, and what share of all of them is told rightly.
void print_confusion(std::span<const Told> told, std::span<const std::int64_t> labels,
                     const std::vector<std::string>& names);

}  // namespace portops::apps
