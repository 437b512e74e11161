// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/conv2d/fused/convolve_resident_sm90.hpp"
#include "ops/convolution/conv2d/fused/convolve_whole_sm90.hpp"
#include "ops/convolution/conv2d/fused/whole_samples_sm90.hpp"
#include "ops/convolution/fused/fused_convolve_sm90.hpp"

// The forms of conv2d by copies of windows: see fused_convolve_sm90.hpp. For conv2d_sm90.cu alone.

namespace portops::impl::fused_sm90 {

template <class T, Precision precision, WeightOrder order>
struct WholeForms {
  static constexpr std::size_t most_convolutions = WholeSamples::most_convolutions;
  static constexpr bool packs = order == WeightOrder::packed, turned = order == WeightOrder::out_channels;
  static constexpr bool in_order = precision != Precision::tf32;  ///< of a packed weight

  static int block_threads(const FusedPlan& plan, const Windows& windows) {
    if (plan.is_resident()) return ResidentLayout::threads(ResidentLayout(plan, windows).warpgroups);
    return plan.rows == 256 ? WholeBlock<precision, 256>::all_threads : WholeBlock<precision, 64>::all_threads;
  }

  static int shared_bytes(const FusedPlan& plan, const Windows& windows) {
    if (plan.is_resident()) return ResidentLayout(plan, windows).bytes;
    const bool is_alone = plan.load <= 1;
    if (plan.rows == 256) return WholeBlock<precision, 256>::layout(is_alone).bytes;
    if (plan.rows == 192) return WholeBlock<precision, 192>::layout(is_alone).bytes;
    if (plan.rows == 96) return WholeBlock<precision, 96>::layout(is_alone).bytes;
    if (plan.rows == 128) return WholeBlock<precision, 128>::layout(is_alone).bytes;
    return WholeBlock<precision, 64>::layout(is_alone).bytes;
  }

  template <bool has_part, int most, class Action>
  static auto with_kernel(const FusedPlan& plan, const Action& action) {
    if constexpr (most == 1) {
      if (plan.is_resident()) return with_resident(plan, action);
    }
    if (plan.rows == 256) return action(convolve_whole<T, precision, 256, turned, most>);
    if (plan.rows == 128) return action(convolve_whole<T, precision, 128, turned, most>);
    if constexpr (precision == Precision::tf32) {
      if (plan.rows == 192) return action(convolve_whole<T, precision, 192, turned, most>);
      if (plan.rows == 96) return action(convolve_whole<T, precision, 96, turned, most>);
    }
    return action(convolve_whole<T, precision, 64, turned, most>);
  }

  template <int most>
  static WholeBatch<most> arguments(const FusedBatch<most>& batch, std::span<const FusedConvolution> convolutions) {
    WholeBatch<most> whole{.batch = batch, .is_packed = packs};
    for (std::size_t i = 0; i < convolutions.size(); ++i) {
      const FusedPlan& plan = convolutions[i].plan;
      whole.windows[i] = WindowMap(convolutions[i], plan.is_resident() ? plan.step_bytes() : chunk_bytes);
      if (!packs) whole.weights[i] = WeightMap(convolutions[i], order, plan.rows);
      if (plan.is_resident()) whole.resident = ResidentLayout(plan, convolutions[i].windows);
    }
    return whole;
  }

 private:
  template <class Action>
  static auto with_resident(const FusedPlan& plan, const Action& action) {
    if constexpr (!turned) {
      if (plan.rows == 32) return action(convolve_resident<T, precision, 32, turned>);
    }
    if (plan.rows == 64) return action(convolve_resident<T, precision, 64, turned>);
    return action(convolve_resident<T, precision, 128, turned>);
  }
};

/// Of f32 as terms: resident patches, of one convolution, with 32 or 64 output channels.
template <class T, Precision precision>
struct SplitForms {
  static constexpr std::size_t most_convolutions = 1;
  static constexpr bool packs = true, in_order = false;

  static int block_threads(const FusedPlan& plan, const Windows& windows) {
    return ResidentLayout::threads(ResidentLayout(plan, windows).warpgroups);
  }
  static int shared_bytes(const FusedPlan& plan, const Windows& windows) { return ResidentLayout(plan, windows).bytes; }

  template <bool has_part, int most, class Action>
  static auto with_kernel(const FusedPlan& plan, const Action& action) {
    return plan.rows == 32 ? action(convolve_resident<T, precision, 32, false>)
                           : action(convolve_resident<T, precision, 64, false>);
  }

  template <int most>
  static WholeBatch<most> arguments(const FusedBatch<most>& batch, std::span<const FusedConvolution> convolutions) {
    return WholeForms<T, precision, WeightOrder::packed>::arguments(batch, convolutions);
  }
};

}  // namespace portops::impl::fused_sm90
