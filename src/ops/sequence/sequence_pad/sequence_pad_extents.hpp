// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sequence/sequence_pad/sequence_pad.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// The extents of out, length and out_grad. Throws Error, as that of the operator `op`, where the arguments do not fit.
std::map<std::string, Extents, std::less<>> sequence_pad_extents(std::string_view op, const RaggedRef& x,
                                                                 const SequencePadParams& params);
/// The levels of out and length.
Levels sequence_pad_levels(std::string_view op, const RaggedRef& x, const SequencePadParams& params);

}  // namespace portops::impl
