// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "ops/convolution/deform_conv2d/gradient/taps_grad_plan.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <cstdint>

namespace portops::impl {

/// The packs of all pixels of x, as TapsGradPlan has them, and where their channels lie in a tensor like x. Pixels are
/// counted fastest, then packs and images.
class PacksOfPixels {
 public:
  static constexpr int pack = 4;

  PacksOfPixels(const TapsGradPlan& plan, const Windows& w)
      : packs_(static_cast<std::uint32_t>(plan.padded_channels / pack)),
        area_(static_cast<std::uint32_t>(w.area())),
        width_(static_cast<std::uint32_t>(w.width)),
        run_packs_(static_cast<std::uint32_t>(plan.run_packs)),
        run_(static_cast<std::int32_t>(plan.run)),
        count_(w.images * w.area() * plan.padded_channels / pack) {}

  std::int64_t count() const { return count_; }

  struct Place {
    std::int64_t in_packs;  ///< where the pack begins among all packs
    std::int32_t image, channel, y, x;
    std::int32_t channels;  ///< of the pack that exist
  };

  KOKKOS_FUNCTION Place operator()(std::int64_t index) const {
    const auto narrow = [](std::uint32_t number) { return static_cast<std::int32_t>(number); };
    const auto i = static_cast<std::uint32_t>(index);
    const std::uint32_t line = area_.quotient(i), pixel = i - line * area_.value();
    const std::uint32_t image = packs_.quotient(line), of_pixel = line - image * packs_.value();
    const std::uint32_t run = run_packs_.quotient(of_pixel), y = width_.quotient(pixel);
    const std::int32_t in_run = narrow(of_pixel - run * run_packs_.value()) * pack, left = run_ - in_run;
    const std::int64_t place = (std::int64_t{image} * area_.value() + pixel) * packs_.value() + of_pixel;
    return {place * pack,
            narrow(image),
            narrow(run) * run_ + in_run,
            narrow(y),
            narrow(pixel - y * width_.value()),
            left < pack ? left : pack};
  }

 private:
  Divisor packs_, area_, width_, run_packs_;
  std::int32_t run_;
  std::int64_t count_;
};

/// Copies channels of x into packs, with zeros where there are none. An item a pack.
template <class T>
class PackChannels {
 public:
  static constexpr int blocks = 0;

  PackChannels(const TapsGradPlan& plan, const Windows& windows, const Tensor4& x, void* to)
      : packs_(plan, windows), x_(x), to_(static_cast<T*>(to)) {}

  std::int64_t items() const { return packs_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto at = packs_(index);
    const T* const from = x_.data + x_.offset(at.image, at.channel, at.y, at.x);
    Word<T, PacksOfPixels::pack> word(T(0.0f));
    PORTOPS_UNROLL
    for (int n = 0; n < PacksOfPixels::pack; ++n) {
      if (n < at.channels) word.set(n, from[n * x_.stride[1]]);
    }
    *reinterpret_cast<Word<T, PacksOfPixels::pack>*>(in_device_memory(to_ + at.in_packs)) = word;
  }

 private:
  PacksOfPixels packs_;
  Tensor32<const T> x_;
  T* to_;
};

/// Copies sums in packs into channels of x_grad, each rounded once. An item a pack.
template <class T>
class UnpackChannels {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  UnpackChannels(const TapsGradPlan& plan, const Windows& windows, const void* from, const Tensor4& x_grad)
      : packs_(plan, windows), from_(static_cast<const A*>(from)), x_grad_(x_grad) {}

  std::int64_t items() const { return packs_.count(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto at = packs_(index);
    const auto word = *reinterpret_cast<const Word<A, PacksOfPixels::pack>*>(in_device_memory(from_ + at.in_packs));
    T* const to = x_grad_.data + x_grad_.offset(at.image, at.channel, at.y, at.x);
    PORTOPS_UNROLL
    for (int n = 0; n < PacksOfPixels::pack; ++n) {
      if (n < at.channels) to[n * x_grad_.stride[1]] = static_cast<T>(word[n]);
    }
  }

 private:
  PacksOfPixels packs_;
  const A* from_;
  Tensor32<T> x_grad_;
};

}  // namespace portops::impl
