// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/strip.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace portops::impl {

/// On hosts, for windows of few products: out = bias + weight · columns, an item a strip of an image and some groups.
/// A channel of the strip's samples is multiplied by the weights of its output channels as soon as it is there.
template <class T, class Samples>
class ConvolveStrips {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ConvolveStrips(const ImageStep& step, const Tensor4& weight, const Tensor4& out, const T* bias,
                 std::int64_t bias_stride)
      : step_(step), weight_(weight), out_(out), bias_(bias), bias_stride_(bias_stride) {
    item_groups_ = std::max<std::int64_t>(1, most_sums / step.windows.group_out_channels());
  }

  std::int64_t items() const { return step_.windows.images * strips() * group_blocks(); }

  void operator()(std::int64_t item) const {
    const Windows& windows = step_.windows;
    const std::int64_t group = item % group_blocks() * item_groups_;
    const std::int64_t groups = std::min(item_groups_, windows.groups - group);
    const std::int64_t first = item / group_blocks() % strips() * pixels;
    const int count = static_cast<int>(std::min<std::int64_t>(pixels, windows.pixels() - first));
    Samples samples(step_);
    samples.start(item / group_blocks() / strips(), first, count);
    A sums[most_sums][pixels];
    for (std::int64_t m = 0; m < groups * windows.group_out_channels(); ++m) std::fill_n(sums[m], count, A(0));
    for (std::int64_t k = 0; k < windows.kernel_height; ++k) {
      for (std::int64_t l = 0; l < windows.kernel_width; ++l) add_tap(samples, sums, group, groups, k, l, count);
    }
    write(samples, sums, group, groups);
  }

 private:
  static constexpr int pixels = strip_pixels;
  static constexpr int most_sums = strip_sums;

  std::int64_t strips() const { return ceil_div(step_.windows.pixels(), pixels); }
  std::int64_t group_blocks() const { return ceil_div(step_.windows.groups, item_groups_); }

  /// Adds the products of a tap to the sums of the groups' output channels.
  void add_tap(Samples& samples, A (&sums)[most_sums][pixels], std::int64_t group, std::int64_t groups, std::int64_t k,
               std::int64_t l, int count) const {
    const Windows& windows = step_.windows;
    const std::int64_t first_out = group * windows.group_out_channels();
    std::int64_t found = -1;  // the deformable group whose samples are there
    for (std::int64_t c = group * windows.group_channels(); c < (group + groups) * windows.group_channels(); ++c) {
      const std::int64_t deformable_group = c / windows.deformable_channels();
      if (deformable_group != found) samples.find(deformable_group, k, l);
      found = deformable_group;
      A values[pixels];
      samples.blend(values, c);
      const std::int64_t out = c / windows.group_channels() * windows.group_out_channels();
      for (std::int64_t m = out; m < out + windows.group_out_channels(); ++m) {
        const T weight = static_cast<const T*>(weight_.data)[weight_.offset(m, c % windows.group_channels(), k, l)];
        add_products(sums[m - first_out], static_cast<A>(weight), values, count);
      }
    }
  }

  static void add_products(A* __restrict sums, A weight, const A* __restrict values, int count) {
    for (int j = 0; j < count; ++j) sums[j] = std::fma(weight, values[j], sums[j]);
  }

  /// Rounds once, with the bias.
  void write(const Samples& samples, A (&sums)[most_sums][pixels], std::int64_t group, std::int64_t groups) const {
    const std::int64_t first_out = group * step_.windows.group_out_channels();
    for (std::int64_t m = 0; m < groups * step_.windows.group_out_channels(); ++m) {
      if (bias_ != nullptr) {
        const A bias = static_cast<A>(bias_[(first_out + m) * bias_stride_]);
        for (int j = 0; j < samples.count(); ++j) sums[m][j] += bias;
      }
      samples.write(out_, first_out + m, sums[m]);
    }
  }

  ImageStep step_;
  Tensor4 weight_, out_;
  const T* bias_;
  std::int64_t bias_stride_;
  std::int64_t item_groups_;
};

}  // namespace portops::impl
