// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"

namespace portops::impl {

/// Tries the transfers that are given elements as they lie, in memory as calls take it. Throws Error, on every process,
/// where MPI says that it does not reach such memory, or one of them was sent other elements. All processes call it.
void try_memory(Engine& engine, const Context& ctx);

}  // namespace portops::impl
