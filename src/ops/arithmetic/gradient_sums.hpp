// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/loop/loop.hpp"

#include <cstddef>
#include <optional>

// Gradients that are sums of out_grad alone, or these with the sign changed: over the axes along which their operands
// were broadcast.

namespace portops::impl {

/// The loop of the gradients of two operands, of which x_grad is out_grad itself, with its sign, where x was not
/// broadcast; none where nothing is to be computed. Outputs: those that are, a gradient that is out_grad already left
/// out. One gradient alone is a reduction where that is the faster way.
std::optional<Loop> make_gradient_sums(const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& y_grad,
                                       Backend backend);

/// Whether a loop is best taken as a reduction: on hosts wherever something is summed, on GPUs along the last axis.
/// Down the others a walk through tiles is faster there, which reads 16 bytes at once.
bool is_reduction(const Loop& loop, Backend backend);

/// The workspace of such a loop, in bytes.
std::size_t gradient_sums_workspace(const std::optional<Loop>& loop, Backend backend);

}  // namespace portops::impl
