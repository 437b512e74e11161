// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// How a program runs: in what order, and where its values lie. Plain data, made by the planner and read by the verifier
// and by executions, which share nothing else.

namespace portops::graph {

/// What a value lies in: nothing, because nobody needs it; the arena; or the memory of an input, a constant or an
/// output.
enum class MemoryKind : std::uint8_t { none, arena, input, constant, output };

/// Where a value lies.
struct Place {
  MemoryKind memory = MemoryKind::none;
  std::int32_t index = -1;  ///< of input and constant, the value; of output, its number in Program::outputs()
  std::int64_t offset = 0;  ///< bytes from the beginning of that memory
  Extents strides = {};     ///< in elements
};

/// One after the other in the order of Plan::steps, as far as one instance goes.
struct Step {
  enum class Kind : std::uint8_t { run, view, copy };

  Kind kind = Kind::run;
  std::int32_t call = -1;                ///< of run, and of view, for which nothing is enqueued: the number of the call
  std::int32_t from = -1;                ///< of copy: a place, by its number in Plan::places
  std::int32_t to = -1;                  ///< the same
  std::int32_t instance = 0;             ///< which one runs it
  std::vector<std::int32_t> after = {};  ///< earlier steps of other instances that must be done before
};

struct Plan {
  std::vector<Place> places;  ///< of the values of the program, and behind these of copies of some
  std::vector<Step> steps;
  std::vector<std::int32_t> outputs;    ///< of each output the place that holds it in the end
  std::vector<std::uint8_t> constants;  ///< of each value whether it is one, given or folded
  std::int64_t arena_bytes = 0;
  std::int64_t live_bytes = 0;  ///< the largest sum of the bytes of values that live in the arena at one step
  std::int32_t instances = 1;
};

}  // namespace portops::graph
