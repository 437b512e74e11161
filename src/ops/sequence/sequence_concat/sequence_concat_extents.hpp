// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sequence/sequence_concat/sequence_concat.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// The extents of out and out_grad. Throws Error, as that of the operator `op`, where the arguments do not fit.
std::map<std::string, Extents, std::less<>> sequence_concat_extents(std::string_view op, std::span<const RaggedRef> x);
/// The levels of out.
Levels sequence_concat_levels(std::string_view op, std::span<const RaggedRef> x);

}  // namespace portops::impl
