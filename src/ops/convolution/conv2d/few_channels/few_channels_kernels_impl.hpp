// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/few_channels/convolve_to_few.hpp"
#include "ops/convolution/conv2d/few_channels/few_channels_kernels.hpp"

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

}  // namespace portops::impl
