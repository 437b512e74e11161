// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "core/lanes/pack.hpp"
#include "ops/convolution/image_step.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On hosts: pixels of `out` that follow one another in an image. How kernels find what these sample of x is a
/// parameter of theirs, a class Samples on top of this one:
///
///   Samples(const ImageStep&)
///   find(deformable group, k, l)   turns to the samples at a tap
///   blend(values, channel)         writes a channel of them
template <class T>
class Strip {
 public:
  using A = Arithmetic<T>;

  explicit Strip(const Windows& windows) : windows_(windows) {}

  /// Turns to so many pixels of an image, from `first` on.
  void start(std::int64_t image, std::int64_t first, int count) {
    image_ = image;
    first_ = first;
    count_ = count;
  }

  int count() const { return count_; }

  /// Reads a channel of a tensor that has the extents of `out` but for the channels.
  void read(const Tensor4& tensor, std::int64_t channel, A* to) const {
    for_rows([&](int at, std::int64_t i, std::int64_t j, int pixels) {
      const T* const from = static_cast<const T*>(tensor.data) + tensor.offset(image_, channel, i, j);
      if (tensor.stride[3] == 1) return blas::convert_run(to + at, from, pixels);
      for (int k = 0; k < pixels; ++k) to[at + k] = static_cast<A>(from[k * tensor.stride[3]]);
    });
  }
  /// The same the other way, each element rounded once.
  void write(const Tensor4& tensor, std::int64_t channel, const A* from) const {
    for_rows([&](int at, std::int64_t i, std::int64_t j, int pixels) {
      T* const to = static_cast<T*>(tensor.data) + tensor.offset(image_, channel, i, j);
      if (tensor.stride[3] == 1) return blas::convert_run(to, from + at, pixels);
      for (int k = 0; k < pixels; ++k) to[k * tensor.stride[3]] = static_cast<T>(from[at + k]);
    });
  }

  /// Calls action(at, i, j, pixels) for each piece of the strip in one row of `out`: so many pixels, the first of
  /// which is number `at` of the strip and lies at (i, j).
  template <class Action>
  void for_rows(const Action& action) const {
    std::int64_t i = first_ / windows_.out_width, j = first_ % windows_.out_width;
    for (int at = 0; at < count_; ++i, j = 0) {
      const int pixels = static_cast<int>(std::min<std::int64_t>(count_ - at, windows_.out_width - j));
      action(at, i, j, pixels);
      at += pixels;
    }
  }

 protected:
  Windows windows_;
  std::int64_t image_ = 0, first_ = 0;
  int count_ = 0;
};

}  // namespace portops::impl
