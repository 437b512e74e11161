// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "undistort.hpp"

#include "common/picture_tensor.hpp"
#include "common/timing.hpp"
#include "common/transfer.hpp"

#include <portops/ops/deform_conv2d.hpp>

#include <algorithm>

namespace portops::apps {

namespace {

constexpr std::int64_t channels = 3;

/// Rows, columns, channels as images, channels, rows, columns: the pixels stay where they lie.
TensorRef image_of(const Tensor& pixels) {
  const TensorRef& ref = pixels.ref();
  const std::int64_t height = ref.extent(0);
  const std::int64_t width = ref.extent(1);
  return {pixels.data<float>(),
          {1, channels, height, width},
          {height * width * channels, 1, width * channels, channels},
          ref.space()};
}

Tensor ones(const Extents& extents) {
  Tensor tensor(ElementType::f32, extents);
  std::fill_n(tensor.data<float>(), extents.product(), 1.0f);
  return tensor;
}

}  // namespace

UndistortResult undistort(const Context& ctx, const Picture& picture, const Tensor& offsets, int repeats) {
  const Extents extents{picture.height, picture.width, channels};
  const Tensor x = to_backend(ctx, light_of(picture, ElementType::f32, extents));
  const Tensor offset = to_backend(ctx, offsets);
  const Tensor weight = to_backend(ctx, ones({channels, 1, 1, 1}));
  const Tensor out(ElementType::f32, extents, default_memory_space(ctx.backend()));
  DeformConv2dParams params;
  params.groups = channels;

  UndistortResult result;
  result.seconds_per_call =
      seconds_per_call(ctx, repeats, [&] { deform_conv2d(ctx, image_of(x), offset, weight, image_of(out), params); });
  result.picture = picture_of(to_host(ctx, out), picture.width, picture.height);
  return result;
}

}  // namespace portops::apps
