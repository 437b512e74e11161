// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Kernels over lists bring a table along: what a GPU's threads have to know of many tensors travels among a kernel's
// arguments, without a copy that would have to be waited for, and into a captured graph with it.

namespace portops::impl {

/// The words, of 8 bytes, of a table: with the rest less than the 4 KB of arguments that every CUDA takes, and less
/// than the 32,764 bytes that it takes from version 12.1 on. A short table travels faster.
inline constexpr int small_table = 448;
inline constexpr int large_table = 3968;

}  // namespace portops::impl
