// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sequence/sequence_pool/sequence_pool.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// The extents of out, index and out_grad. Throws Error, as that of the operator `op`, where the arguments do not fit.
std::map<std::string, Extents, std::less<>> sequence_pool_extents(std::string_view op, const RaggedRef& x,
                                                                  const SequencePoolParams& params);
/// The levels of out and index.
Levels sequence_pool_levels(std::string_view op, const RaggedRef& x, const SequencePoolParams& params);

}  // namespace portops::impl
