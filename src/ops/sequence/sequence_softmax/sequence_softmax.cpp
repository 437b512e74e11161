// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_softmax/sequence_softmax.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/types/levels_data.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/sequence_plans.hpp"
#include "ops/sequence/sequence_softmax/sequence_softmax_kernels.hpp"

namespace portops {
namespace {

/// The bytes of a state: two numbers of the arithmetic, or one in the gradient.
std::size_t state_bytes(ElementType type, int numbers) {
  return static_cast<std::size_t>(numbers) * (type == ElementType::f64 ? 8 : 4);
}

/// Calls visit(softmax) with what the kernels take.
template <class Visit>
auto with_softmax(const Levels& levels, const impl::StepLayout& layout, const Visit& visit) {
  const auto plan = impl::joined_pieces(levels, layout.columns);
  const bool has_two_inputs = layout.operands.size() == 3;
  const impl::StepSoftmax softmax{.plan = *plan,
                                  .columns = layout.columns,
                                  .in = {layout.operands[0], has_two_inputs ? layout.operands[1] : impl::StepStrides()},
                                  .out = layout.operands.back()};
  return visit(softmax);
}

}  // namespace

void sequence_softmax(const Context& ctx, const RaggedRef& x, const TensorRef& out) {
  const impl::Region region("portops::sequence_softmax");
  impl::check_sequence_softmax(ctx, x, out);
  if (out.size() == 0) return;
  with_softmax(x.levels, impl::make_step_layout({{x.values, 1}, {out, 1}}), [&](const impl::StepSoftmax& softmax) {
    impl::dispatch(ctx.backend(), out.type(),
                   [&]<Backend B, class T>() { impl::SequenceSoftmaxKernels<B, T>::softmax(ctx, softmax); });
  });
}

void sequence_softmax_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out, const TensorRef& out_grad,
                           const TensorRef& x_grad) {
  const impl::Region region("portops::sequence_softmax_grad");
  impl::check_sequence_softmax_grad(ctx, x, out, out_grad, x_grad);
  if (!x_grad || x_grad.size() == 0) return;
  const auto layout = impl::make_step_layout({{out, 1}, {out_grad, 1}, {x_grad, 1}});
  with_softmax(x.levels, layout, [&](const impl::StepSoftmax& softmax) {
    impl::dispatch(ctx.backend(), out.type(),
                   [&]<Backend B, class T>() { impl::SequenceSoftmaxKernels<B, T>::softmax_grad(ctx, softmax); });
  });
}

std::size_t sequence_softmax_workspace(const Context& ctx, const RaggedRef& x, const TensorRef& out) {
  impl::check_sequence_softmax(ctx, x, out);
  if (out.size() == 0) return 0;
  return with_softmax(x.levels, impl::make_step_layout({{x.values, 1}, {out, 1}}),
                      [&](const impl::StepSoftmax& softmax) {
                        return impl::softmax_memory(softmax, state_bytes(out.type(), 2)).bytes;
                      });
}

std::size_t sequence_softmax_grad_workspace(const Context& ctx, const RaggedRef& x, const TensorRef& out,
                                            const TensorRef& out_grad, const TensorRef& x_grad) {
  impl::check_sequence_softmax_grad(ctx, x, out, out_grad, x_grad);
  if (!x_grad || x_grad.size() == 0) return 0;
  const auto layout = impl::make_step_layout({{out, 1}, {out_grad, 1}, {x_grad, 1}});
  return with_softmax(x.levels, layout, [&](const impl::StepSoftmax& softmax) {
    return impl::softmax_memory(softmax, state_bytes(out.type(), 1)).bytes;
  });
}

}  // namespace portops
