// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// p_norm and p_norm_grad: the axis in every place, long and short rows, long columns, one long vector; all element
/// types, and orders of every kind.
void register_p_norm(Backend backend);

}  // namespace portops::perf
