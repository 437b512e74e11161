// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/normalization/batch_norm/batch_norm.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/program_call.hpp"
#include "core/exec/region.hpp"
#include "core/exec/workspace.hpp"
#include "generated/checks.hpp"
#include "ops/normalization/batch_norm/batch_norm_parts.hpp"
#include "ops/normalization/batch_norm/norm_maxima_kernels.hpp"
#include "ops/normalization/norm_checks.hpp"
#include "ops/normalization/norm_kernels.hpp"

#include <array>
#include <cmath>

namespace portops {
namespace {

using impl::check_in_place;
using impl::Named;

impl::AxisSet all_but(int channels, int rank) {
  impl::AxisSet axes{};
  for (int axis = 0; axis < rank; ++axis) axes[static_cast<std::size_t>(axis)] = axis != channels;
  return axes;
}

/// The channels' axis. A part of a batch may have any number of values per channel.
int check_call(const Context& ctx, const TensorRef& x, const TensorRef& mean, const TensorRef& variance,
               const TensorRef& out, const TensorRef& saved_mean, const TensorRef& saved_inv_std,
               const TensorRef& mean_out, const TensorRef& variance_out, const BatchNormParams& params) {
  constexpr std::string_view op = "batch_norm";
  impl::check_epsilon(op, params.epsilon);
  if (!std::isfinite(params.momentum)) {
    impl::fail("portops::batch_norm: momentum is ", params.momentum, ", expected a finite number");
  }
  const int axis =
      impl::check_batch_norm(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out, params)
          .axis;
  if (mean_out) check_in_place(op, Named{"mean_out", mean_out}, Named{"mean", mean});
  if (variance_out) check_in_place(op, Named{"variance_out", variance_out}, Named{"variance", variance});
  if (params.is_test && (mean_out || variance_out)) {
    impl::fail("portops::batch_norm: ", mean_out ? "mean_out" : "variance_out",
               " is given, but is_test leaves the running statistics as they are");
  }
  return axis;
}

int check(const Context& ctx, const TensorRef& x, const TensorRef& mean, const TensorRef& variance,
          const TensorRef& out, const TensorRef& saved_mean, const TensorRef& saved_inv_std, const TensorRef& mean_out,
          const TensorRef& variance_out, const BatchNormParams& params) {
  const int axis = check_call(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out, params);
  if (!params.is_test && x.size() > 0 && x.size() == x.extent(axis)) {
    impl::fail("portops::batch_norm: x has extents ", x.extents().to_string(),
               ", expected more than one value per channel, as is_test is false");
  }
  return axis;
}

/// What a program has made of the result, or of its maxima. A batch norm is told by bounds that it is relu, its
/// gradient by is_behind_relu.
struct Followers {
  bool has_relu = false;
  impl::WindowMaxima maxima = {};
};

Followers followers_of_call() {
  const impl::ProgramCall* const program = impl::ProgramCallScope::current();
  if (program == nullptr) return {};
  return {program->is_behind_relu || program->bounds == impl::Bounds{.min = 0.0}, program->maxima};
}

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::size_t memory_of(Backend backend, const TensorRef& x, int axis, const TensorRef& of_channels,
                      const TensorRef& out_grad, int numbers) {
  if (x.size() == 0) return 0;
  // What else lies beside x has one axis, and divides none that this does not.
  const std::array others{out_grad, impl::with_axes_of(of_channels, axis, x.rank())};
  const impl::NormPlan plan =
      impl::make_norm_plan(impl::make_norm_loop(x, others, all_but(axis, x.rank())), out_grad ? 2 : 1, backend);
  return impl::norm_partials(plan, x.type(), numbers);
}

/// Of the sums of a gradient with respect to maxima: no more than without them.
std::size_t memory_of_maxima(const TensorRef& x, const impl::WindowMaxima& maxima, int axis,
                             const TensorRef& of_channels) {
  const std::array others{impl::with_axes_of(of_channels, axis, x.rank())};
  const auto loop = [&](const TensorRef& of) { return impl::make_norm_loop(of, others, all_but(axis, x.rank())); };
  return impl::norm_partials(impl::make_window_norm_plan(loop(maxima.values), loop(x)), x.type(),
                             impl::numbers_of_gradient);
}

std::size_t means_memory(const TensorRef& of_channels) {
  return aligned(static_cast<std::size_t>(2 * of_channels.size()) * size_of(of_channels.type()));
}

std::size_t memory_of_grad(Backend backend, const TensorRef& x, int axis, const TensorRef& of_channels,
                           const TensorRef& out_grad, bool needs_sums) {
  if (!needs_sums || x.size() == 0) return 0;
  return means_memory(of_channels) + memory_of(backend, x, axis, of_channels, out_grad, impl::numbers_of_gradient);
}

int check_grad(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean, const TensorRef& saved_inv_std,
               const TensorRef& out_grad, const TensorRef& x_grad, const TensorRef& scale_grad,
               const TensorRef& bias_grad, const BatchNormParams& params) {
  impl::check_epsilon("batch_norm_grad", params.epsilon);
  return impl::check_batch_norm_grad(ctx, x, saved_mean, saved_inv_std, out_grad, x_grad, scale_grad, bias_grad, params)
      .axis;
}

}  // namespace

void batch_norm(const Context& ctx, const TensorRef& x, const TensorRef& mean, const TensorRef& variance,
                const TensorRef& out, const TensorRef& saved_mean, const TensorRef& saved_inv_std,
                const TensorRef& mean_out, const TensorRef& variance_out, const BatchNormParams& params) {
  const impl::Region region("portops::batch_norm");
  static const impl::NormLabels labels("batch_norm");
  const int axis = check(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out, params);
  if (mean.size() == 0) return;
  const Followers followers = followers_of_call();
  const auto placed = [&](const TensorRef& tensor) { return impl::with_axes_of(tensor, axis, x.rank()); };
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Steps = impl::NormKernels<B, T>;
    const TensorRef of_mean = placed(saved_mean), of_inv_std = placed(saved_inv_std);
    if (params.is_test) {
      Steps::take_statistics(ctx, labels, mean, variance, saved_mean, saved_inv_std, params.epsilon);
    } else {
      const impl::Temporary memory(ctx, labels.partials.c_str(),
                                   memory_of(ctx.backend(), x, axis, saved_mean, {}, impl::numbers_of_moments));
      const impl::RunningStatistics running{placed(mean), placed(variance), placed(mean_out), placed(variance_out),
                                            params.momentum};
      Steps::statistics(ctx, labels, x, all_but(axis, x.rank()), of_mean, of_inv_std, params.epsilon, running,
                        memory.data());
    }
    if (x.size() == 0) return;
    const TensorRef scale = placed(params.scale), bias = placed(params.bias);
    if (followers.maxima.side != 0) {
      impl::NormMaximaKernels<B, T>::normalize(ctx, labels, x, of_mean, of_inv_std, scale, bias, followers.maxima,
                                               followers.has_relu);
    } else {
      Steps::normalize(ctx, labels, x, of_mean, of_inv_std, scale, bias, out, followers.has_relu);
    }
  });
}

