// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline.hpp"

#include "gather.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <set>

namespace portops::apps {

namespace {

constexpr std::array<const char*, 5> names{"forward", "backward", "sum", "update", "bucket"};
/// An event, step, begin and end in nanoseconds, the number of a bucket and its bytes.
constexpr std::size_t numbers_each = 6;

template <class... Values>
std::string text_of(const char* format, Values... values) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

void append(std::string& trace, const std::string& event) {
  if (trace.back() != '[') trace += ',';
  trace += '\n' + event;
}

/// The name of a process, or of a track of it; what has the smaller number stands above.
std::string name_event(const char* what, std::int64_t process, std::int64_t track, const std::string& name) {
  return text_of(R"({"ph":"M","pid":%lld,"tid":%lld,"name":"%s_name","args":{"name":"%s"}})",
                 static_cast<long long>(process), static_cast<long long>(track), what, name.c_str());
}

std::string duration_event(std::int64_t process, const std::int64_t* its) {
  const bool is_bucket = its[0] == static_cast<std::int64_t>(TimelineEvent::bucket);
  const std::string bytes = is_bucket ? text_of(R"(,"bytes":%lld)", static_cast<long long>(its[5])) : "";
  // Microseconds.
  return text_of(R"({"ph":"X","pid":%lld,"tid":%lld,"name":"%s","ts":%.3f,"dur":%.3f,"args":{"step":%lld%s}})",
                 static_cast<long long>(process), static_cast<long long>(is_bucket ? its[4] + 1 : 0),
                 names[static_cast<std::size_t>(its[0])], static_cast<double>(its[2]) / 1e3,
                 static_cast<double>(its[3] - its[2]) / 1e3, static_cast<long long>(its[1]), bytes.c_str());
}

}  // namespace

Timeline::Timeline(const comm::Communicator& processes) {
  processes.barrier();
  start_ = std::chrono::steady_clock::now();
}

std::int64_t Timeline::now() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
}

void Timeline::add(TimelineEvent event, std::int64_t step, std::int64_t begin, std::int64_t number,
                   std::int64_t bytes) {
  if (first_step_ == 0) first_step_ = step;
  if (step - first_step_ >= most_steps) return;
  numbers_.insert(numbers_.end(), {static_cast<std::int64_t>(event), step, begin, now(), number, bytes});
}

Timeline::Span::Span(Timeline* timeline, TimelineEvent event, std::int64_t step)
    : timeline_(timeline), event_(event), step_(step) {
  if (timeline_ != nullptr) begin_ = timeline_->now();
}

Timeline::Span::~Span() {
  if (timeline_ != nullptr) timeline_->add(event_, step_, begin_, 0, 0);
}

void Timeline::bucket(const comm::BucketEvent& event, std::int64_t step) {
  if (!event.is_sent) {
    begun_[event.number] = now();
  } else {
    add(TimelineEvent::bucket, step, begun_[event.number], event.number, event.bytes);
  }
}

std::string Timeline::trace(const Context& ctx, const comm::Communicator& processes) const {
  std::string trace = R"({"displayTimeUnit":"ms","traceEvents":[)";
  std::int64_t process = 0;
  for (const std::vector<std::int64_t>& numbers : gathered(ctx, processes, numbers_)) {
    append(trace, name_event("process", process, 0, "process " + std::to_string(process)));
    append(trace, name_event("thread", process, 0, "calls"));
    std::set<std::int64_t> buckets;
    for (std::size_t at = 0; at < numbers.size(); at += numbers_each) {
      const std::int64_t* const its = numbers.data() + at;
      if (its[0] == static_cast<std::int64_t>(TimelineEvent::bucket) && buckets.insert(its[4]).second) {
        append(trace, name_event("thread", process, its[4] + 1, "bucket " + std::to_string(its[4])));
      }
      append(trace, duration_event(process, its));
    }
    ++process;
  }
  return trace + "\n]}\n";
}

}  // namespace portops::apps
