// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "ops/convolution/image_step.hpp"
#include "ops/convolution/packed_weight.hpp"
#include "ops/convolution/sampling.hpp"
#include "ops/convolution/strip.hpp"

#include <algorithm>
#include <cstdint>

namespace portops::impl {

/// On hosts: out = bias + weight · columns, a team of one thread taking a tile of pixels and output channels at a time.
/// It makes the columns of a slice of the inner axis in scratch, which stays in a core's second-level cache, and
/// multiplies them there. Inner products are added up slice by slice: the tiles change nothing in the sums.
template <Backend B, class T, class Sampler, class Samples>
class ConvolveTiles {
 public:
  using A = Arithmetic<T>;
  using Sizes = blas::Blocks<A>;
  using Policy = Kokkos::TeamPolicy<SpaceOf<B>, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Team = typename Policy::member_type;
  static constexpr int alignment = 64;

  ConvolveTiles(const ImageStep& step, const A* packed_weight, const Tensor4& out, const T* bias,
                std::int64_t bias_stride, int threads)
      : windows_(step.windows),
        step_(step),
        sampler_(step),
        strides_(pixel_strides(step.x)),
        weight_(packed_weight),
        out_(out),
        bias_(bias),
        bias_stride_(bias_stride) {
    // The fewest rounds of all threads, where a tile costs a little whatever its size.
    std::int64_t least = INT64_MAX;
    for (int pixels = Sizes::tile_columns; pixels >= Sizes::panel_columns; pixels /= 2) {
      const std::int64_t tiles = windows_.groups * row_tiles() * ceil_div(all_pixels(), pixels);
      const std::int64_t time = ceil_div(tiles, threads) * (pixels + 8);
      if (time >= least) continue;
      least = time;
      tile_pixels_ = pixels;
    }
  }

  std::int64_t tiles() const { return windows_.groups * row_tiles() * ceil_div(all_pixels(), tile_pixels_); }

  int scratch_bytes() const {
    const std::int64_t sums = blas::TileSums<A>::elements(tile_size, PackedWeight<A>{windows_}.slices());
    return (panel_size + static_cast<int>(sums)) * static_cast<int>(sizeof(A));
  }

  void operator()(const Team& team) const {
    auto* const panels = static_cast<A*>(team.team_scratch(1).get_shmem_aligned(scratch_bytes(), alignment));
    for (std::int64_t tile = team.league_rank(); tile < tiles(); tile += team.league_size()) take(tile, panels);
  }

 private:
  /// Output channels of a tile; a multiple of each processor's panel_rows.
  static constexpr int most_rows = 480;
  static_assert(most_rows % Sizes::panel_rows == 0);
  static constexpr int panel_size = Sizes::tile_columns * Sizes::depth;
  static constexpr int tile_size = Sizes::tile_columns * most_rows;
  static constexpr int width = Sizes::panel_columns;
  /// Channels that are blended together.
  static constexpr int pack = 64 / static_cast<int>(sizeof(A));

  std::int64_t all_pixels() const { return windows_.images * windows_.pixels(); }
  std::int64_t row_tiles() const { return ceil_div(windows_.group_out_channels(), most_rows); }

  void take(std::int64_t tile, A* panels) const {
    const std::int64_t pixel_tiles = ceil_div(all_pixels(), tile_pixels_);
    const std::int64_t first_pixel = tile % pixel_tiles * tile_pixels_;
    const std::int64_t first_row = tile / pixel_tiles % row_tiles() * most_rows;
    const std::int64_t group = tile / pixel_tiles / row_tiles();
    const int pixels = static_cast<int>(std::min<std::int64_t>(tile_pixels_, all_pixels() - first_pixel));
    const int rows = static_cast<int>(std::min<std::int64_t>(most_rows, windows_.group_out_channels() - first_row));
    const PackedWeight<A> packed{windows_};
    blas::TileSums<A> tile_sums(panels + panel_size, tile_size, rows * Sizes::tile_columns);
    for (std::int64_t slice = 0; slice < packed.slices(); ++slice) {
      const int depth = packed.depth(slice);
      if (step_.samples_strips) {
        sample_strips(panels, group, slice * Sizes::depth, depth, first_pixel, pixels);
      } else {
        make_columns(panels, group, slice * Sizes::depth, depth, first_pixel, pixels);
      }
      const A* const weight = weight_ + packed.offset(group, slice, first_row / Sizes::panel_rows);
      // A panel of columns stays in the first-level cache while all rows pass by.
      tile_sums.add_slice([&](A* sums, bool first) {
        for (int j = 0; j < pixels; j += width) {
          for (int i = 0; i < rows; i += Sizes::panel_rows) {
            blas::multiply_panels(sums + i * Sizes::tile_columns + j, weight + i * depth, panels + j * depth, depth,
                                  first);
          }
        }
      });
    }
    write(tile_sums.finish(), group * windows_.group_out_channels() + first_row, rows, first_pixel, pixels);
  }