void batch_norm_grad(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                     const TensorRef& saved_inv_std, const TensorRef& out_grad, const TensorRef& x_grad,
                     const TensorRef& scale_grad, const TensorRef& bias_grad, const BatchNormParams& params) {
  const impl::Region region("portops::batch_norm_grad");
  static const impl::NormLabels labels("batch_norm_grad");
  const int axis = check_grad(ctx, x, saved_mean, saved_inv_std, out_grad, x_grad, scale_grad, bias_grad, params);
  if (saved_mean.size() == 0) return;
  const auto placed = [&](const TensorRef& tensor) { return impl::with_axes_of(tensor, axis, x.rank()); };
  const bool needs_means = x_grad && !params.is_test, needs_sums = needs_means || scale_grad || bias_grad;
  const Followers followers = followers_of_call();
  const impl::WindowMaxima& maxima = followers.maxima;
  const bool is_of_maxima = maxima.side != 0;
  impl::dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Steps = impl::NormKernels<B, T>;
    using MaximaSteps = impl::NormMaximaKernels<B, T>;
    const TensorRef mean = placed(saved_mean), inv_std = placed(saved_inv_std), scale = placed(params.scale);
    // Otherwise its elements count for nothing, and may be nowhere.
    const TensorRef bias = followers.has_relu ? placed(params.bias) : TensorRef();
    const std::size_t bytes = is_of_maxima ? means_memory(saved_mean) + memory_of_maxima(x, maxima, axis, saved_mean)
                                           : memory_of_grad(ctx.backend(), x, axis, saved_mean, out_grad, needs_sums);
    const impl::Temporary memory(ctx, labels.partials.c_str(), bytes);
    const impl::MeansOfSums means(static_cast<std::byte*>(memory.data()), mean);
    if (needs_sums) {
      auto* const partials = x.size() > 0 ? static_cast<std::byte*>(memory.data()) + means_memory(saved_mean) : nullptr;
      const impl::GradientResults results{needs_means && x.size() > 0 ? means.of_sum : TensorRef(), placed(scale_grad),
                                          placed(bias_grad)};
      const impl::AxisSet reduced = all_but(axis, x.rank());
      if (is_of_maxima) {
        MaximaSteps::gradient_sums(ctx, labels, x, reduced, mean, inv_std, scale, bias, maxima, followers.has_relu,
                                   results, partials);
      } else if (followers.has_relu) {
        Steps::gradient_sums_behind_relu(ctx, labels, x, out_grad, reduced, mean, inv_std, scale, bias, results,
                                         partials);
      } else {
        Steps::gradient_sums(ctx, labels, x, out_grad, reduced, mean, inv_std, scale, true, results, partials);
      }
    }
    if (!x_grad || x.size() == 0) return;
    if (params.is_test) {
      Steps::scale_grad(ctx, labels, out_grad, inv_std, scale, x_grad);
    } else if (is_of_maxima) {
      MaximaSteps::normalize_grad(ctx, labels, x, mean, inv_std, scale, bias, means.of_sum, maxima, followers.has_relu,
                                  x_grad);
    } else if (followers.has_relu) {
      Steps::normalize_grad_behind_relu(ctx, labels, x, out_grad, mean, inv_std, scale, bias, means.of_sum, x_grad);
    } else {
      Steps::normalize_grad(ctx, labels, x, out_grad, mean, inv_std, scale, means.of_sum, means.of_product, x_grad);
    }
  });
}

