// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// add and add_grad: the shapes of models, all element types, and all patterns in which y is broadcast.
void register_add(Backend backend);

}  // namespace portops::perf
