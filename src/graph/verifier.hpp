// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <cstdint>
#include <vector>

namespace portops::graph {

/// Proves that a plan computes what the program says, or throws Error with the first reason why it may not.
///
/// It believes nothing that the planner has derived: what a call reads and may write over comes from the schema, what
/// happens before what from the order of each instance's steps and the waits alone. Proved is that
/// - every step reads, at each place, what the program says, whole: the step that wrote it happens before, and whatever
///   else writes to one of those bytes happens before that one, or after the reader;
/// - steps that write to the same bytes are ordered, and a step's outputs share no byte with each other, nor with its
///   inputs, but for pairs that the schema allows, which then are the same tensor;
/// - views show the elements that their calls would copy;
/// - inputs and constants are never written, but for an input that an output is left in;
/// - places lie in their memory, and in the end every output holds its value.
/// `constants`: of each value whether its elements are known before the program runs, as make_plan() was told.
void verify(const Program& program, const Plan& plan, const std::vector<std::uint8_t>& constants);

}  // namespace portops::graph