  /// The columns of so many pixels, elements [first, first + depth) of the inner axis, in panels [depth][width].
  void make_columns(A* panels, std::int64_t group, std::int64_t first, int depth, std::int64_t first_pixel,
                    int pixels) const {
    const std::int64_t group_channels = windows_.group_channels(), deformable_channels = windows_.deformable_channels();
    A column[Sizes::depth + pack];
    for (int j = 0; j < ceil_div(pixels, width) * width; ++j) {
      if (j >= pixels) {
        std::fill_n(column, depth, A(0));
      } else {
        const std::int64_t image = (first_pixel + j) / windows_.pixels();
        const std::int64_t pixel = first_pixel + j - image * windows_.pixels();
        for (int k = 0; k < depth;) {
          const std::int64_t tap = (first + k) / group_channels;
          const std::int64_t channel = group * group_channels + (first + k) % group_channels;
          const std::int64_t deformable_group = channel / deformable_channels;
          const std::int64_t end = std::min((group + 1) * group_channels, (deformable_group + 1) * deformable_channels);
          const int count = static_cast<int>(std::min<std::int64_t>(end - channel, depth - k));
          sample(column + k, {image, pixel, deformable_group, tap}, channel, count);
          k += count;
        }
      }
      A* const to = panels + j / width * width * depth + j % width;
      for (int k = 0; k < depth; ++k) to[k * width] = column[k];
    }
  }

  /// The same for few channels, as many pixels at a time as lie in one image. x may lie anyhow.
  void sample_strips(A* panels, std::int64_t group, std::int64_t first, int depth, std::int64_t first_pixel,
                     int pixels) const {
    static_assert(strip_pixels >= Sizes::tile_columns);
    if (pixels % width != 0) std::fill_n(panels + pixels / width * width * depth, width * depth, A(0));
    Samples samples(step_);
    for (int at = 0; at < pixels;) {
      const std::int64_t image = (first_pixel + at) / windows_.pixels();
      const std::int64_t pixel = first_pixel + at - image * windows_.pixels();
      const int count = static_cast<int>(std::min<std::int64_t>(pixels - at, windows_.pixels() - pixel));
      samples.start(image, pixel, count);
      std::int64_t found = -1;  // the sample of a window that is there
      for (int k = 0; k < depth; ++k) {
        const std::int64_t tap = (first + k) / windows_.group_channels();
        const std::int64_t channel = group * windows_.group_channels() + (first + k) % windows_.group_channels();
        const std::int64_t sample = channel / windows_.deformable_channels() * windows_.taps() + tap;
        if (sample != found) {
          found = sample;
          samples.find(sample / windows_.taps(), tap / windows_.kernel_width, tap % windows_.kernel_width);
        }
        A values[strip_pixels];
        samples.blend(values, channel);
        for (int j = 0; j < count;) {
          const int in_panel = (at + j) % width, run = std::min(width - in_panel, count - j);
          std::copy_n(values + j, run, panels + (at + j - in_panel) * depth + k * width + in_panel);
          j += run;
        }
      }
      at += count;
    }
  }

  /// So many channels of a sample; there is room for a pack more.
  void sample(A* values, const SampleIndex& at, std::int64_t channel, int count) const {
    const auto sample = sampler_(at);
    constexpr int corners = decltype(sample)::corner_count;
    if (sample.is_outside()) {
      std::fill_n(values, count, nothing_of(sample));
      return;
    }
    const T* corner[corners];
    A weight[corners];
    factored_weights(sample, weight);
    for (int k = 0; k < corners; ++k) {
      corner[k] = static_cast<const T*>(step_.x.data) + sample.offset(strides_, k) + channel;
    }
    for (int i = 0; i < count; i += pack) {
      A blended[pack];
      blend<B, T, pack>(blended, corner, weight, i, std::min(pack, count - i));
      std::copy(blended, blended + pack, values + i);
    }
  }

  /// Rounds once, with the bias.
  void write(A* sums, std::int64_t first_channel, int rows, std::int64_t first_pixel, int pixels) const {
    std::int64_t place[Sizes::tile_columns];
    bool is_run = true;
    for (int j = 0; j < pixels; ++j) {
      const std::int64_t image = (first_pixel + j) / windows_.pixels();
      const std::int64_t pixel = first_pixel + j - image * windows_.pixels();
      place[j] = out_.offset(image, 0, pixel / windows_.out_width, pixel % windows_.out_width);
      is_run = is_run && place[j] == place[0] + j;
    }
    for (int i = 0; i < rows; ++i) {
      A* const row = sums + i * Sizes::tile_columns;
      if (bias_ != nullptr) {
        const A bias = static_cast<A>(bias_[(first_channel + i) * bias_stride_]);
        for (int j = 0; j < pixels; ++j) row[j] += bias;
      }
      T* const out = static_cast<T*>(out_.data) + (first_channel + i) * out_.stride[1];
      if (is_run) {
        blas::convert_run(out + place[0], row, pixels);
      } else {
        for (int j = 0; j < pixels; ++j) out[place[j]] = static_cast<T>(row[j]);
      }
    }
  }

  Windows windows_;
  ImageStep step_;
  Sampler sampler_;
  PixelStrides strides_;
  const A* weight_;
  Tensor4 out_;
  const T* bias_;
  std::int64_t bias_stride_;
  int tile_pixels_ = Sizes::tile_columns;
};

}  // namespace portops::impl
