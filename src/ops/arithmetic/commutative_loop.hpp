// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/loop/loop.hpp"

namespace portops::impl {

/// The loop x, y → out of an operator whose result is the same the other way round: kernels need to know fewer cases
/// where the larger operand comes first. `extents` are those to which x and y broadcast.
Loop make_commutative_loop(const Extents& extents, const TensorRef& x, const TensorOrNumber& y, const TensorRef& out);

}  // namespace portops::impl
