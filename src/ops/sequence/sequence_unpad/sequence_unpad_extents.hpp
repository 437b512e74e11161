// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/sequence/sequence_unpad/sequence_unpad.hpp"

#include <map>
#include <string>
#include <string_view>

namespace portops::impl {

/// The extents of out and out_grad. Throws Error, as that of the operator `op`, where the arguments do not fit.
std::map<std::string, Extents, std::less<>> sequence_unpad_extents(std::string_view op, const TensorRef& x,
                                                                   const Levels& length);
/// The levels of out.
Levels sequence_unpad_levels(std::string_view op, const TensorRef& x, const Levels& length);

}  // namespace portops::impl
