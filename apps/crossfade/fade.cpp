// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fade.hpp"

#include "common/element_cast.hpp"
#include "common/picture_tensor.hpp"
#include "common/timing.hpp"
#include "common/transfer.hpp"

#include <portops/core/tensor.hpp>
#include <portops/ops/lerp.hpp>

#include <algorithm>
#include <vector>

namespace portops::apps {

namespace {

Tensor tensor_of(const std::vector<double>& values, ElementType type, const Extents& extents) {
  Tensor tensor(type, extents);
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(values.begin(), values.end(), tensor.data<T>(), element_cast<T, double>);
  });
  return tensor;
}

/// From 0 to 1, level in the outer sixths and at its steepest in the middle.
std::vector<double> smooth_ramp(std::int64_t width) {
  std::vector<double> weights;
  for (std::int64_t column = 0; column < width; ++column) {
    const double position = (static_cast<double>(column) + 0.5) / static_cast<double>(width);
    const double t = std::clamp((position - 1.0 / 6.0) * 1.5, 0.0, 1.0);
    weights.push_back(t * t * (3.0 - 2.0 * t));
  }
  return weights;
}

std::vector<double> steps(int count) {
  std::vector<double> weights;
  for (int i = 0; i < count; ++i) weights.push_back(static_cast<double>(i) / (count - 1));
  return weights;
}

std::int64_t bytes_of(const TensorRef& tensor) {
  return tensor.size() * static_cast<std::int64_t>(size_of(tensor.type()));
}

}  // namespace

FadeResult cross_fade(const Context& ctx, const Picture& a, const Picture& b, const FadeOptions& options) {
  // Rows, columns, channels. A strip of frames has one more axis, along which the pictures are broadcast.
  const std::int64_t frames = options.frames.value_or(1);
  const Extents extents = options.frames ? Extents{a.height, 1, a.width, 3} : Extents{a.height, a.width, 3};
  const Extents out_extents = options.frames ? Extents{a.height, frames, a.width, 3} : extents;

  const Tensor x = to_backend(ctx, light_of(a, options.type, extents));
  const Tensor y = to_backend(ctx, light_of(b, options.type, extents));
  const Tensor out(options.type, out_extents, default_memory_space(ctx.backend()));
  std::int64_t bytes = bytes_of(x) + bytes_of(y) + bytes_of(out);

  Tensor weights;  // owns what `weight` refers to
  TensorOrNumber weight = options.weight.value_or(0.0);
  if (!options.weight) {
    // A weight a column serves all rows and channels: it is broadcast, not repeated.
    const std::vector<double> values = options.frames ? steps(*options.frames) : smooth_ramp(a.width);
    const Extents weight_extents = options.frames ? Extents{frames, 1, 1} : Extents{1, a.width, 1};
    weights = to_backend(ctx, tensor_of(values, options.type, weight_extents));
    weight = weights.ref();
    bytes += bytes_of(weights);
  }

  FadeResult result;
  result.seconds_per_call = seconds_per_call(ctx, options.repeats, [&] { lerp(ctx, x, y, weight, out); });
  result.picture = picture_of(to_host(ctx, out), a.width * frames, a.height);
  result.bytes_per_call = bytes;
  return result;
}

}  // namespace portops::apps
