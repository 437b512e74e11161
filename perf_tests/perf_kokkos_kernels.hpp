// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// What Kokkos Kernels has of its own: cases of portops and, with `/peer:kokkos_kernels` at the end of their names, its
/// functions on the same tensors. `axpby` overwrites y, and moves as much as lerp.
void register_kokkos_kernels(Backend backend);

}  // namespace portops::perf
