// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/exec/context.hpp"

#include <string>

namespace portops::impl {

/// The labels of a copy's kernels, made once.
struct CopyLabels {
  explicit CopyLabels(const std::string& op)
      : words("portops::" + op + "::copy[words]"),
        gather("portops::" + op + "::copy[gather]"),
        turned("portops::" + op + "::copy[turned]"),
        packs("portops::" + op + "::copy[packs]") {}

  std::string words;
  std::string gather;
  std::string turned;
  std::string packs;
};

/// Enqueues the copy, in one kernel. No bit of an element changes.
void strided_copy(const Context& ctx, const CopyLabels& labels, const CopyPlan& plan);

}  // namespace portops::impl
