// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/deform_conv2d/gradient/strips_grad.hpp"

#include <algorithm>
#include <cstdint>

// x_grad of windows of few products on hosts. Threads own bands of its rows, and add in the order of the strips.

namespace portops::impl {

/// Finds what pixels a strip's samples reach, so that bands know which strips concern them. An item a strip.
template <class T>
class FindReach {
 public:
  static constexpr int blocks = 0;

  FindReach(const StripsGrad<T>& grad, StripReach* reach) : grad_(grad), reach_(reach) {}

  std::int64_t items() const { return grad_.plan().all_strips(); }

  void operator()(std::int64_t strip) const {
    const Windows& windows = grad_.windows();
    StripSamples<T> samples = grad_.samples_in_plane();
    grad_.start(samples, strip);
    StripReach* to = reach_ + strip * windows.samples();
    for (std::int64_t deformable_group = 0; deformable_group < windows.deformable_groups; ++deformable_group) {
      for (std::int64_t tap = 0; tap < windows.taps(); ++tap) {
        samples.find(deformable_group, tap / windows.kernel_width, tap % windows.kernel_width);
        *to++ = reach(samples);
      }
    }
  }

 private:
  static StripReach reach(const StripSamples<T>& samples) {
    std::int32_t first = INT32_MAX, last = -1;
    for (int j = 0; j < samples.count(); ++j) {
      const bool is_inside = samples.edges()[j] != 0;
      first = std::min(first, is_inside ? samples.offset(0)[j] : INT32_MAX);
      last = std::max(last, is_inside ? samples.offset(corners - 1)[j] : -1);
    }
    return {first, last};
  }

  StripsGrad<T> grad_;
  StripReach* reach_;
};

/// An item an image, a block of channels and a band of rows.
template <class T>
class StripsXGrad {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  /// `sums` has room for a step of x without gaps.
  StripsXGrad(const StripsGrad<T>& grad, const StripReach* reach, A* sums, const Tensor4& x_grad)
      : grad_(grad), reach_(reach), sums_(sums), x_grad_(x_grad) {}

  std::int64_t items() const { return grad_.windows().images * grad_.plan().channel_blocks() * grad_.plan().bands(); }

  void operator()(std::int64_t item) const {
    const Block block = block_of(item);
    const Windows& windows = grad_.windows();
    for (std::int64_t c = block.channel; c < block.end_channel; ++c) {
      std::fill(plane(block, c) + block.first, plane(block, c) + block.end, A(0));
    }
    StripSamples<T> samples = grad_.samples_in_plane();
    for (std::int64_t i = 0; i < grad_.plan().strips(); ++i) {
      const std::int64_t strip = block.image * grad_.plan().strips() + i;
      const StripReach* const reach = reach_ + strip * windows.samples() + block.deformable_group * windows.taps();
      bool is_started = false;
      for (std::int64_t tap = 0; tap < windows.taps(); ++tap) {
        if (reach[tap].last < block.first || reach[tap].first >= block.end) continue;
        if (!is_started) grad_.start(samples, strip);
        is_started = true;
        add(samples, block, tap);
      }
    }
    for (std::int64_t c = block.channel; c < block.end_channel; ++c) write(block, c);
  }

 private:
  struct Block {
    std::int64_t image, deformable_group;
    std::int64_t channel, end_channel;
    std::int64_t first, end;  ///< the band's pixels of a plane
  };

  Block block_of(std::int64_t item) const {
    const StripsPlan& plan = grad_.plan();
    const Windows& windows = grad_.windows();
    const std::int64_t band = item % plan.bands(), block = item / plan.bands() % plan.channel_blocks();
    const std::int64_t blocks = plan.channel_blocks() / windows.deformable_groups;
    const std::int64_t group = block / blocks, end_of_group = (group + 1) * windows.deformable_channels();
    const std::int64_t channel = group * windows.deformable_channels() + block % blocks * plan.block_channels();
    return {item / plan.bands() / plan.channel_blocks(),
            group,
            channel,
            std::min(channel + plan.block_channels(), end_of_group),
            band * plan.band_rows() * windows.width,
            std::min((band + 1) * plan.band_rows(), windows.height) * windows.width};
  }

  A* plane(const Block& block, std::int64_t channel) const {
    const Windows& windows = grad_.windows();
    return sums_ + (block.image * windows.channels + channel) * windows.area();
  }

  /// Adds what the band has of the samples at a tap.
  void add(StripSamples<T>& samples, const Block& block, std::int64_t tap) const {
    const Windows& windows = grad_.windows();
    const std::int64_t k = tap / windows.kernel_width, l = tap % windows.kernel_width;
    samples.find(block.deformable_group, k, l);
    constexpr std::int32_t elsewhere = -1;
    std::int32_t place[corners][strip_pixels];
    const auto first = static_cast<std::int32_t>(block.first), end = static_cast<std::int32_t>(block.end);
    for (int corner = 0; corner < corners; ++corner) {
      const std::int32_t needed = (corner < 2 ? StripSamples<T>::above : StripSamples<T>::below) |
                                  (corner % 2 == 0 ? StripSamples<T>::left : StripSamples<T>::right);
      for (int j = 0; j < samples.count(); ++j) {
        const std::int32_t at = samples.offset(corner)[j];
        const bool is_own = ((samples.edges()[j] & needed) == needed) & (at >= first) & (at < end);
        place[corner][j] = is_own ? at : elsewhere;
      }
    }
    for (std::int64_t c = block.channel; c < block.end_channel; ++c) {
      A grads[strip_pixels], share[corners][strip_pixels];
      grad_.column_grad(samples, c, k, l, grads);
      for (int corner = 0; corner < corners; ++corner) {
        for (int j = 0; j < samples.count(); ++j) share[corner][j] = samples.weight(corner)[j] * grads[j];
      }
      A* const sums = plane(block, c);
      for (int j = 0; j < samples.count(); ++j) {
        for (int corner = 0; corner < corners; ++corner) {
          if (place[corner][j] != elsewhere) sums[place[corner][j]] += share[corner][j];
        }
      }
    }
  }

  /// Rounds once.
  void write(const Block& block, std::int64_t channel) const {
    const std::int64_t width = grad_.windows().width;
    for (std::int64_t y = block.first / width; y < block.end / width; ++y) {
      const A* const from = plane(block, channel) + y * width;
      T* const to = static_cast<T*>(x_grad_.data) + x_grad_.offset(block.image, channel, y, 0);
      if (x_grad_.stride[3] == 1) {
        blas::convert_run(to, from, static_cast<int>(width));
      } else {
        for (std::int64_t x = 0; x < width; ++x) to[x * x_grad_.stride[3]] = static_cast<T>(from[x]);
      }
    }
  }

  StripsGrad<T> grad_;
  const StripReach* reach_;
  A* sums_;
  Tensor4 x_grad_;
};

}  // namespace portops::impl
