// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "deform_conv2d_reference.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace portops::test {

/// A tensor of four axes anywhere in a piece of memory. What lies between its elements is NaN, and must stay so.
template <class T>
class StridedTensor {
 public:
  StridedTensor(const Context& ctx, const Extents& extents, const Extents& strides, std::int64_t first)
      : extents_(extents), strides_(strides), first_(first) {
    std::int64_t last = first;
    for (int axis = 0; axis < 4; ++axis) last += (extents[axis] - 1) * strides[axis];
    elements_.assign(static_cast<std::size_t>(last + 9), std::numeric_limits<double>::quiet_NaN());
    storage_ = TestTensor<T>(ctx, {last + 9});
    upload();
  }
  /// Axis 1 fastest, its runs so far apart.
  static StridedTensor channels_last(const Context& ctx, const Extents& e, std::int64_t apart, std::int64_t first) {
    return StridedTensor(ctx, e, {e[2] * e[3] * apart, 1, e[3] * apart, apart}, first);
  }
  /// Some of so many channels.
  static StridedTensor channels_of(const Context& ctx, const Extents& e, std::int64_t all, std::int64_t first) {
    return StridedTensor(ctx, e, {e[2] * e[3] * all, e[2] * e[3], e[3], 1}, first);
  }

  void fill(const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) elements_[at(i)] = values[i];
    upload();
  }
  std::vector<double> download() {
    storage_.download();
    std::vector<double> values(static_cast<std::size_t>(extents_.product()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = storage_[static_cast<std::int64_t>(at(i))];
      elements_[at(i)] = 0.0;
    }
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      EXPECT_TRUE(elements_[i] == 0.0 || std::isnan(storage_[static_cast<std::int64_t>(i)])) << "between elements";
    }
    return values;
  }
  TensorRef ref() const {
    return {static_cast<T*>(storage_.ref().data()) + first_, extents_, strides_, storage_.ref().space()};
  }

 private:
  std::size_t at(std::size_t index) const {
    auto rest = static_cast<std::int64_t>(index);
    std::int64_t position = first_;
    for (int axis = 3; axis >= 0; --axis) {
      position += rest % extents_[axis] * strides_[axis];
      rest /= extents_[axis];
    }
    return static_cast<std::size_t>(position);
  }
  void upload() {
    storage_.fill([&](std::int64_t i) { return elements_[static_cast<std::size_t>(i)]; });
  }

  Extents extents_, strides_;
  std::int64_t first_;
  std::vector<double> elements_;
  TestTensor<T> storage_;
};

/// Calls check(case, lie) for convolutions of so many channels, groups and gaps between pixels: lie(name) makes a
/// tensor of that name with its channels last, or of some of more channels.
template <class T, class Check>
void for_channels_last(const Context& ctx, const Check& check) {
  std::vector<DeformConv2dCase> cases;
  for (const std::int64_t channels : {2, 6, 8, 64}) {
    for (const std::int64_t groups : {1, 2}) {
      cases.push_back({.channels = channels, .groups = groups, .deformable_groups = 3 - groups});
    }
  }
  // Output channels that are read in whole words, where they lie so.
  cases.push_back({.channels = 8, .out_channels = 16, .groups = 2});
  cases.push_back({.channels = 8, .out_channels = 8, .groups = 8});
  for (DeformConv2dCase& c : cases) {
    c.height = 4;
    c.width = 5;
    c.kernel = {2, 3};
    for (const std::int64_t gap : {0, 1, 8}) {
      for (const std::int64_t first : {0, 1, 2}) {
        check(c, [&](const std::string& name) {
          const Extents extents = c.extents(name);
          return StridedTensor<T>::channels_last(ctx, extents, extents[1] + gap, first);
        });
      }
      check(c, [&](const std::string& name) {
        const Extents extents = c.extents(name);
        return StridedTensor<T>::channels_of(ctx, extents, extents[1] + gap, gap);
      });
    }
  }
}

}  // namespace portops::test
