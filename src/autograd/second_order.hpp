// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/gradient_call.hpp"
#include "autograd/variable.hpp"

#include <vector>

namespace portops::impl {

// Gradients made of operators that have gradients: the same as those of the gradient operators up to rounding, as calls
// that are remembered. Each gives the gradients of the operands, those that are not wanted empty.

using Gradients = std::vector<autograd::Variable>;

Gradients add_gradients(GradientCall& call);
Gradients concat_gradients(GradientCall& call);
Gradients lerp_gradients(GradientCall& call);
Gradients matmul_gradients(GradientCall& call);
Gradients mean_gradients(GradientCall& call);
Gradients multiply_gradients(GradientCall& call);
Gradients reshape_gradients(GradientCall& call);
Gradients split_gradients(GradientCall& call);
Gradients subtract_gradients(GradientCall& call);
Gradients sum_gradients(GradientCall& call);

}  // namespace portops::impl
