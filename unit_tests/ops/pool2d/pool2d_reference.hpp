// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/reference_sums.hpp"

#include <portops/ops/pool2d.hpp>

#include <algorithm>
#include <limits>
#include <vector>

// The windows of pool2d, worked out plainly, and images that lie in either order.

namespace portops::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The windows along one axis, as the page has them: the pixels of each, and their number where padding counts.
struct Windows {
  struct Window {
    std::int64_t begin, end, padded;
  };
  std::vector<Window> all;

  Windows(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t before, std::int64_t after,
          bool ceil_mode) {
    for (std::int64_t first = -before; extent > 0; first += stride) {
      const bool fits = first + kernel <= extent + after;
      const bool reaches_beyond = ceil_mode && first < extent && first - stride + kernel < extent + after;
      if (!fits && !reaches_beyond) break;
      const std::int64_t end = first + kernel;
      all.push_back({std::max<std::int64_t>(first, 0), std::min(end, extent), std::min(end, extent + after) - first});
    }
  }
};

struct Geometry {
  Windows down, across;
  Extents out;

  Geometry(const Extents& x, const Pool2dParams& params)
      : down(windows(x, params, 0)),
        across(windows(x, params, 1)),
        out{x[0], x[1], static_cast<std::int64_t>(down.all.size()), static_cast<std::int64_t>(across.all.size())} {}

  static Windows windows(const Extents& x, const Pool2dParams& params, std::size_t axis) {
    const std::int64_t extent = x[2 + static_cast<int>(axis)];
    if (params.global_pooling) return {extent, std::max<std::int64_t>(extent, 1), 1, 0, 0, false};
    const auto of = [axis](const std::vector<std::int64_t>& numbers) { return numbers[numbers.size() > 1 ? axis : 0]; };
    const auto& stride = params.stride.empty() ? params.kernel_size : params.stride;
    const std::int64_t after = params.padding.size() == 4 ? params.padding[axis + 2] : of(params.padding);
    return {extent, of(params.kernel_size), of(stride), of(params.padding), after, params.ceil_mode};
  }
};

/// A tensor of images whose elements are counted in the order of [N, C, H, W], however they lie.
template <class T>
struct Images {
  Images(const Context& ctx, const Extents& extents, Layout layout, bool its_channels_last)
      : tensor(ctx, its_channels_last ? Extents{extents[0], extents[2], extents[3], extents[1]} : extents, layout),
        channels_last(its_channels_last),
        channels(extents[1]),
        pixels(extents[2] * extents[3]) {}

  std::int64_t at(std::int64_t i) const {
    if (!channels_last) return i;
    const std::int64_t pixel = i % pixels, channel = i / pixels % channels, image = i / pixels / channels;
    return (image * pixels + pixel) * channels + channel;
  }
  std::int64_t back(std::int64_t i) const {
    if (!channels_last) return i;
    const std::int64_t channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
    return (image * channels + channel) * pixels + pixel;
  }
  template <class Value>
  void fill(Value&& value) {
    tensor.fill([&](std::int64_t i) { return value(back(i)); });
  }
  double operator[](std::int64_t i) const { return tensor[at(i)]; }
  T element(std::int64_t i) const { return tensor.element(at(i)); }
  TensorRef ref() const {
    const TensorRef& its = tensor.ref();
    if (!channels_last) return its;
    const auto turned = [](const Extents& of) { return Extents{of[0], of[3], of[1], of[2]}; };
    return {its.data(), its.type(), turned(its.extents()), turned(its.strides()), its.space()};
  }
  /// In the order of the tensor.
  ReferenceSums ordered(const ReferenceSums& sums) const {
    ReferenceSums result(tensor.extents());
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      result.value[static_cast<std::size_t>(at(i))] = sums.value[static_cast<std::size_t>(i)];
      result.magnitude[static_cast<std::size_t>(at(i))] = sums.magnitude[static_cast<std::size_t>(i)];
    }
    return result;
  }

  TestTensor<T> tensor;
  bool channels_last;
  std::int64_t channels, pixels;
};

/// Windows of all kinds.
inline std::vector<Pool2dParams> all_params() {
  std::vector<Pool2dParams> all;
  for (const char* type : {"max", "avg"}) {
    const auto add = [&](std::vector<std::int64_t> kernel_size, std::vector<std::int64_t> stride,
                         std::vector<std::int64_t> padding) {
      for (const bool ceil_mode : {false, true}) {
        for (const bool exclusive : {true, false}) {
          if (!exclusive && type[0] == 'm') continue;
          Pool2dParams params;
          params.kernel_size = kernel_size;
          params.stride = stride;
          params.padding = padding;
          params.ceil_mode = ceil_mode;
          params.exclusive = exclusive;
          params.pooltype = type;
          all.push_back(params);
        }
      }
    };
    add({1}, {}, {0});
    add({2, 2}, {}, {0, 0});
    add({2}, {1}, {1});
    add({3, 3}, {2, 2}, {1, 1});
    add({3}, {1}, {0});
    add({3}, {4}, {1});
    add({2, 3}, {3, 1}, {1, 0});
    add({5, 4}, {2, 3}, {1, 2, 2, 0});
    add({7, 2}, {1, 2}, {3, 1});
  }
  return all;
}

/// Of whole images.
inline Pool2dParams global(const char* type) {
  Pool2dParams params;
  params.pooltype = type;
  params.global_pooling = true;
  return params;
}

}  // namespace portops::test
