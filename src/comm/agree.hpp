// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"

#include <string>

namespace portops::impl {

/// Throws Error, on every process, where the processes' texts differ. It begins with `name`, says which process differs
/// from process 0, and what both have in the first line that is not the same. Waits.
void agree(Engine& engine, const char* name, const std::string& text);

}  // namespace portops::impl
