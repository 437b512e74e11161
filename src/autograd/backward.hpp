// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"
#include "portops/core/error.hpp"
#include "portops/core/macros.hpp"

#include <vector>

namespace portops::autograd {

struct BackwardParams {
  /// The gradients with respect to the losses, of their extents and element types, one for each; without them every
  /// loss has one element, and its gradient is 1.
  std::vector<Variable> loss_grads = {};
  /// Whether what the calls have kept stays, for another pass; else it is given back as soon as it has been read.
  bool keep_graph = false;
  /// Of `gradients` alone: whether the gradients are themselves made by calls that are remembered, so that they have
  /// gradients in turn; then the graph is kept.
  bool create_graph = false;
};

/// A backward pass: the gradients of the leaves that `loss` was made from, and whose gradients are wanted, are computed
/// and added to Variable::grad().
///
/// The gradient operators of the calls run on the context's instance, the last call's first; contributions to one
/// gradient are added in that order, and those of one call in the order of its inputs: the same bits on every run. A
/// gradient that nobody else holds is taken over, added to in place, and written where the one before it lay, where the
/// operators allow it. Memory that was kept goes back to the pool as soon as the gradient that reads it is enqueued.
///
/// A pass has no state outside of its call: several threads may have one at a time, on graphs of their own or, with
/// keep_graph, on graphs that share calls. A leaf that their graphs share has its contributions added one after the
/// other, on the instance of each pass.
///
/// Throws Error, before anything is enqueued, when
/// - loss is empty or wants no gradient, or does not have one element and there are no loss_grads, or these do not fit;
/// - elements that a gradient would read have been changed since they were kept: the message names the operator that
///   kept them and the one that changed them;
/// - an earlier pass without keep_graph has given back what a call kept.
PORTOPS_EXPORT void backward(const Context& ctx, const Variable& loss, const BackwardParams& params = {});

/// The gradients of the sum of all losses with respect to the variables, which may be leaves or not. No leaf's gradient
/// is changed and no hook called, and only what lies between losses and variables is computed. The gradient of a
/// variable that no loss was made from is empty.
///
/// Throws Error as backward does, and when a variable is empty or wants no gradient.
///
/// With create_graph the gradients of add, subtract, multiply, lerp, matmul, sum, mean, reshape, concat and split are
/// made of these operators, to the same numbers up to rounding. Those of all others have no gradients: a pass that
/// comes to one throws Error, which names the gradient operator, before anything is enqueued.
PORTOPS_EXPORT std::vector<Variable> gradients(const Context& ctx, const std::vector<Variable>& losses,
                                               const std::vector<Variable>& variables,
                                               const BackwardParams& params = {});

}  // namespace portops::autograd
