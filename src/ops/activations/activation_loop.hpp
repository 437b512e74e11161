// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/loop/loop.hpp"

namespace portops::impl {

/// The loop x → out.
Loop make_activation_loop(const TensorRef& x, const TensorRef& out);

/// The loop kept, out_grad → x_grad, where `kept` is what the gradient takes, x or out.
Loop make_activation_loop(const TensorRef& kept, const TensorRef& out_grad, const TensorRef& x_grad);

}  // namespace portops::impl
