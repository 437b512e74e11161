// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax.hpp"

#include "core/check/check_indices.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/region.hpp"
#include "core/loop/loop.hpp"
#include "generated/checks.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax_kernels.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax_rules.hpp"
#include "ops/softmaxes/softmax_plan.hpp"

#include <array>
#include <optional>
#include <vector>

namespace portops {
namespace impl {

CrossEntropyMemory::CrossEntropyMemory(const CrossEntropyPlan& plan, ElementType type) {
  const std::size_t number = size_of(sum_type(type));
  const std::int64_t rows = plan.rows.results();
  MemoryLayout layout;
  states = layout.add_bytes(rows > 0 ? softmax_memory(plan.rows, type, plan.soft ? 4 : 2) : 0);
  if (plan.sum != nullptr || plan.count != nullptr) {
    losses = layout.add(rows, 2 * number);
    sums = layout.add(ceil_div(rows, rows_of_loss_sum(rows)), 2 * sizeof(double));
  }
  bytes = layout.bytes();
}

}  // namespace impl

namespace {

using impl::CrossEntropyPlan;
using Checked = impl::CrossEntropyWithSoftmaxExtents;

/// A tensor of one element a row, as one that is broadcast along the classes. Its strides count elements of the call's
/// type, which are no larger.
TensorRef of_rows(const TensorRef& tensor, const TensorRef& logits, const Checked& checked, bool has_axis = false) {
  if (!tensor) return {};
  TensorRef rows = impl::with_reduced_axes(tensor, logits.extents(), checked.reduced, has_axis);
  Extents strides = rows.strides();
  const auto elements = static_cast<std::int64_t>(size_of(tensor.type()) / size_of(logits.type()));
  for (int axis = 0; axis < rows.rank(); ++axis) strides[axis] *= elements;
  return {rows.data(), logits.type(), rows.extents(), strides, rows.space()};
}

struct Call {
  const TensorRef& logits;
  const TensorRef& label;
  const CrossEntropyWithSoftmaxParams& params;
  Checked checked;
};

/// `walked` is the tensor that decides in which direction the classes are counted, `written` what is written for each
/// of them, if anything is; `loss` has an element a row, or is one number.
CrossEntropyPlan make_plan(const Context& ctx, const Call& call, const TensorRef& walked, const TensorRef& written,
                           const TensorRef& log_sum_exp, const TensorRef& loss) {
  const bool soft = call.params.soft_label;
  const TensorOrNumber logits = call.logits, soft_label = call.label;
  std::vector<const TensorOrNumber*> inputs{&logits};
  if (soft) inputs.push_back(&soft_label);
  const TensorRef label =
      soft ? TensorRef() : of_rows(call.label, call.logits, call.checked, call.checked.label_has_axis);
  const TensorRef exponents = of_rows(log_sum_exp, call.logits, call.checked);
  std::vector<const TensorRef*> outputs;
  if (written) outputs.push_back(&written);
  CrossEntropyPlan plan;
  plan.label = static_cast<int>(inputs.size() + outputs.size());
  plan.log_sum_exp = plan.label + 1;
  plan.loss = plan.label + 2;
  outputs.insert(outputs.end(), {&label, &exponents, &loss});
  plan.soft = soft;
  plan.classes = call.checked.classes;
  plan.ignore_index = call.params.ignore_index;
  plan.mean = call.params.reduction == "mean";
  for (int axis = 0; axis < walked.rank(); ++axis) {
    if (call.checked.reduced[static_cast<std::size_t>(axis)]) plan.backwards = walked.stride(axis) < 0;
  }
  if (call.logits.size() == 0) {
    plan.rows.kept = 0;
    return plan;
  }
  const impl::Loop loop =
      impl::make_loop(call.logits.type(), call.logits.extents(), inputs, outputs, call.checked.reduced);
  const impl::RowUse use = !written ? impl::RowUse::collect : soft ? impl::RowUse::collect_write : impl::RowUse::write;
  plan.rows = impl::make_softmax_plan(loop, ctx.backend(), use);
  plan.streaming = impl::writes_much(loop);
  return plan;
}

CrossEntropyPlan plan_loss(const Context& ctx, const TensorRef& logits, const TensorRef& label, const TensorRef& loss,
                           const TensorRef& log_sum_exp, const TensorRef& count,
                           const CrossEntropyWithSoftmaxParams& params) {
  const Call call{logits, label, params,
                  impl::check_cross_entropy_with_softmax(ctx, logits, label, loss, log_sum_exp, count, params)};
  const bool adds = params.reduction != "none";
  const TensorRef of_each = adds ? TensorRef() : of_rows(loss, logits, call.checked);
  CrossEntropyPlan plan = make_plan(ctx, call, logits, {}, log_sum_exp, of_each);
  if (adds) plan.sum = loss.data();
  plan.count = static_cast<std::int64_t*>(count.data());
  return plan;
}

CrossEntropyPlan plan_grad(const Context& ctx, const TensorRef& logits, const TensorRef& label,
                           const TensorRef& log_sum_exp, const TensorRef& count, const TensorRef& loss_grad,
                           const TensorRef& logits_grad, const CrossEntropyWithSoftmaxParams& params) {
  const Call call{logits, label, params,
                  impl::check_cross_entropy_with_softmax_grad(ctx, logits, label, log_sum_exp, count, loss_grad,
                                                              logits_grad, params)};
  if (!logits_grad) return {};
  const TensorRef of_each = params.reduction != "none" ? loss_grad : of_rows(loss_grad, logits, call.checked);
  CrossEntropyPlan plan = make_plan(ctx, call, logits_grad, logits_grad, log_sum_exp, of_each);
  if (plan.mean) plan.count = static_cast<std::int64_t*>(count.data());
  return plan;
}

void check_classes(std::string_view op, const Context& ctx, const TensorRef& label, std::int64_t classes,
                   const CrossEntropyWithSoftmaxParams& params) {
  if (params.soft_label) return;
  impl::check_indices(op, ctx, {"label", label}, classes, "the classes", {{params.ignore_index, "ignore_index"}});
}

}  // namespace

void cross_entropy_with_softmax(const Context& ctx, const TensorRef& logits, const TensorRef& label,
                                const TensorRef& loss, const TensorRef& log_sum_exp, const TensorRef& count,
                                const CrossEntropyWithSoftmaxParams& params) {
  const impl::Region region("portops::cross_entropy_with_softmax");
  const CrossEntropyPlan plan = plan_loss(ctx, logits, label, loss, log_sum_exp, count, params);
  check_classes("cross_entropy_with_softmax", ctx, label, plan.classes, params);
  impl::dispatch(ctx.backend(), logits.type(),
                 [&]<Backend B, class T>() { impl::CrossEntropyWithSoftmaxKernels<B, T>::run(ctx, plan); });
}

void cross_entropy_with_softmax_grad(const Context& ctx, const TensorRef& logits, const TensorRef& label,
                                     const TensorRef& log_sum_exp, const TensorRef& count, const TensorRef& loss_grad,
                                     const TensorRef& logits_grad, const CrossEntropyWithSoftmaxParams& params) {
  const impl::Region region("portops::cross_entropy_with_softmax_grad");
  const CrossEntropyPlan plan = plan_grad(ctx, logits, label, log_sum_exp, count, loss_grad, logits_grad, params);
  if (!logits_grad || logits_grad.size() == 0) return;
  check_classes("cross_entropy_with_softmax_grad", ctx, label, plan.classes, params);
  impl::dispatch(ctx.backend(), logits.type(),
                 [&]<Backend B, class T>() { impl::CrossEntropyWithSoftmaxGradKernels<B, T>::run(ctx, plan); });
}

std::size_t cross_entropy_with_softmax_workspace(const Context& ctx, const TensorRef& logits, const TensorRef& label,
                                                 const TensorRef& loss, const TensorRef& log_sum_exp,
                                                 const TensorRef& count, const CrossEntropyWithSoftmaxParams& params) {
  return impl::CrossEntropyMemory(plan_loss(ctx, logits, label, loss, log_sum_exp, count, params), logits.type()).bytes;
}

std::size_t cross_entropy_with_softmax_grad_workspace(const Context& ctx, const TensorRef& logits,
                                                      const TensorRef& label, const TensorRef& log_sum_exp,
                                                      const TensorRef& count, const TensorRef& loss_grad,
                                                      const TensorRef& logits_grad,
                                                      const CrossEntropyWithSoftmaxParams& params) {
  const CrossEntropyPlan plan = plan_grad(ctx, logits, label, log_sum_exp, count, loss_grad, logits_grad, params);
  if (!plan.soft || !logits_grad || logits_grad.size() == 0) return 0;
  return impl::softmax_memory(plan.rows, logits.type(), 1);
}

}  // namespace portops
