// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/pack.hpp"
#include "ops/convolution/windows.hpp"

#include <Kokkos_Core.hpp>

// How kernels take the channels of samples. How they find these is a parameter of theirs, a class Sampler:
//
//   Sampler(const ImageStep&)
//   sample = operator()(const SampleIndex&)
//
// A sample has
//
//   corner_count                 pixels of x that it is blended of
//   deformable_group             whose channels it is for
//   is_outside()                 whether it is nothing_of(sample) instead, whatever x holds
//   offset(strides, corner)      where a corner's channels lie, from those of the whole tensor
//
// and factored_weights(sample, weight) gives the corners' weights, with the mask's factor.

namespace portops::impl {

/// How the channels of a deformable group are taken: in packs of up to N neighbours, all of one group.
template <int N>
class ChannelPacks {
 public:
  explicit ChannelPacks(const Windows& windows)
      : channels_(static_cast<int>(windows.deformable_channels())),
        group_channels_(static_cast<int>(windows.group_channels())),
        group_gap_(windows.groups == 1 ? 0 : windows.group_column() - windows.group_channels()),
        run_(static_cast<int>(windows.channel_run())),
        run_packs_((run_ + N - 1) / N) {}

  struct Pack {
    int channel;          ///< its first one
    int count;            ///< of its channels
    std::int64_t column;  ///< where it lies in the columns, from the first group's first channel of the same tap
  };

  /// Of a deformable group.
  KOKKOS_FUNCTION int count() const { return run_ == channels_ ? run_packs_ : channels_ / run_ * run_packs_; }

  /// Threads side by side that take them: a power of two, at most a warp; one on hosts.
  template <Backend B>
  int lanes() const {
    int lanes = 1;
    while (B == Backend::cuda && lanes < 32 && lanes < count()) lanes *= 2;
    return lanes;
  }

  KOKKOS_FUNCTION Pack operator()(int deformable_group, int index) const {
    const int run = run_ == channels_ ? 0 : index / run_packs_;
    const int in_run = (index - run * run_packs_) * N;
    const int channel = deformable_group * channels_ + run * run_ + in_run;
    const int group = group_gap_ == 0 ? 0 : channel / group_channels_;
    return {channel, run_ - in_run < N ? run_ - in_run : N, channel + group * group_gap_};
  }

 private:
  int channels_;
  int group_channels_;
  std::int64_t group_gap_;  ///< from a group's channels of a tap to the next group's
  int run_;
  int run_packs_;
};

/// Reads `count` neighbours and fills the pack up with zeros. A pack of several on a GPU is whole and aligned.
template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void read_channels(Arithmetic<T> (&values)[N], const T* from, [[maybe_unused]] int count) {
  using A = Arithmetic<T>;
  if constexpr (B == Backend::cuda) {
    const auto word = *reinterpret_cast<const Word<T, N>*>(in_device_memory(from));
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) values[i] = static_cast<A>(word[i]);
  } else {
    KOKKOS_IF_ON_HOST((
        if (count == N) { host::convert<T, N>(values, from, N); } else {
          for (int i = 0; i < N; ++i) values[i] = i < count ? static_cast<A>(from[i]) : A(0);
        }))
  }
}

/// The sums of `count` neighbours of the corners, by these weights, from `channel` on. A corner alone has weight 1.
template <Backend B, class T, int N, int corners>
KOKKOS_FORCEINLINE_FUNCTION void blend(Arithmetic<T> (&values)[N], const T* const (&corner)[corners],
                                       [[maybe_unused]] const Arithmetic<T> (&weight)[corners], int channel,
                                       int count) {
  if constexpr (corners == 1) {
    read_channels<B, T, N>(values, corner[0] + channel, count);
  } else {
    using A = Arithmetic<T>;
    A pixel[corners][N];
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) read_channels<B, T, N>(pixel[k], corner[k] + channel, count);
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) {
      values[i] = weight[0] * pixel[0][i];
      PORTOPS_UNROLL
      for (int k = 1; k < corners; ++k) values[i] = Kokkos::fma(weight[k], pixel[k][i], values[i]);
    }
  }
}

template <Backend B, class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void write_channels(T* to, const Arithmetic<T> (&values)[N], [[maybe_unused]] int count) {
  if constexpr (B == Backend::cuda) {
    Word<T, N> word;
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) word.set(i, static_cast<T>(values[i]));
    *reinterpret_cast<Word<T, N>*>(in_device_memory(to)) = word;
  } else {
    KOKKOS_IF_ON_HOST((
        if (count == N) { host::store<T, N>(to, values, false); } else {
          for (int i = 0; i < count; ++i) to[i] = static_cast<T>(values[i]);
        }))
  }
}

}  // namespace portops::impl
