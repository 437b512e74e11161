// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/comm/communicator.hpp>
#include <portops/comm/gradient_sum.hpp>
#include <portops/core/context.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace portops::apps {

/// What a process does in a step; `sum` is what is left of the sending of gradients, and waited for.
enum class TimelineEvent : std::int64_t { forward, backward, sum, update, bucket };

/// What the processes do when, in the first steps that they take: times of the hosts, counted from a moment at which
/// all of them met. On a GPU they are those of enqueueing; how long its kernels take is for its own tools to tell.
class Timeline {
 public:
  /// Made by all processes, which meet here.
  explicit Timeline(const comm::Communicator& processes);

  /// From where it is made to where it ends. Without a timeline nothing.
  class Span {
   public:
    Span(Timeline* timeline, TimelineEvent event, std::int64_t step);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Timeline* timeline_;
    TimelineEvent event_;
    std::int64_t step_;
    std::int64_t begin_ = 0;
  };

  /// A bucket of gradients begins to be sent, or has been.
  void bucket(const comm::BucketEvent& event, std::int64_t step);

  /// Of all processes, each of which asks for it, in Chrome's format of trace events, which chrome://tracing and
  /// Perfetto show: a process for each rank, with a track for its calls and one for each bucket. Waits.
  std::string trace(const Context& ctx, const comm::Communicator& processes) const;

  /// More would be a file that nobody can look at.
  static constexpr std::int64_t most_steps = 1000;

 private:
  std::int64_t now() const;
  void add(TimelineEvent event, std::int64_t step, std::int64_t begin, std::int64_t number, std::int64_t bytes);

  std::chrono::steady_clock::time_point start_;
  std::int64_t first_step_ = 0;                 ///< 0: none so far
  std::vector<std::int64_t> numbers_;           ///< of each event as many, in the order of `add`
  std::map<std::int64_t, std::int64_t> begun_;  ///< buckets under way, and since when
};

}  // namespace portops::apps