std::size_t batch_norm_workspace(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                 const TensorRef& variance, const TensorRef& out, const TensorRef& saved_mean,
                                 const TensorRef& saved_inv_std, const TensorRef& mean_out,
                                 const TensorRef& variance_out, const BatchNormParams& params) {
  const int axis = check(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out, params);
  return params.is_test ? 0 : memory_of(ctx.backend(), x, axis, saved_mean, {}, impl::numbers_of_moments);
}

std::size_t batch_norm_grad_workspace(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                                      const TensorRef& saved_inv_std, const TensorRef& out_grad,
                                      const TensorRef& x_grad, const TensorRef& scale_grad, const TensorRef& bias_grad,
                                      const BatchNormParams& params) {
  const int axis = check_grad(ctx, x, saved_mean, saved_inv_std, out_grad, x_grad, scale_grad, bias_grad, params);
  const bool needs_sums = (x_grad && !params.is_test) || scale_grad || bias_grad;
  return memory_of_grad(ctx.backend(), x, axis, saved_mean, out_grad, needs_sums);
}

namespace impl {

std::int64_t check_batch_norm_part(const Context& ctx, const TensorRef& x, const TensorRef& mean,
                                   const TensorRef& variance, const TensorRef& out, const TensorRef& saved_mean,
                                   const TensorRef& saved_inv_std, const TensorRef& mean_out,
                                   const TensorRef& variance_out, const BatchNormParams& params) {
  check_call(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out, params);
  return mean.size() == 0 ? 0 : x.size() / mean.size();
}

void batch_norm_moments(const Context& ctx, const TensorRef& x, const TensorRef& moments,
                        const BatchNormParams& params) {
  static const NormLabels labels("batch_norm");
  const int axis = batch_norm_extents("batch_norm", x, params).axis;
  const TensorRef of_channels = TensorRef::without_data(sum_type(x.type()), {x.extent(axis)});
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    const Temporary memory(ctx, labels.partials.c_str(),
                           memory_of(ctx.backend(), x, axis, of_channels, {}, numbers_of_moments));
    NormKernels<B, T>::moments(ctx, labels, x, all_but(axis, x.rank()), moments.data(), memory.data());
  });
}

