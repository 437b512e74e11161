// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/few_channels/convolve_from_few.hpp"
#include "ops/convolution/conv2d/few_channels/convolve_to_few.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels_kernels.hpp"
#include "ops/convolution/conv2d/few_channels/from_few_weight_grad.hpp"
#include "ops/convolution/pixels_weight_grad.hpp"

namespace portops::impl {

template <Backend B, class T>
void FewChannelsKernels<B, T>::convolve(const Context& ctx, const std::string& label, const DepthwiseCall& call) {
  if constexpr (B == Backend::cuda) {
    with_depthwise_window(call.windows, [&]<int K>() {
      const auto launch = [&]<bool last>() {
        const ConvolveToFew<B, T, K, last> kernel(call);
        launch_all_teams<B>(ctx, label, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
      };
      if (call.from.stride[1] == 1) return launch.template operator()<true>();
      launch.template operator()<false>();
    });
  }
}

template <Backend B, class T>
void FewChannelsKernels<B, T>::convolve_from(const Context& ctx, const std::string& label, const FromFewPlan& plan,
                                             const Tensor4& x, const Tensor4& weight, const ConvolutionOut& to) {
  if constexpr (B == Backend::cuda) launch_by_teams<B>(ctx, label, ConvolveFromFew<B, T>(plan, x, weight, to));
}

template <Backend B, class T>
void FewChannelsKernels<B, T>::weight_grad(const Context& ctx, const std::string& label, const std::string& join_label,
                                           const FromFewPlan& plan, const FewChannelsWeightGrad& call) {
  if constexpr (B == Backend::cuda) {
    auto* const sums = static_cast<Arithmetic<T>*>(call.sums);
    launch_by_teams<B>(ctx, label, FromFewWeightGrad<B, T>(plan, call.x, call.out_grad, sums));
    launch_by_teams<B>(ctx, join_label,
                       JoinPixelsWeightGrad<B, T>(plan.windows, plan.chunks(), sums, call.weight_grad));
  }
}

}  // namespace portops::impl
