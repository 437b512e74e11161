// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace portops::graph {

/// The bytes of the arena that must not be touched before a step: those that hold a value which an earlier step has
/// written, and which this step or a later one reads. Ranges [begin, end), the first one first.
struct LiveBytes {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
};

/// Of each step, as the steps run one after the other: from the program, the places and what calls read, as the planner
/// takes it from the schema; not from what the planner knew of lives.
std::vector<LiveBytes> live_bytes_of(const Program& program, const Plan& plan);

}  // namespace portops::graph
