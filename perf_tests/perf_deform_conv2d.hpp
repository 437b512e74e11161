// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

namespace portops::perf {

/// deform_conv2d and deform_conv2d_grad with mask and bias: all element types, and f32 as tf32, on three shapes; other
/// extents, windows, strides and groups; the gradient in deterministic mode too.
void register_deform_conv2d(Backend backend);

}  // namespace portops::perf
