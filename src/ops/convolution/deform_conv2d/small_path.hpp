// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_tensors.hpp"

#include <cstddef>
#include <cstdint>

// The result on GPUs in one kernel, without a copy and without a workspace: for small calls.

namespace portops::impl {

/// How a small call is shared out to teams.
struct SmallForm {
  int pixels;         ///< of a team: 4, 6 or 8
  std::int64_t outs;  ///< output channels of a team, a group's or fewer

  /// That with the least time by a model, and this time, in µs.
  static SmallForm of(const Windows& windows);
  double microseconds(const Windows& windows) const;

  std::int64_t parts(const Windows& windows) const;  ///< of a group's output channels
  std::int64_t teams(const Windows& windows) const;
  /// What a team has in its scratch: columns, so many elements from one pixel's to the next one's; samples; and sums.
  std::int64_t pitch(const Windows& windows) const;
  std::int64_t samples(const Windows& windows) const;
  std::size_t scratch_bytes(const Windows& windows) const;
  static constexpr std::size_t sample_bytes = 40, bytes_of_sums = 2048;
};

/// Whether the elements of an output channel's window lie in the weight without gaps, tap by tap with channels
/// fastest, and channel by channel with taps fastest.
bool is_dense_by_taps(const Windows& windows, const Tensor4& weight);
bool is_dense_by_channels(const Windows& windows, const Tensor4& weight);

/// Whether it takes the call.
bool suits_small(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

/// Needs an out that has elements.
void deform_conv2d_small(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
