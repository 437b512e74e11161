// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace portops::impl {

/// Makes a Runtime for the rest of the process, once. Throws what its constructor throws.
void start_runtime();

}  // namespace portops::impl
