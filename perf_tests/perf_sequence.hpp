// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// The operators on ragged tensors: many sequences of different lengths, and one very long one among them.
void register_sequence(Backend backend);

}  // namespace portops::perf
