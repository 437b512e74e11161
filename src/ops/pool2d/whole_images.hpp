// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/pool2d/pool_blocks.hpp"

// Windows that are whole images (PoolPlan::is_whole), on a GPU.

namespace portops::impl {

/// out = the maximum of each image: a group of a warp's lanes takes one.
template <class T>
class PoolWhole {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  explicit PoolWhole(const PoolPlan& plan)
      : planes_(static_cast<int>(plan.images * plan.channels)),
        pixels_(static_cast<int>(plan.down.extent * plan.across.extent)),
        lanes_(pixels_ <= 256 ? 8 : 32),
        apart_(static_cast<int>(plan.across.extent > 1 ? plan.x.column : plan.x.row)),
        by_channels_(static_cast<std::uint32_t>(plan.channels)),
        x_(tensor_of<int>(plan.x)),
        out_(tensor_of<int>(plan.out)),
        index_(tensor_of<int>(plan.index)) {}

  /// Whole warps, whose lanes meet.
  std::int64_t items() const { return ceil_div(std::int64_t{planes_} * lanes_, 256) * 256; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const int plane = static_cast<int>(item / lanes_), lane = static_cast<int>(item % lanes_);
    const bool is_there = plane < planes_;
    PoolBlock<int> block{};
    block.image = static_cast<int>(by_channels_.quotient(plane));
    block.channel = plane - block.image * static_cast<int>(by_channels_.value());
    const T* const from = static_cast<const T*>(x_.data) + (is_there ? offset_of(x_, block) : 0);
    A value = no_maximum<A>;
    int pixel = lane;
    for (int at = lane; at < (is_there ? pixels_ : 0); at += lanes_) {
      const auto element = static_cast<A>(from[at * apart_]);
      if (is_larger(element, value)) value = element, pixel = at;
    }
    join_lanes(value, pixel);
    if (lane != 0 || !is_there) return;
    static_cast<T*>(out_.data)[offset_of(out_, block)] = static_cast<T>(value);
    if (index_.data != nullptr) static_cast<std::int64_t*>(index_.data)[offset_of(index_, block)] = pixel;
  }

 private:
  /// The first of equal maxima, the last of several NaN. A lane without pixels has −∞ behind the last one.
  KOKKOS_FORCEINLINE_FUNCTION void join_lanes([[maybe_unused]] A& value, [[maybe_unused]] int& pixel) const {
#if defined(__CUDA_ARCH__)
    for (int distance = lanes_ / 2; distance > 0; distance /= 2) {
      const A other = __shfl_xor_sync(0xffffffffu, value, distance);
      const int its = __shfl_xor_sync(0xffffffffu, pixel, distance);
      const bool is_nan = value != value;
      const bool takes =
          other != other ? !is_nan || its > pixel : !is_nan && (other > value || (other == value && its < pixel));
      value = takes ? other : value;
      pixel = takes ? its : pixel;
    }
#endif
  }

  int planes_;
  int pixels_;  ///< of an image
  int lanes_;
  int apart_;  ///< from one pixel to the next
  Divisor by_channels_;
  PoolTensorOf<int> x_, out_, index_;
};

/// x_grad of windows that are whole images, all of which follow each other: a thread takes a pack, of one image or
/// the end of one and the begin of the next.
template <class T, bool is_max>
class SpreadWhole {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int pack = gpu_pack_bytes / static_cast<int>(sizeof(T));

  static bool suits(const PoolPlan& plan) {
    const std::int64_t pixels = plan.down.extent * plan.across.extent;
    const bool follow = (plan.across.extent > 1 ? plan.x.column : plan.x.row) == 1 &&
                        (plan.channels == 1 || plan.x.channel == pixels) &&
                        (plan.images == 1 || plan.x.image == plan.channels * pixels);
    return plan.is_whole && follow && pixels >= pack &&
           reinterpret_cast<std::uintptr_t>(plan.x.data) % gpu_pack_bytes == 0;
  }

  explicit SpreadWhole(const PoolPlan& plan)
      : size_(static_cast<A>(plan.down.size(0, plan.exclusive) * plan.across.size(0, plan.exclusive))),
        elements_(static_cast<int>(plan.images * plan.channels * plan.down.extent * plan.across.extent)),
        by_pixels_(static_cast<std::uint32_t>(plan.down.extent * plan.across.extent)),
        by_channels_(static_cast<std::uint32_t>(plan.channels)),
        x_grad_(static_cast<T*>(plan.x.data)),
        out_grad_(tensor_of<int>(plan.out)),
        index_(tensor_of<int>(plan.index)) {}

  std::int64_t items() const { return ceil_div(elements_, pack); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const int first = static_cast<int>(item) * pack, count = count_from(first, elements_, pack);
    const int pixels = static_cast<int>(by_pixels_.value());
    const int plane = static_cast<int>(by_pixels_.quotient(first)), pixel = first - plane * pixels;
    A value[2] = {};
    int found[2] = {};
    PORTOPS_UNROLL
    for (int i = 0; i < 2; ++i) {
      if (i == 1 && pixel + count <= pixels) continue;
      PoolBlock<int> block{};
      block.image = static_cast<int>(by_channels_.quotient(plane + i));
      block.channel = plane + i - block.image * static_cast<int>(by_channels_.value());
      value[i] = static_cast<A>(static_cast<const T*>(out_grad_.data)[offset_of(out_grad_, block)]);
      if constexpr (is_max) {
        found[i] = static_cast<int>(static_cast<const std::int64_t*>(index_.data)[offset_of(index_, block)]);
      } else {
        value[i] /= size_;
      }
    }
    A values[pack];
    PORTOPS_UNROLL
    for (int k = 0; k < pack; ++k) {
      const bool is_next = pixel + k >= pixels;
      const A its = is_next ? value[1] : value[0];
      values[k] = !is_max || pixel + k == (is_next ? found[1] + pixels : found[0]) ? its : A(0);
    }
    write_block<Backend::cuda, T, pack>(x_grad_ + first, values, 1, count, true);
  }

 private:
  A size_;
  int elements_;
  Divisor by_pixels_;
  Divisor by_channels_;
  T* x_grad_;
  PoolTensorOf<int> out_grad_, index_;
};

}  // namespace portops::impl
