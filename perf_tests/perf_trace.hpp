// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// trace and trace_grad: one large matrix, many small ones, and matrices of neighbours.
void register_trace(Backend backend);

}  // namespace portops::perf
