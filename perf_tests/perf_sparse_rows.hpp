// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// Registers the benchmarks of merge_rows, sparse_sgd, sparse_momentum and sparse_adam.
void register_sparse_rows(Backend backend);

}  // namespace portops::perf
