// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/layer_norm/layer_norm.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "generated/checks.hpp"
#include "ops/normalization/layer_norm/layer_norm_kernels.hpp"
#include "ops/normalization/norm_checks.hpp"

namespace portops {
namespace {

impl::LayerNormTensors tensors_of(const impl::LayerNormExtents& extents, const TensorRef& x, const TensorRef& mean,
                                  const TensorRef& inv_std, const LayerNormParams& params) {
  const int rank = x.rank();
  impl::LayerNormTensors tensors;
  tensors.x = x;
  tensors.mean = impl::with_axes_of(mean, 0, rank);
  tensors.inv_std = impl::with_axes_of(inv_std, 0, rank);
  tensors.scale = impl::with_axes_of(params.scale, extents.first, rank);
  for (int axis = 0; axis < rank; ++axis) {
    (axis < extents.first ? tensors.others : tensors.normalized)[static_cast<std::size_t>(axis)] = true;
  }
  tensors.epsilon = params.epsilon;
  return tensors;
}

impl::LayerNormTensors check(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& mean,
                             const TensorRef& inv_std, const LayerNormParams& params) {
  impl::check_epsilon("layer_norm", params.epsilon);
  const impl::LayerNormExtents extents = impl::check_layer_norm(ctx, x, out, mean, inv_std, params);
  impl::LayerNormTensors tensors = tensors_of(extents, x, mean, inv_std, params);
  tensors.out = out;
  tensors.bias = impl::with_axes_of(params.bias, extents.first, x.rank());
  return tensors;
}

impl::LayerNormTensors check_grad(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                  const TensorRef& inv_std, const TensorRef& out_grad, const TensorRef& x_grad,
                                  const TensorRef& scale_grad, const TensorRef& bias_grad,
                                  const LayerNormParams& params) {
  impl::check_epsilon("layer_norm_grad", params.epsilon);
  const impl::LayerNormExtents extents =
      impl::check_layer_norm_grad(ctx, x, mean, inv_std, out_grad, x_grad, scale_grad, bias_grad, params);
  impl::LayerNormTensors tensors = tensors_of(extents, x, mean, inv_std, params);
  tensors.out_grad = out_grad;
  tensors.x_grad = x_grad;
  tensors.scale_grad = impl::with_axes_of(scale_grad, extents.first, x.rank());
  tensors.bias_grad = impl::with_axes_of(bias_grad, extents.first, x.rank());
  return tensors;
}

}  // namespace

void layer_norm(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& mean,
                const TensorRef& inv_std, const LayerNormParams& params) {
  const impl::Region region("portops::layer_norm");
  static const impl::NormLabels labels("layer_norm");
  const impl::LayerNormTensors t = check(ctx, x, out, mean, inv_std, params);
  if (mean.size() == 0) return;
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    if (x.size() > 0) {
      const impl::LayerNormPlan plan = impl::make_layer_norm_plan(t, B);
      if (plan.whole) return impl::LayerNormKernels<B, T>::layer_norm(ctx, labels, t, plan);
    }
    using Steps = impl::NormKernels<B, T>;
    const impl::Temporary memory(ctx, labels.partials.c_str(), impl::layer_norm_memory(t, B));
    Steps::statistics(ctx, labels, t.x, t.normalized, t.mean, t.inv_std, t.epsilon, {}, memory.data());
    if (x.size() > 0) Steps::normalize(ctx, labels, t.x, t.mean, t.inv_std, t.scale, t.bias, t.out, false);
  });
}

void layer_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& mean, const TensorRef& inv_std,
                     const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& scale_grad,
                     const TensorRef& bias_grad, const LayerNormParams& params) {
  const impl::Region region("portops::layer_norm_grad");
  static const impl::NormLabels labels("layer_norm_grad");
  const impl::LayerNormTensors t = check_grad(ctx, x, mean, inv_std, out_grad, x_grad, scale_grad, bias_grad, params);
  if (!(x_grad || scale_grad || bias_grad)) return;
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Steps = impl::NormKernels<B, T>;
    const impl::Temporary memory(ctx, labels.partials.c_str(), impl::layer_norm_grad_memory(t, B));
    if (x.size() > 0) {
      const impl::LayerNormPlan plan = impl::make_layer_norm_grad_plan(t, B);
      if (plan.whole) return impl::LayerNormKernels<B, T>::layer_norm_grad(ctx, labels, t, plan, memory.data());
    }
    auto* const means_data = static_cast<std::byte*>(memory.data());
    auto* const partials = x.size() > 0 ? means_data + impl::layer_norm_means_memory(t) : nullptr;
    if (scale_grad || bias_grad) {
      Steps::gradient_sums(ctx, labels, t.x, t.out_grad, t.others, t.mean, t.inv_std, {}, false,
                           {{}, t.scale_grad, t.bias_grad}, partials);
    }
    if (!x_grad || x.size() == 0) return;
    const impl::MeansOfSums means(means_data, t.mean);
    Steps::gradient_sums(ctx, labels, t.x, t.out_grad, t.normalized, t.mean, t.inv_std, t.scale, false,
                         {means.of_sum, {}, {}}, partials);
    Steps::normalize_grad(ctx, labels, t.x, t.out_grad, t.mean, t.inv_std, t.scale, means.of_sum, means.of_product,
                          t.x_grad);
  });
}

std::size_t layer_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& out, const TensorRef& mean,
                                 const TensorRef& inv_std, const LayerNormParams& params) {
  return impl::layer_norm_memory(check(ctx, x, out, mean, inv_std, params), ctx.backend());
}

std::size_t layer_norm_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                      const TensorRef& inv_std, const TensorRef& out_grad, const TensorRef& x_grad,
                                      const TensorRef& scale_grad, const TensorRef& bias_grad,
                                      const LayerNormParams& params) {
  return impl::layer_norm_grad_memory(
      check_grad(ctx, x, mean, inv_std, out_grad, x_grad, scale_grad, bias_grad, params), ctx.backend());
}

}  // namespace portops
