// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/strip.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On hosts: the pixels of x that a strip reads at one tap, row by row of `out`, in each of which they lie at one
/// distance.
template <class T>
class WholeStrip : public Strip<T> {
 public:
  using typename Strip<T>::A;

  explicit WholeStrip(const ImageStep& step) : Strip<T>(step.windows), x_(step.x) {}

  void find(std::int64_t /*deformable_group*/, std::int64_t k, std::int64_t l) {
    tap_y_ = k * windows_.dilation_y - windows_.top;
    tap_x_ = l * windows_.dilation_x - windows_.left;
  }

  void blend(A* values, std::int64_t channel) const {
    this->for_rows([&](int at, std::int64_t i, std::int64_t j, int pixels) {
      const std::int64_t y = i * windows_.stride_y + tap_y_, x = j * windows_.stride_x + tap_x_;
      // Pixels [begin, end) of the row exist in x.
      const auto before = [&](std::int64_t edge) {
        return std::clamp<std::int64_t>(edge <= 0 ? 0 : (edge - 1) / windows_.stride_x + 1, 0, pixels);
      };
      const bool has_row = y >= 0 && y < windows_.height;
      const auto begin = static_cast<int>(has_row ? before(-x) : 0);
      const auto end = static_cast<int>(has_row ? std::max<std::int64_t>(before(windows_.width - x), begin) : 0);
      std::fill_n(values + at, begin, A(0));
      std::fill_n(values + at + end, pixels - end, A(0));
      if (begin == end) return;
      const std::int64_t distance = windows_.stride_x * x_.stride[3];
      const T* const from = static_cast<const T*>(x_.data) + x_.offset(image_, channel, y, x) + begin * distance;
      A* const to = values + at + begin;
      if (distance == 1) return blas::convert_run(to, from, end - begin);
      for (int k = 0; k < end - begin; ++k) to[k] = static_cast<A>(from[k * distance]);
    });
  }

 private:
  using Strip<T>::windows_, Strip<T>::image_;

  Tensor4 x_;
  std::int64_t tap_y_ = 0, tap_x_ = 0;  ///< where the tap lies in the window of pixel (0, 0)
};

}  // namespace portops::impl
