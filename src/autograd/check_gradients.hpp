// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"
#include "portops/core/error.hpp"
#include "portops/core/macros.hpp"

#include <functional>
#include <vector>

namespace portops::autograd {

struct CheckGradientsParams {
  double step = 1e-5;       ///< h, of the slope (f(x + h) − f(x − h)) / 2h
  double tolerance = 1e-7;  ///< of the difference between gradient and slope, in units of 1 + |slope|
};

/// Compares the gradients of a function of variables with its slopes, by central differences along every element: as
/// many calls of the function as the variables have elements, times two, each of which is waited for.
///
/// function    is called with copies of the variables, and gives a variable of any extents, f64. Slopes and gradients
///             are those of the sum of its elements, each times a random number, always the same.
/// variables   f64, contiguous, not empty. They are not changed, and need not want gradients.
///
/// Throws Error where a gradient is NaN or differs from its slope: the message names the variable, the element, and
/// both; and where the function gives something that was made from none of the variables, or not smooth where it is
/// asked.
PORTOPS_EXPORT void check_gradients(const Context& ctx,
                                    const std::function<Variable(const std::vector<Variable>& variables)>& function,
                                    const std::vector<Variable>& variables, const CheckGradientsParams& params = {});

}  // namespace portops::autograd
