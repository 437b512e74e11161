// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "model.hpp"
#include "text.hpp"

#include <portops/core/context.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace portops::apps {

struct LearnOptions {
  ModelOptions model;
  double learning_rate = 0.1;  ///< of the first step; it falls evenly to 0
  int epochs = 10;
  std::int64_t batch = 256;  ///< the lines of a step
  std::uint64_t seed = 1;
};

/// What an epoch has come to.
struct Epoch {
  int number = 1;
  Measures learned;   ///< of the lines to learn from, each before its step
  Measures held_out;  ///< of the other lines, after the epoch
};

struct Learned {
  double accuracy = 0.0;  ///< on the held-out lines
  std::vector<double> table;
  double seconds_per_step = 0.0;  ///< of the fastest epoch
  double words_per_second = 0.0;
};

/// Learns from the lines in a new order each epoch, and calls `report` after each. Throws Error where a loss is NaN or
/// Inf.
Learned learn(const Context& ctx, const Examples& examples, const LearnOptions& options,
              const std::function<void(const Epoch&)>& report);

}  // namespace portops::apps
