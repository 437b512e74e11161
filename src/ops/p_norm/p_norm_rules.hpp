// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace portops::impl {

/// Whether the gradient depends on the elements of out.
inline bool p_norm_grad_needs_buffer(double porder) { return porder != 0.0 && porder != 1.0; }

}  // namespace portops::impl
