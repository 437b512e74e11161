// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "core/copy/copy_plan.hpp"
#include "core/types/overlap.hpp"

#include <string_view>

namespace portops::impl {

/// Whether the output holds the input's elements already; else it must be disjoint from the input.
inline bool holds_already(std::string_view op, const Named& output, const Named& input) {
  if (output.tensor.size() == 0 || coincide_in_order(output.tensor, input.tensor)) return true;
  if (!may_overlap(output.tensor, input.tensor)) return false;
  fail("portops::", op, ": ", output.name, " overlaps ", input.name,
       " in memory, expected disjoint tensors or the same elements at the same addresses in the same order");
}

}  // namespace portops::impl
