// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "common/picture.hpp"

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>

#include <optional>

namespace portops::apps {

/// What the weight is: one number; `frames` weights from 0 to 1, whose pictures stand side by side; or, when neither is
/// given, a smooth ramp from the left edge to the right.
struct FadeOptions {
  ElementType type = ElementType::f32;
  std::optional<double> weight;
  std::optional<int> frames;
  int repeats = 100;
};

struct FadeResult {
  Picture picture;
  double seconds_per_call = 0.0;
  std::int64_t bytes_per_call = 0;  ///< of the tensors that a call reads and writes
};

/// Fades from picture a to picture b, of the same size, by portops::lerp on the light of the pixels: the mean of two
/// sRGB values is darker than the mean of what they look like. The time is that of `repeats` calls, enqueued one after
/// the other once a first call has warmed everything up.
FadeResult cross_fade(const Context& ctx, const Picture& a, const Picture& b, const FadeOptions& options);

}  // namespace portops::apps
