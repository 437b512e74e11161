// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/loop/loop.hpp"

// A gradient that is a sum of out_grad alone: over the axes along which its operand was broadcast.

namespace portops::impl {

/// The loop of one such gradient: a reduction where that is the faster way, else one of an element-wise operator.
Loop make_gradient_sum(const TensorRef& out_grad, const TensorRef& gradient, Backend backend);

/// Whether a loop is best taken as a reduction: on hosts wherever something is summed, on GPUs along the last axis.
/// Down the others a walk through tiles is faster there, which reads 16 bytes at once.
bool is_reduction(const Loop& loop, Backend backend);

}  // namespace portops::impl
