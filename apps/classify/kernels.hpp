// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/tensor_ref.hpp>

// What the classifier computes beside the library's operators. All tensors are contiguous. Every call enqueues on the
// context's instance and returns, and gives the same bits on every run and for any number of threads.

namespace portops::apps {

/// The cross entropy of the softmax of scores, and its gradient:
///
///   loss[i]          = log Σ_c exp(scores[i, c]) − scores[i, labels[i]]
///   scores_grad[i]   = scale · (softmax(scores[i]) − one_hot(labels[i]))
///
/// scores        [n, classes]
/// labels        i64 [n], each from 0 to classes − 1
/// measures      [n, 2], f64 where scores are, else f32: the loss, and 1 where no other class scores as much as the
///               label's, else 0
/// scores_grad   the extents of scores; may be an empty TensorRef
void softmax_loss(const Context& ctx, const TensorRef& scores, const TensorRef& labels, const TensorRef& measures,
                  const TensorRef& scores_grad, double scale);

}  // namespace portops::apps
