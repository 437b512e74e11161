// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

namespace portops::apps {

namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 200> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// "3 h 20 min", "12 min 5 s", "8 s"
std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole >= 3600) return formatted("%lld h %lld min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return formatted("%lld min %lld s", whole / 60, whole % 60);
  return formatted("%lld s", whole);
}

}  // namespace

Progress::Progress(std::int64_t steps)
    : steps_(steps), is_terminal_(isatty(STDOUT_FILENO) == 1), start_(Clock::now()), shown_(start_) {}

bool Progress::is_due() const {
  return Clock::now() - shown_ > (is_terminal_ ? std::chrono::milliseconds(300) : std::chrono::seconds(15));
}

void Progress::show(std::int64_t epoch, std::int64_t step, std::int64_t steps_to_go, const Measures& latest) {
  shown_ = Clock::now();
  const double per_step = seconds() / static_cast<double>(step);
  std::cout << (is_terminal_ ? "\r\x1b[K" : "")
            << formatted("%5lld  %7.4f  %6.2f %%  step %lld of %lld, %.1f ms each, ", static_cast<long long>(epoch),
                         latest.loss(), 100.0 * latest.accuracy(), static_cast<long long>(step),
                         static_cast<long long>(steps_), 1e3 * per_step)
            << duration(per_step * static_cast<double>(steps_to_go)) << " to go" << (is_terminal_ ? "" : "\n")
            << std::flush;
}

void Progress::clear() {
  if (is_terminal_) std::cout << "\r\x1b[K";
}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void print_epoch_head() { std::cout << "epoch     loss  accuracy  test loss  accuracy     time\n" << std::flush; }

void print_epoch(std::int64_t epoch, const Measures& train, const Measures& test, double seconds) {
  std::cout << formatted("%5lld  %7.4f  %6.2f %%    %7.4f  %6.2f %%  %5.1f s\n", static_cast<long long>(epoch),
                         train.loss(), 100.0 * train.accuracy(), test.loss(), 100.0 * test.accuracy(), seconds)
            << std::flush;
}

void print_confusion(std::span<const Told> told, std::span<const std::int64_t> labels,
                     const std::vector<std::string>& names) {
  constexpr std::size_t most_columns = 20;
  const std::size_t classes = names.size();
  const std::vector<std::int64_t> counts = confusion(told, labels, static_cast<std::int64_t>(classes));
  const bool has_columns = classes <= most_columns;
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::cout << "what the images are, what they are told to be, and what share is right:\n"
            << std::string(width + 4, ' ');
  for (std::size_t label = 0; has_columns && label < classes; ++label) std::cout << formatted("%6zu", label);
  std::cout << "     right\n";
  for (std::size_t label = 0; label < classes; ++label) {
    const auto row = std::span(counts).subspan(label * classes, classes);
    std::int64_t items = 0;
    for (const std::int64_t count : row) items += count;
    std::cout << formatted("%3zu ", label) << names[label] << std::string(width - names[label].size(), ' ');
    for (std::size_t other = 0; has_columns && other < classes; ++other) {
      std::cout << formatted("%6lld", static_cast<long long>(row[other]));
    }
    std::cout << (items == 0
                      ? std::string("         -")
                      : formatted("  %6.2f %%", 100.0 * static_cast<double>(row[label]) / static_cast<double>(items)))
              << '\n';
  }
  Measures all;
  all.add(told, labels);
  std::cout << formatted("\nresult   %.2f %% of the %lld test images are told rightly\n", 100.0 * all.accuracy(),
                         static_cast<long long>(all.items));
}

}  // namespace portops::apps
