// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "learn.hpp"

#include "batches.hpp"
#include "common/order.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <random>
#include <string>

namespace portops::apps {

Learned learn(const Context& ctx, const Examples& examples, const LearnOptions& options,
              const std::function<void(const Epoch&)>& report) {
  const auto classes = static_cast<std::int64_t>(examples.classes.size());
  Model model(ctx, options.model, examples.rows(), classes);
  const Batches held_out(ctx, examples.held_out, numbers_to(examples.held_out.size()), options.batch);
  std::vector<std::size_t> order = numbers_to(examples.train.size());
  std::mt19937_64 random(options.seed);
  double seconds = std::numeric_limits<double>::infinity();
  std::int64_t words = 0;
  Learned result;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    shuffle(order, random);
    const auto start = std::chrono::steady_clock::now();
    const Batches batches(ctx, examples.train, order, options.batch);
    words = batches.words();
    const auto rate = [&](int epochs) {
      return options.learning_rate * (1.0 - static_cast<double>(epochs) / static_cast<double>(options.epochs));
    };
    const Measures learned = model.learn(batches, rate(epoch), rate(epoch + 1));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, elapsed.count());
    const std::string number = std::to_string(epoch + 1);
    check_losses(learned, "in epoch " + number);
    const Measures measured = model.measure(held_out);
    check_losses(measured, "of the held-out lines, after epoch " + number);
    result.accuracy = measured.accuracy();
    report({epoch + 1, learned, measured});
  }
  const auto lines = static_cast<std::int64_t>(order.size());
  const std::int64_t steps = (lines + options.batch - 1) / options.batch;
  result.table = model.table();
  result.seconds_per_step = seconds / static_cast<double>(steps);
  result.words_per_second = static_cast<double>(words) / seconds;
  return result;
}

}  // namespace portops::apps
