// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// A kernel that does nothing: what the host pays for every call at least.
void register_launch(Backend backend);

}  // namespace portops::perf
