// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// concat, split and their gradients: many small tensors, few large ones, runs of odd lengths.
void register_concat(Backend backend);

}  // namespace portops::perf
