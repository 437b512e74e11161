// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// lerp and lerp_grad: the shapes of models, all element types, and all patterns in which operands are broadcast.
void register_lerp(Backend backend);

}  // namespace portops::perf
