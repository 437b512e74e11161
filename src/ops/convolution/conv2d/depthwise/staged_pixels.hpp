// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/copy_to_scratch.hpp"
#include "ops/convolution/conv2d/depthwise/depthwise_tiles.hpp"
#include "ops/convolution/pixel_sampling.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace portops::impl {

/// The pixels of a tile in a team's scratch, each with its 32 channels next to each other, `pitch` elements from one to
/// the next; zeros where the image has none. `last`: neighbouring channels are neighbours in memory.
template <class T, bool last>
class StagedPixels {
 public:
  static constexpr int pitch = DepthwiseTiles::pitch(last, sizeof(T));
  PORTOPS_FUNCTION static std::size_t bytes(const TileBox& box) {
    return (sizeof(T) * pitch * static_cast<std::size_t>(box.pixels()) + 15) / 16 * 16;
  }

  /// Where a pixel's first channel lies.
  PORTOPS_FUNCTION static int place(const TileBox& box, const TilePlace& at) {
    return ((at.image * box.rows + at.i) * box.columns + at.j) * pitch;
  }

  StagedPixels(const Tensor4& tensor, const TileBox& box, std::int64_t images, std::int64_t channels,
               std::int64_t height, std::int64_t width)
      : tensor_(tensor),
        rows_(static_cast<std::uint32_t>(box.rows)),
        columns_(static_cast<std::uint32_t>(box.columns)),
        pixels_(box.pixels()),
        images_of_box_(box.images),
        images_(static_cast<std::int32_t>(images)),
        channels_(static_cast<std::int32_t>(channels)),
        height_(static_cast<std::int32_t>(height)),
        width_(static_cast<std::int32_t>(width)),
        has_packs_(last && channels % pack == 0 && has_channel_packs<T>(tensor, pack)) {}

  /// Those of channels from `channel` on; the box of the first image begins at (y, x). They are there after
  /// wait_for_copies_to_scratch() and a barrier.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void read(const Team& team, T* to, std::int32_t channel, const TilePlace& first) const {
    if (has_packs_) {
      read_packs(team, to, channel, first);
    } else {
      read_elements(team, to, channel, first);
    }
  }

  /// The other way: the pixels that there are get theirs, behind a barrier.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Team& team, const T* from, std::int32_t channel,
                                         const TilePlace& first) const {
    static_assert(!last, "neighbouring channels are written from where they are");
    for_blocks(team, [&](int pixel, int c) {
      std::int32_t offset;
      if (!find(pixel, first, offset)) return;
      PORTOPS_UNROLL
      for (int n = c; n < c + batch; ++n) {
        if (channel + n < channels_) tensor_.data[offset + (channel + n) * tensor_.stride[1]] = from[pixel * pitch + n];
      }
    });
  }

 private:
  static constexpr int pack = 16 / sizeof(T), packs = DepthwiseTiles::channels / pack;
  static constexpr int warp = 32, batch = 8;  ///< batch: elements that a thread has under way together

  /// Whether there is a pixel of the box, and where its first channel lies.
  KOKKOS_FORCEINLINE_FUNCTION bool find(int pixel, const TilePlace& first, std::int32_t& offset) const {
    std::uint32_t row = columns_.quotient(static_cast<std::uint32_t>(pixel));
    const std::int32_t u = first.j + pixel - static_cast<std::int32_t>(row * columns_.value());
    std::int32_t image = first.image;
    if (images_of_box_ > 1) {
      const std::uint32_t of_box = rows_.quotient(row);
      row -= of_box * rows_.value();
      image += static_cast<std::int32_t>(of_box);
    }
    const std::int32_t v = first.i + static_cast<std::int32_t>(row);
    offset = tensor_.offset(image, 0, v, u);
    return image < images_ && static_cast<std::uint32_t>(v) < static_cast<std::uint32_t>(height_) &&
           static_cast<std::uint32_t>(u) < static_cast<std::uint32_t>(width_);
  }

  /// A thread has a pack of channels, of some pixels.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void read_packs(const Team& team, T* to, std::int32_t channel,
                                              const TilePlace& first) const {
    const int c = team.team_rank() % packs * pack, pixels_at_once = team.team_size() / packs;
    const T* const from = tensor_.data + channel + c;
    const bool has_pack = channel + c < channels_;
    for (int pixel = team.team_rank() / packs; pixel < pixels_; pixel += pixels_at_once) {
      std::int32_t offset;
      const bool exists = find(pixel, first, offset) && has_pack;
      copy_to_scratch(to + pixel * pitch + c, exists ? from + offset : tensor_.data, exists);
    }
  }

  /// The same element by element: a warp reads the channels of some pixels, or 32 pixels of some channels.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void read_elements(const Team& team, T* to, std::int32_t channel,
                                                 const TilePlace& first) const {
    if constexpr (last) {
      const int lane = team.team_rank() % warp, warps = team.team_size() / warp;
      for (int pixel = team.team_rank() / warp * batch; pixel < pixels_; pixel += warps * batch) {
        T value[batch];
        PORTOPS_UNROLL
        for (int n = 0; n < batch; ++n) {
          std::int32_t offset;
          const bool exists = find(pixel + n, first, offset) && channel + lane < channels_;
          value[n] = exists ? tensor_.data[offset + channel + lane] : T{};
        }
        PORTOPS_UNROLL
        for (int n = 0; n < batch; ++n) {
          if (pixel + n < pixels_) to[(pixel + n) * pitch + lane] = value[n];
        }
      }
    } else {
      for_blocks(team, [&](int pixel, int c) {
        std::int32_t offset;
        const bool exists = find(pixel, first, offset);
        const T* const from = tensor_.data + offset + (channel + c) * tensor_.stride[1];
        T value[batch];
        PORTOPS_UNROLL
        for (int n = 0; n < batch; ++n) {
          value[n] = exists && channel + c + n < channels_ ? from[n * tensor_.stride[1]] : T{};
        }
        PORTOPS_UNROLL
        for (int n = 0; n < batch; ++n) to[pixel * pitch + c + n] = value[n];
      });
    }
  }

  /// Calls action(pixel, c) for blocks of `batch` channels from c on, neighbouring threads with neighbouring pixels.
  template <class Team, class Action>
  KOKKOS_FORCEINLINE_FUNCTION void for_blocks(const Team& team, const Action& action) const {
    constexpr int blocks = DepthwiseTiles::channels / batch;
    const int lane = team.team_rank() % warp, warps = team.team_size() / warp;
    const int units = (pixels_ + warp - 1) / warp * blocks;
    for (int unit = team.team_rank() / warp; unit < units; unit += warps) {
      const int pixel = unit / blocks * warp + lane;
      if (pixel < pixels_) action(pixel, unit % blocks * batch);
    }
  }

  Tensor32<T> tensor_;
  Divisor rows_, columns_;
  int pixels_;
  std::int32_t images_of_box_, images_, channels_, height_, width_;
  bool has_packs_;
};

}  // namespace portops::impl
