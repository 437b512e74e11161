// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/cascade.hpp"
#include "core/lanes/lanes.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/deform_conv2d/gradient/strips_plan.hpp"
#include "ops/convolution/deform_conv2d/strip_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

// On hosts, the gradient of windows of few products: strip by strip, without columns in memory.

namespace portops::impl {

/// What the kernels of the gradient read of a step, strip by strip.
template <class T>
class StripsGrad {
 public:
  using A = Arithmetic<T>;

  StripsGrad(const StripsPlan& plan, const ImageStep& step, const Tensor4& weight, const Tensor4& out_grad)
      : plan_(plan), step_(step), weight_(weight), out_grad_(out_grad) {}

  const StripsPlan& plan() const { return plan_; }
  const Windows& windows() const { return step_.windows; }

  /// Those of x, or of a tensor that lies as `x` does.
  StripSamples<T> samples() const { return samples(step_.x); }
  StripSamples<T> samples(const Tensor4& x) const {
    return StripSamples<T>(step_.windows, step_.offset, step_.mask, x, Edge::of_gradients);
  }
  /// In an image without gaps, pixel by pixel.
  StripSamples<T> samples_in_plane() const { return samples({nullptr, {0, 0, windows().width, 1}}); }

  void start(StripSamples<T>& samples, std::int64_t strip) const {
    const std::int64_t image = strip / plan_.strips(), first = strip % plan_.strips() * strip_pixels;
    samples.start(image, first, static_cast<int>(std::min<std::int64_t>(strip_pixels, windows().pixels() - first)));
  }

  void read_out_grad(const StripSamples<T>& samples, std::int64_t out_channel, A* to) const {
    samples.read(out_grad_, out_channel, to);
  }

  /// The gradient of a channel of the columns.
  void column_grad(const StripSamples<T>& samples, std::int64_t channel, std::int64_t k, std::int64_t l,
                   A* grads) const {
    const std::int64_t outs = windows().group_out_channels();
    const std::int64_t first = channel / windows().group_channels() * outs;
    std::fill_n(grads, samples.count(), A(0));
    for (std::int64_t m = first; m < first + outs; ++m) {
      A out_grad[strip_pixels];
      read_out_grad(samples, m, out_grad);
      const std::int64_t at = weight_.offset(m, channel % windows().group_channels(), k, l);
      const A weight = static_cast<A>(static_cast<const T*>(weight_.data)[at]);
      for (int j = 0; j < samples.count(); ++j) grads[j] = std::fma(weight, out_grad[j], grads[j]);
    }
  }

 private:
  StripsPlan plan_;
  ImageStep step_;
  Tensor4 weight_, out_grad_;
};

/// The gradients of offset and mask, and the sums of weight_grad over each chunk of strips. An item a chunk and a
/// deformable group. What is not wanted is null.
template <class T>
class StripsProducts {
 public:
  using A = Arithmetic<T>;
  using Pixels = typename StripSamples<T>::Pixels;
  static constexpr int blocks = 0;

  StripsProducts(const StripsGrad<T>& grad, const Tensor4& offset_grad, const Tensor4& mask_grad, A* weight_sums)
      : grad_(grad), offset_grad_(offset_grad), mask_grad_(mask_grad), weight_sums_(weight_sums) {}

  std::int64_t items() const { return grad_.plan().chunks() * grad_.windows().deformable_groups; }

  void operator()(std::int64_t item) const {
    const Windows& windows = grad_.windows();
    const std::int64_t deformable_group = item % windows.deformable_groups;
    const std::int64_t chunk = item / windows.deformable_groups;
    const std::int64_t first = chunk * grad_.plan().chunk_strips();
    const std::int64_t end = std::min(first + grad_.plan().chunk_strips(), grad_.plan().all_strips());
    A* const sums = weight_sums_ == nullptr ? nullptr : weight_sums_ + chunk * grad_.plan().weights();
    StripSamples<T> samples = grad_.samples();
    for (std::int64_t strip = first; strip < end; ++strip) {
      grad_.start(samples, strip);
      for (std::int64_t k = 0; k < windows.kernel_height; ++k) {
        for (std::int64_t l = 0; l < windows.kernel_width; ++l) {
          samples.find(deformable_group, k, l);
          take(samples, deformable_group, k, l, sums, strip == first);
        }
      }
    }
  }

 private:
  bool wants_products() const { return offset_grad_.data != nullptr || mask_grad_.data != nullptr; }

  void take(const StripSamples<T>& samples, std::int64_t deformable_group, std::int64_t k, std::int64_t l, A* sums,
            bool is_first) const {
    const Windows& windows = grad_.windows();
    Pixels products = {};
    const std::int64_t channel = deformable_group * windows.deformable_channels();
    for (std::int64_t c = channel; c < channel + windows.deformable_channels(); ++c) {
      Pixels pixels;
      samples.gather(pixels, c);
      if (wants_products()) {
        A grads[strip_pixels];
        grad_.column_grad(samples, c, k, l, grads);
        for (int corner = 0; corner < corners; ++corner) {
          add_products(products[corner], grads, pixels[corner], samples.count());
        }
      }
      if (sums != nullptr) add_to_weight_grad(samples, c, k * windows.kernel_width + l, pixels, sums, is_first);
    }
    const std::int64_t sample = deformable_group * windows.taps() + k * windows.kernel_width + l;
    if (wants_products()) write_products(samples, sample, products);
  }

