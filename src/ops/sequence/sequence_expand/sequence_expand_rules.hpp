// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sequence/sequence_expand/sequence_expand.hpp"

#include <string_view>

namespace portops::impl {

struct SequenceExpandExtents {
  ExpectedExtents out;
};

/// Throws Error, as that of the operator `op`, where the arguments do not fit.
SequenceExpandExtents sequence_expand_extents(std::string_view op, const RaggedRef& x, const Levels& y,
                                              const SequenceExpandParams& params);
/// The levels of out.
Levels sequence_expand_levels(std::string_view op, const RaggedRef& x, const Levels& y,
                              const SequenceExpandParams& params);

}  // namespace portops::impl
