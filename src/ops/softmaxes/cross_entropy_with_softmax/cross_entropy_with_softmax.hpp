// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace portops {

/// The attributes of cross_entropy_with_softmax and cross_entropy_with_softmax_grad.
struct CrossEntropyWithSoftmaxParams {
  /// Whether label has a number for each class, and not the class.
  bool soft_label = false;
  /// The class that stands for none: such rows count for nothing. Not with soft labels.
  std::int64_t ignore_index = -100;
  /// The axis of the classes; a negative one counts from the last.
  std::int64_t axis = -1;
  /// What becomes of the losses of the rows: mean, sum or none.
  std::string reduction = "mean";
};

/// The cross entropy of labels and the softmax of logits, in one pass over these. A row is what lies along the axis:
///
///   row_loss    = log_sum_exp − logits[label]                label is a class; 0 where that is ignore_index
///   row_loss    = Σ label · (log_sum_exp − logits)           label is soft; Σ over the classes
///   log_sum_exp = log Σ exp(logits)
///   loss        = Σ row_loss / count, Σ row_loss, row_loss   for the reductions mean, sum, none
///   count       = the rows whose label is not ignore_index; of soft labels, all
///
/// logits        any extents and strides, one class or more; f64, f32, f16 or bf16.
/// label         classes: i64, the extents of logits without the axis, which may also stay with extent 1. Soft labels:
///               the element type and extents of logits; they need not add up to 1.
/// loss          the extents [] for mean and sum; for none those of logits without the axis. The type of logits.
/// log_sum_exp   f64, the extents of logits without the axis. May be an empty TensorRef.
/// count         i64, the extents []. May be an empty TensorRef. Both are what the gradient takes.
///
/// A mean over no rows, or none but ignored ones, is 0, where PyTorch has NaN. A soft label of 0 adds nothing, whatever
/// the logit: with one of −Inf PyTorch has NaN. A class outside of [0, classes) is refused: where the host reads label
/// (serial, openmp) that is an Error; on cuda label is read when the call's turn comes, and the row's loss is NaN.
///
/// Nothing overflows on the way. Sums are accumulated in f32 (f64 for f64), those over rows in f64, in trees of fixed
/// shape: the same bits on every run and for any number of threads, whether the context asks for it or not. The error
/// of a row's loss is within 4e-6 · (1 + row_loss) (f64: 1e-13 · (1 + row_loss)), and one rounding of the 16-bit types;
/// of a soft one, with Σ |label| · (log_sum_exp − logits) for row_loss. A NaN, an infinity of positive sign or nothing
/// but infinities of negative sign among its logits make a row's log_sum_exp NaN, or in the last case −Inf, and its
/// loss NaN unless it is ignored. The loss of a class whose logit is −Inf is Inf.
///
/// Throws portops::Error, before anything is enqueued, when axis is out of range, there are no classes, reduction is
/// another word, extents or element types are others, a tensor is empty (not given) or lies where the context's backend
/// cannot reach it, an output is read-only, has two elements at one address, or overlaps anything. No rows are valid.
/// Temporaries come from the library's pool or the context's workspace; the functions below give their size.
///
/// Semantics: torch.nn.functional.cross_entropy; the arguments are those of Paddle's `cross_entropy_with_softmax`.
PORTOPS_EXPORT void cross_entropy_with_softmax(const Context& ctx, const TensorRef& logits, const TensorRef& label,
                                               const TensorRef& loss, const TensorRef& log_sum_exp,
                                               const TensorRef& count,
                                               const CrossEntropyWithSoftmaxParams& params = {});

/// The gradient of cross_entropy_with_softmax with respect to logits, in one pass over these:
///
///   logits_grad = (exp(logits − log_sum_exp) − one_hot(label)) · factor    label is a class; 0 where it is ignored
///   logits_grad = (exp(logits − log_sum_exp) · Σ label − label) · factor   label is soft
///   factor      = loss_grad / count, loss_grad, loss_grad[row]             for the reductions mean, sum, none; 0 / 0 =
///   0
///
/// logits, label   as in cross_entropy_with_softmax.
/// log_sum_exp     as that gave it.
/// count           as that gave it; read for the reduction mean alone.
/// loss_grad       has the extents of loss.
/// logits_grad     has the extents of logits; may be the same tensor as logits (in place), or an empty TensorRef, and
///                 then nothing is done.
///
/// Rows of a class outside of [0, classes), on cuda, are NaN, and so are those whose log_sum_exp is no number. exp is
/// within 4e-6 + 1.2e-7 · (log_sum_exp − logits) of its value (f64: 1e-12), subnormal results apart. The 16-bit types
/// compute in f32 and round once. Labels have no gradient.
///
/// Throws portops::Error, and takes temporaries, as cross_entropy_with_softmax does.
///
/// Semantics: autograd's of torch.nn.functional.cross_entropy.
PORTOPS_EXPORT void cross_entropy_with_softmax_grad(const Context& ctx, const TensorRef& logits, const TensorRef& label,
                                                    const TensorRef& log_sum_exp, const TensorRef& count,
                                                    const TensorRef& loss_grad, const TensorRef& logits_grad,
                                                    const CrossEntropyWithSoftmaxParams& params = {});

/// The bytes of workspace that the same call needs.
PORTOPS_EXPORT std::size_t cross_entropy_with_softmax_workspace(const Context& ctx, const TensorRef& logits,
                                                                const TensorRef& label, const TensorRef& loss,
                                                                const TensorRef& log_sum_exp, const TensorRef& count,
                                                                const CrossEntropyWithSoftmaxParams& params = {});
PORTOPS_EXPORT std::size_t cross_entropy_with_softmax_grad_workspace(const Context& ctx, const TensorRef& logits,
                                                                     const TensorRef& label,
                                                                     const TensorRef& log_sum_exp,
                                                                     const TensorRef& count, const TensorRef& loss_grad,
                                                                     const TensorRef& logits_grad,
                                                                     const CrossEntropyWithSoftmaxParams& params = {});

}  // namespace portops
