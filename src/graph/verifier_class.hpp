// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/fail.hpp"
#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What verify() is made of: verifier.cpp goes through the steps, verifier_bytes.cpp through the bytes that they touch.

namespace portops::graph {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  impl::fail("portops::graph: the plan is wrong: ", parts...);
}

class Verifier {
 public:
  Verifier(const Program& program, const Plan& plan, const std::vector<std::uint8_t>& constants)
      : program_(program), plan_(plan), constants_(constants), finish_(static_cast<std::int32_t>(plan.steps.size())) {}

  void run();

 private:
  static constexpr std::int32_t start = -1;  ///< the step before all others
  static constexpr std::int32_t nowhere = -1;

  /// Which memory: of the arena there is one.
  using MemoryKey = std::pair<MemoryKind, std::int32_t>;

  /// Bytes that a step reads or writes; none of a value without elements.
  struct Access {
    MemoryKey memory = {MemoryKind::none, nowhere};
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int32_t step = start;
    std::int32_t content = nowhere;  ///< whose elements these are: a value, or behind these a copy
    std::int32_t shown = nowhere;    ///< the place by which it is reached
    std::string_view input = {};     ///< of what a call reads, which input it is, and which of a list
    std::size_t position = 0;
  };

  /// Bytes that hold what one step wrote, and who has read it.
  struct Stretch {
    std::int64_t end = 0;
    std::int32_t content = nowhere;
    std::int32_t writer = start;
    std::vector<std::int32_t> readers = {};  ///< those that happen before another one are left out
    Access reading = {};                     ///< of the last of these
    bool is_read_twice = false;              ///< whether that one reads it by several operands
  };

  const Step& step_of(std::int32_t step) const { return plan_.steps[static_cast<std::size_t>(step)]; }
  const Place& place(std::int32_t content) const { return plan_.places[static_cast<std::size_t>(content)]; }
  std::int32_t values() const { return static_cast<std::int32_t>(program_.values().size()); }
  const ValueInfo& info(std::int32_t content) const {
    while (content >= values()) content = copied_from_[static_cast<std::size_t>(content - values())];
    return program_.values()[static_cast<std::size_t>(content)];
  }
  std::string name(std::int32_t content) const {
    return (content >= values() ? "a copy of " : "") + info(content).name;
  }
  std::string step_name(std::int32_t step) const;
  bool is_laid_out_in_rows(std::int32_t content) const;
  bool has_no_gaps(std::int32_t content) const;

  // The steps.
  void check_form();
  void begin();
  void add_call(std::int32_t step);
  void add_view(std::int32_t step);
  void add_copy(std::int32_t step);
  void finish();
  bool reads_elements(const Call& call, const OperatorInfo& op, const InputInfo& input) const;
  static int axis_of(std::int64_t axis, int rank);
  static int split_axis(const Call& call, int rank);
  void check_shown(std::int32_t step, const Call& call, std::int32_t from, std::int32_t to,
                   std::int64_t parts_before) const;

  // The bytes.
  void find_order();
  bool happens_before(std::int32_t a, std::int32_t b) const;
  void read(std::int32_t step, std::int32_t content, std::string_view input = {}, std::size_t position = 0);
  void write(std::int32_t step, std::int32_t content);
  void overwrite(const Access& writing);
  Access access_of(std::int32_t step, std::int32_t content, std::int32_t shown) const;
  std::int64_t bytes_of_memory(const MemoryKey& memory) const;
  void check_overwritten(const Access& writing, const Stretch& stretch) const;
  bool is_in_place(const Access& reading, std::int32_t to) const;

  const Program& program_;
  const Plan& plan_;
  const std::vector<std::uint8_t>& constants_;
  std::int32_t finish_;
  std::vector<std::int32_t> copied_from_;        ///< of each copy
  std::vector<std::uint8_t> is_left_in_;         ///< of each value whether an output is left in it
  std::vector<std::vector<std::int32_t>> done_;  ///< of each step the last one of each instance before it
  std::vector<std::int32_t> shown_;              ///< of each value whose elements it shows; nowhere: not made yet
  std::vector<std::uint8_t> is_written_;         ///< of each content whether a step has written it
  std::map<MemoryKey, std::map<std::int64_t, Stretch>> memories_;  ///< of each the stretches, by where they begin
};

}  // namespace portops::graph
