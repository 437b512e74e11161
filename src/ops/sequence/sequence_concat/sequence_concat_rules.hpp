// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sequence/sequence_concat/sequence_concat.hpp"

#include <string_view>

namespace portops::impl {

struct SequenceConcatExtents {
  ExpectedExtents out;
};

/// Throws Error, as that of the operator `op`, where the arguments do not fit.
SequenceConcatExtents sequence_concat_extents(std::string_view op, std::span<const RaggedRef> x);
/// The levels of out.
Levels sequence_concat_levels(std::string_view op, std::span<const RaggedRef> x);

}  // namespace portops::impl
