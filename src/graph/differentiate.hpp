// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"
#include "portops/graph/program.hpp"

#include <vector>

namespace portops::graph {

/// Adds to a program the calls that compute the gradients of `loss` with respect to the variables, which may be any of
/// its values, and gives these gradients: of the variables' element types and extents; none for a variable that the
/// loss was not made from. What of the program's calls the gradients need, such as the places of maxima, these compute
/// from then on.
///
/// `loss_grad`: the gradient with respect to the loss, of its type and extents; without it the loss has one element,
/// and the gradient is 1, a constant.
///
/// The calls are those of a backward pass (portops/autograd/backward.hpp), in its order, and contributions to one
/// gradient are added in its order: a program that was recorded gives the bits of the tape. Gradients of tables are
/// dense.
///
/// Throws Error, and leaves the program as it was, when the loss does not have one element and there is no loss_grad,
/// when that does not fit, when a variable holds indices, and when the loss depends on a variable by way of an operator
/// that has no gradient: the message names the call.
PORTOPS_EXPORT std::vector<ValueId> differentiate(Program& program, ValueId loss, const std::vector<ValueId>& variables,
                                                  ValueId loss_grad = {});

}  // namespace portops::graph