  static void add_products(A* __restrict sums, const A* __restrict a, const A* __restrict b, int count) {
    for (int j = 0; j < count; ++j) sums[j] = std::fma(a[j], b[j], sums[j]);
  }

  void add_to_weight_grad(const StripSamples<T>& samples, std::int64_t channel, std::int64_t tap, const Pixels& pixels,
                          A* sums, bool is_first) const {
    const Windows& windows = grad_.windows();
    A values[strip_pixels];
    samples.blend(values, pixels);
    const std::int64_t first = channel / windows.group_channels() * windows.group_out_channels();
    for (std::int64_t m = first; m < first + windows.group_out_channels(); ++m) {
      A out_grad[strip_pixels];
      grad_.read_out_grad(samples, m, out_grad);
      const A product = inner_product(out_grad, values, samples.count());
      A& sum = sums[(m * windows.group_channels() + channel % windows.group_channels()) * windows.taps() + tap];
      sum = is_first ? product : sum + product;
    }
  }

  /// A few chains side by side, and a tree.
  static A inner_product(const A* a, const A* b, int count) {
    constexpr int lanes = 16;
    A sum[lanes] = {};
    int j = 0;
    for (; j + lanes <= count; j += lanes) {
      PORTOPS_NO_UNROLL
      for (int i = 0; i < lanes; ++i) sum[i] = std::fma(a[j + i], b[j + i], sum[i]);
    }
    for (int i = 0; j + i < count; ++i) sum[i] = std::fma(a[j + i], b[j + i], sum[i]);
    return sum_of(sum);
  }

  /// From the products at the corners to what follows from them, as SampleGrad has it.
  void write_products(const StripSamples<T>& samples, std::int64_t sample, const Pixels& products) const {
    A v_grad[strip_pixels], u_grad[strip_pixels], mask_grad[strip_pixels];
    for (int j = 0; j < samples.count(); ++j) {
      const std::int32_t edges = samples.edges()[j];
      const bool above = (edges & StripSamples<T>::above) != 0, below = (edges & StripSamples<T>::below) != 0;
      const bool left = (edges & StripSamples<T>::left) != 0, right = (edges & StripSamples<T>::right) != 0;
      const A product[corners] = {above & left ? products[0][j] : A(0), above & right ? products[1][j] : A(0),
                                  below & left ? products[2][j] : A(0), below & right ? products[3][j] : A(0)};
      const A down = samples.down()[j], across = samples.across()[j], up = A(1) - down, back = A(1) - across;
      const A nothing = samples.nothing()[j], factor = samples.factor()[j];
      const A v = back * (product[2] - product[0]) + across * (product[3] - product[1]);
      const A u = up * (product[1] - product[0]) + down * (product[3] - product[2]);
      v_grad[j] = factor * (v + nothing);
      u_grad[j] = factor * (u + nothing);
      A sum = std::fma(up * back, product[0], nothing);
      sum = std::fma(up * across, product[1], sum);
      sum = std::fma(down * back, product[2], sum);
      mask_grad[j] = std::fma(down * across, product[3], sum);
    }
    if (offset_grad_.data != nullptr) {
      samples.write(offset_grad_, 2 * sample, v_grad);
      samples.write(offset_grad_, 2 * sample + 1, u_grad);
    }
    if (mask_grad_.data != nullptr) samples.write(mask_grad_, sample, mask_grad);
  }

  StripsGrad<T> grad_;
  Tensor4 offset_grad_, mask_grad_;
  A* weight_sums_;
};

/// Adds up the sums over chunks, by a tree, and rounds once. An item an element of the weight.
template <class T>
class StripsWeightGrad {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  StripsWeightGrad(const StripsPlan& plan, const A* sums, const Tensor4& weight_grad)
      : plan_(plan), sums_(sums), weight_grad_(weight_grad) {}

  std::int64_t items() const { return plan_.weights(); }

  void operator()(std::int64_t item) const {
    A sum[Cascade::most_levels] = {};
    const auto add = [&sum](int level, int to, bool is_first) {
      sum[to] = is_first ? sum[level] : sum[to] + sum[level];
    };
    for (std::int64_t chunk = 0; chunk < plan_.chunks(); ++chunk) {
      const A term = sums_[chunk * plan_.weights() + item];
      sum[0] = Cascade::begins(chunk) ? term : sum[0] + term;
      Cascade::carry(chunk + 1, add);
    }
    const Windows& windows = plan_.windows;
    const std::int64_t tap = item % windows.taps(), line = item / windows.taps();
    const std::int64_t at = weight_grad_.offset(line / windows.group_channels(), line % windows.group_channels(),
                                                tap / windows.kernel_width, tap % windows.kernel_width);
    static_cast<T*>(weight_grad_.data)[at] = static_cast<T>(sum[Cascade::finish(plan_.chunks(), add)]);
  }

 private:
  StripsPlan plan_;
  const A* sums_;
  Tensor4 weight_grad_;
};

}  // namespace portops::impl
