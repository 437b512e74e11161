// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sequence/sequence_pad/sequence_pad.hpp"

#include <string_view>

namespace portops::impl {

struct SequencePadExtents {
  ExpectedExtents out, length;
};

/// Throws Error, as that of the operator `op`, where the arguments do not fit.
SequencePadExtents sequence_pad_extents(std::string_view op, const RaggedRef& x, const SequencePadParams& params);
/// The levels of out and length.
Levels sequence_pad_levels(std::string_view op, const RaggedRef& x, const SequencePadParams& params);

}  // namespace portops::impl
