// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/picture.hpp"

#include <portops/core/context.hpp>
#include <portops/core/tensor.hpp>

namespace portops::apps {

struct UndistortResult {
  Picture picture;
  double seconds_per_call = 0.0;
};

/// Moves the pixels by portops::deform_conv2d: a window of one tap and weight 1, which reads the light of each channel
/// at the pixel's offset, between pixels bilinearly. Outside of the picture it is dark. `offsets` lie in host memory.
/// The time is that of `repeats` calls, enqueued one after the other once a first call has warmed everything up.
UndistortResult undistort(const Context& ctx, const Picture& picture, const Tensor& offsets, int repeats);

}  // namespace portops::apps
