// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sequence/sequence_unpad/sequence_unpad.hpp"

#include <string_view>

namespace portops::impl {

struct SequenceUnpadExtents {
  ExpectedExtents out;
};

/// Throws Error, as that of the operator `op`, where the arguments do not fit.
SequenceUnpadExtents sequence_unpad_extents(std::string_view op, const TensorRef& x, const Levels& length);
/// The levels of out.
Levels sequence_unpad_levels(std::string_view op, const TensorRef& x, const Levels& length);

}  // namespace portops::impl
