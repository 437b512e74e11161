// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// reshape where the elements move: contiguous, cut out of a larger tensor, and with axes exchanged.
void register_reshape(Backend backend);

}  // namespace portops::perf