void batch_norm_by_moments(const Context& ctx, const TensorRef& x, const TensorRef& moments, const TensorRef& mean,
                           const TensorRef& variance, const TensorRef& out, const TensorRef& saved_mean,
                           const TensorRef& saved_inv_std, const TensorRef& mean_out, const TensorRef& variance_out,
                           const BatchNormParams& params) {
  static const NormLabels labels("batch_norm");
  const int axis = batch_norm_extents("batch_norm", x, params).axis;
  const auto placed = [&](const TensorRef& tensor) { return with_axes_of(tensor, axis, x.rank()); };
  const RunningStatistics running{placed(mean), placed(variance), placed(mean_out), placed(variance_out),
                                  params.momentum};
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Steps = NormKernels<B, T>;
    const TensorRef of_mean = placed(saved_mean), of_inv_std = placed(saved_inv_std);
    Steps::joined_statistics(ctx, labels, x, all_but(axis, x.rank()), {moments.data(), moments.extent(0)}, of_mean,
                             of_inv_std, params.epsilon, running);
    if (x.size() == 0) return;
    Steps::normalize(ctx, labels, x, of_mean, of_inv_std, placed(params.scale), placed(params.bias), out, false);
  });
}

void batch_norm_sums(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                     const TensorRef& saved_inv_std, const TensorRef& out_grad, const TensorRef& sums,
                     const TensorRef& scale_grad, const TensorRef& bias_grad, const BatchNormParams& params) {
  static const NormLabels labels("batch_norm_grad");
  const int axis = check_grad(ctx, x, saved_mean, saved_inv_std, out_grad, {}, scale_grad, bias_grad, params);
  const auto placed = [&](const TensorRef& tensor) { return with_axes_of(tensor, axis, x.rank()); };
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    const Temporary memory(ctx, labels.partials.c_str(),
                           memory_of(ctx.backend(), x, axis, saved_mean, out_grad, numbers_of_gradient));
    NormKernels<B, T>::gradient_sums(
        ctx, labels, x, out_grad, all_but(axis, x.rank()), placed(saved_mean), placed(saved_inv_std),
        placed(params.scale), true,
        {.means = {}, .weight_grad = placed(scale_grad), .bias_grad = placed(bias_grad), .sums = sums.data()},
        memory.data());
  });
}

void batch_norm_grad_by_sums(const Context& ctx, const TensorRef& x, const TensorRef& saved_mean,
                             const TensorRef& saved_inv_std, const TensorRef& out_grad, const TensorRef& sums,
                             std::int64_t count, const TensorRef& x_grad, const BatchNormParams& params) {
  static const NormLabels labels("batch_norm_grad");
  const int axis = check_grad(ctx, x, saved_mean, saved_inv_std, out_grad, x_grad, {}, {}, params);
  if (x.size() == 0) return;
  const auto placed = [&](const TensorRef& tensor) { return with_axes_of(tensor, axis, x.rank()); };
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    using Steps = NormKernels<B, T>;
    const TensorRef mean = placed(saved_mean), inv_std = placed(saved_inv_std), scale = placed(params.scale);
    const Temporary memory(ctx, labels.partials.c_str(), means_memory(saved_mean));
    const MeansOfSums means(static_cast<std::byte*>(memory.data()), mean);
    Steps::joined_means(ctx, labels, x, all_but(axis, x.rank()), {sums.data(), sums.extent(0)}, count, scale,
                        means.of_sum);
    Steps::normalize_grad(ctx, labels, x, out_grad, mean, inv_std, scale, means.of_sum, means.of_product, x_grad);
  });
}

}  // namespace impl
}  // namespace portops
