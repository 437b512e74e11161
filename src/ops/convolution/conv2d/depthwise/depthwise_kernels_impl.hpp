// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/depthwise/convolve_depthwise.hpp"
#include "ops/convolution/conv2d/depthwise/convolve_depthwise_tiles.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_kernels.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_tile_weight_grad.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_weight_grad.hpp"
#include "ops/convolution/pixels_weight_grad.hpp"

#include <cstdint>

namespace portops::impl {

/// Whether one access can move two neighbouring channels of each pixel.
template <class T>
bool has_channel_pairs(const DepthwiseCall& call) {
  const auto has_pairs = [](const Tensor4& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) % (2 * sizeof(T)) == 0 && tensor.stride[0] % 2 == 0 &&
           tensor.stride[2] % 2 == 0 && tensor.stride[3] % 2 == 0;
  };
  return call.has_channels_last() && call.windows.channels % 2 == 0 && has_pairs(call.from) && has_pairs(call.to);
}

/// Calls action.operator()<reach>().
template <class Action>
void with_depthwise_reach(const DepthwiseCall& call, const Action& action) {
  switch (call.shared_step()) {
    case 1: return action.template operator()<Reach::neighbours>();
    case 2: return action.template operator()<Reach::every_other>();
    default: return action.template operator()<Reach::strided>();
  }
}

/// Calls action.operator()<K, step, last>() for calls that share what they read.
template <class Action>
void with_depthwise_tiles(const DepthwiseCall& call, const Action& action) {
  with_depthwise_window(call.windows, [&]<int K>() {
    const auto with_step = [&]<int step>() {
      if (call.has_channels_last()) return action.template operator()<K, step, true>();
      action.template operator()<K, step, false>();
    };
    if (call.shared_step() == 1) return with_step.template operator()<1>();
    with_step.template operator()<2>();
  });
}

template <Backend B, class T>
void DepthwiseKernels<B, T>::convolve(const Context& ctx, const std::string& label, const DepthwiseCall& call) {
  if constexpr (B == Backend::cuda) {
    if (call.goes_by_tiles(sizeof(T))) {
      return with_depthwise_tiles(call, [&]<int K, int step, bool last>() {
        if constexpr (DepthwiseCall::prefers_tiles(K, step, last, sizeof(T))) {
          const ConvolveDepthwiseTiles<B, T, K, step, last> kernel(call);
          launch_all_teams<B>(ctx, label, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
        }
      });
    }
    // with_strip.operator()<P>(launch) calls launch.operator()<Strip>() for threads that take P channels.
    const auto launch = [&]<int K>(const auto& with_strip) {
      const auto by_channels = [&]<class Strip>() {
        launch_by_teams<B>(ctx, label, ConvolveDepthwiseChannels<B, T, Strip>(call));
      };
      if (!call.has_channels_last()) {
        return with_strip.template operator()<1>(
            [&]<class Strip>() { launch_by_items<B>(ctx, label, ConvolveDepthwisePlanes<T, Strip>(call)); });
      }
      constexpr int pair = K < 7 ? 2 : 1;  // for more, threads have too few registers
      if (has_channel_pairs<T>(call)) return with_strip.template operator()<pair>(by_channels);
      with_strip.template operator()<1>(by_channels);
    };
    with_depthwise_window(call.windows, [&]<int K>() {
      const auto with_reach = [&]<Reach reach>() {
        launch.template operator()<K>(
            [&]<int P>(const auto& action) { action.template operator()<DepthwiseStrip<T, K, reach, P>>(); });
      };
      if (!call.turned) return with_depthwise_reach(call, with_reach);
      if (!call.has_blocks()) return with_reach.template operator()<Reach::turned>();
      launch.template operator()<K>(
          [&]<int P>(const auto& action) { action.template operator()<DepthwiseBlocks<T, K, P>>(); });
    });
  }
}

template <Backend B, class T>
void DepthwiseKernels<B, T>::weight_grad(const Context& ctx, const std::string& label, const std::string& join_label,
                                         const DepthwiseCall& call, void* sums, const Tensor4& weight_grad,
                                         const Tensor4& bias_grad) {
  if constexpr (B == Backend::cuda) {
    auto* const of_chunks = static_cast<Arithmetic<T>*>(sums);
    if (call.sums_in_tiles()) {
      return with_depthwise_tiles(call, [&]<int K, int step, bool last>() {
        using Kernel = DepthwiseTileWeightGrad<B, T, K, step, last>;
        const DepthwiseWeightGradTiles plan(call, sizeof(T));
        const Kernel kernel(call, plan, of_chunks);
        launch_all_teams<B>(ctx, label, kernel, kernel.teams(), kernel.threads(), kernel.scratch_bytes());
        launch_by_teams<B>(ctx, join_label,
                           JoinDepthwiseWeightGrad<B, T>(call.windows, plan, of_chunks, weight_grad, bias_grad));
      });
    }
    const DepthwiseWeightGradPlan plan(call);
    with_depthwise_window(call.windows, [&]<int K>() {
      with_depthwise_reach(call, [&]<Reach reach>() {
        launch_by_teams<B>(ctx, label, DepthwiseStripsWeightGrad<B, T, K, reach>(call, plan, of_chunks));
      });
    });
    launch_by_teams<B>(ctx, join_label,
                       JoinPixelsWeightGrad<B, T>(call.windows, plan.chunks(), of_chunks, weight_grad));
  }
}

}  // namespace portops::impl
