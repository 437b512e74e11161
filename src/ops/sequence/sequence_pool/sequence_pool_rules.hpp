// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/sequence/sequence_pool/sequence_pool.hpp"

#include <string_view>

namespace portops::impl {

struct SequencePoolExtents {
  ExpectedExtents out, index;
};

/// Throws Error, as that of the operator `op`, where the arguments do not fit.
SequencePoolExtents sequence_pool_extents(std::string_view op, const RaggedRef& x, const SequencePoolParams& params);
/// The levels of out and index.
Levels sequence_pool_levels(std::string_view op, const RaggedRef& x, const SequencePoolParams& params);

}  // namespace portops::impl
