// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/compile.hpp"
#include "graph/plan.hpp"
#include "graph/program.hpp"

#include <cstdint>
#include <vector>

namespace portops::graph {

struct PlanParams {
  bool in_place = true;  ///< whether outputs are written over inputs where the schema allows it
  Views views = Views::all;
  bool channels_last = false;  ///< whether images between convolutions lie so
  bool reuse = true;           ///< whether values that do not live at one time may lie in the same bytes
  std::int32_t instances = 1;  ///< how many there are for calls that do not stand on each other
};

/// Plans a program: drops what no output needs, decides what is a view and what is in place, gives every value its
/// place, and shares the arena by what lives when. `constants`: of each value whether its elements are known before the
/// program runs.
Plan make_plan(const Program& program, const std::vector<std::uint8_t>& constants, const PlanParams& params = {});

}  // namespace portops::graph
