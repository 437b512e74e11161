// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/levels.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace portops::impl {

/// What the copies of Levels share: the offsets, and what operators have worked out from them.
class LevelsData {
 public:
  using Key = std::vector<std::int64_t>;

  explicit LevelsData(std::vector<std::vector<std::int64_t>> offsets);

  const std::vector<std::vector<std::int64_t>>& offsets() const { return offsets_; }
  /// No two levels have the same.
  std::int64_t id() const { return id_; }

  /// What `make` gives, kept for the next call with the same key. Callers that use different types have different
  /// keys. The oldest goes when there are many, but none that a graph needs, nor one that a call holds: it may be about
  /// to become part of a graph.
  template <class Plan, class Make>
  std::shared_ptr<const Plan> plan(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const Kept& kept : plans_) {
      if (kept.key == key) return std::static_pointer_cast<const Plan>(kept.plan);
    }
    auto made = std::make_shared<const Plan>(make());
    if (plans_.size() >= most_plans) {
      const auto oldest = std::find_if(plans_.begin(), plans_.end(), [](const Kept& kept) { return kept.is_idle(); });
      if (oldest != plans_.end()) plans_.erase(oldest);
    }
    plans_.push_back({key, made, [plan = made.get()] { return plan->is_in_graph(); }});
    return made;
  }

 private:
  static constexpr std::size_t most_plans = 32;

  struct Kept {
    Key key;
    std::shared_ptr<const void> plan;
    std::function<bool()> is_in_graph;

    /// Nobody can take hold of it meanwhile: that needs the mutex.
    bool is_idle() const {
      if (plan.use_count() > 1) return false;
      std::shared_ptr<const void>(plan).reset();  // what the last holder did before it let go has been done for us too
      return !is_in_graph();
    }
  };

  std::vector<std::vector<std::int64_t>> offsets_;
  std::int64_t id_;
  std::mutex mutex_;
  std::vector<Kept> plans_;
};

}  // namespace portops::impl
