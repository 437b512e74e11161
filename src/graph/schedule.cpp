// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/schedule.hpp"

#include <algorithm>

namespace portops::graph {

std::int32_t Schedule::choose(const std::vector<std::int32_t>& dependencies) const {
  for (const std::int32_t step : dependencies) {
    if (last_[static_cast<std::size_t>(instance(step))] == step) return instance(step);
  }
  return static_cast<std::int32_t>(std::min_element(work_.begin(), work_.end()) - work_.begin());
}

std::int32_t Schedule::append(std::int32_t instance, const std::vector<std::int32_t>& dependencies) {
  const auto number = static_cast<std::int32_t>(steps_.size());
  Step step{.instance = instance, .after = {}, .reached = std::vector<std::int32_t>(last_.size(), -1)};
  const auto take_over = [&](std::int32_t earlier) {
    for (std::int32_t each = 0; each < instances_; ++each) {
      std::int32_t& known = step.reached[static_cast<std::size_t>(each)];
      known = std::max(known, reached(earlier, each));
    }
  };
  std::int32_t& last = last_[static_cast<std::size_t>(instance)];
  if (last >= 0) take_over(last);
  (last >= 0 ? steps_[static_cast<std::size_t>(last)].next : first_[static_cast<std::size_t>(instance)]) = number;
  // The latest first: it may already stand for others.
  std::vector<std::int32_t> latest = dependencies;
  std::sort(latest.rbegin(), latest.rend());
  for (const std::int32_t each : latest) {
    const std::int32_t its = this->instance(each);
    if (step.reached[static_cast<std::size_t>(its)] >= each) continue;
    step.after.push_back(each);
    take_over(each);
  }
  step.reached[static_cast<std::size_t>(instance)] = number;
  last = number;
  steps_.push_back(std::move(step));
  return number;
}

std::int32_t Schedule::all_before(std::int32_t step) const {
  // Of each other instance the first step that may still run while this one does.
  std::int32_t end = step;
  for (std::int32_t each = 0; each < instances_; ++each) {
    if (each == instance(step)) continue;
    const std::int32_t done = reached(step, each);
    const std::int32_t open =
        done >= 0 ? steps_[static_cast<std::size_t>(done)].next : first_[static_cast<std::size_t>(each)];
    if (open >= 0) end = std::min(end, open);
  }
  return end - 1;
}

std::int32_t Schedule::add(const std::vector<std::int32_t>& dependencies, double work) {
  const std::int32_t instance = choose(dependencies);
  work_[static_cast<std::size_t>(instance)] += work;
  return append(instance, dependencies);
}

std::int32_t Schedule::add_last() {
  std::vector<std::int32_t> all;
  for (const std::int32_t step : last_) {
    if (step >= 0) all.push_back(step);
  }
  return append(0, all);
}

}  // namespace portops::graph
