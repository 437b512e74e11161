// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace portops::impl {

/// Whether so many bytes, more than 8 MiB, are too many for a host's caches to keep them until they are read again.
/// Outputs of that size are written past the caches. Half of the last level in place of 8 MiB gained nothing: there was
/// one of some 300 MiB, in which outputs of 64 MiB stayed.
bool exceeds_host_caches(std::int64_t bytes);

/// Sets the most bytes that do not exceed them, and returns what it was. For tests, which write little.
std::int64_t set_kept_by_host_caches(std::int64_t bytes);

}  // namespace portops::impl
