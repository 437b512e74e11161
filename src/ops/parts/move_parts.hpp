// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "ops/parts/parts_groups.hpp"

#include <string>

namespace portops::impl {

/// The labels of an operator's kernels, made once.
struct PartsLabels {
  explicit PartsLabels(const std::string& op)
      : packs("portops::" + op + "::move[packs]"),
        equal_runs("portops::" + op + "::move[equal_runs]"),
        runs("portops::" + op + "::move[runs]"),
        strided("portops::" + op + "::move[strided]") {}

  const std::string& of(PartsForm form) const {
    return form == PartsForm::equal_runs ? equal_runs : form == PartsForm::runs ? runs : strided;
  }

  std::string packs;
  std::string equal_runs;
  std::string runs;
  std::string strided;
};

/// Enqueues the copy of the wanted parts into the whole, or out of it. On a GPU the parts' addresses and strides travel
/// as kernel arguments, up to 32 KB of them: one kernel for some four thousand parts of equal extents, or thirteen
/// hundred of different ones.
void move_parts(const Context& ctx, const PartsLabels& labels, const PartsPlan& plan);

}  // namespace portops::impl
