// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/panels.hpp"
#include "ops/convolution/copy_lines.hpp"
#include "ops/convolution/finish.hpp"
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

  ConvolveTiles(const ImageStep& step, const A* packed_weight, const ConvolutionOut& to, int threads)
      : windows_(step.windows),
        step_(step),
        sampler_(step),
        strides_(pixel_strides(step.x)),
        weight_(packed_weight),
        out_(to.out),
        bias_(static_cast<const T*>(to.bias)),
        bias_stride_(to.bias_stride),
        finish_(to),
        by_vectors_(multiplies_vectors<A>(step.windows, step.samples_strips)) {
    // The fewest rounds of all threads, where a tile costs a little whatever its size.
    std::int64_t least = INT64_MAX;
    for (int most = Sizes::tile_columns; most >= Sizes::panel_columns; most /= 2) {
      const std::int64_t of_group = ceil_div(all_pixels(), most);
      // Vectors of output channels take any number of pixels as well.
      const int pixels = by_vectors_ ? static_cast<int>(ceil_div(all_pixels(), of_group)) : most;
      const std::int64_t time = ceil_div(windows_.groups * row_tiles() * of_group, threads) * (pixels + 8);
      if (time >= least) continue;
      least = time;
      tile_pixels_ = pixels;
    }
  }

  std::int64_t tiles() const { return windows_.groups * row_tiles() * ceil_div(all_pixels(), tile_pixels_); }

  int scratch_bytes() const {
    const std::int64_t sums = blas::TileSums<A>::elements(tile_size, most_chains * packed().slices());
    return (columns_size + static_cast<int>(sums)) * static_cast<int>(sizeof(A)) +
           places * static_cast<int>(sizeof(std::int32_t));
  }

  void operator()(const Team& team) const {
    auto* const panels = static_cast<A*>(team.team_scratch(1).get_shmem_aligned(scratch_bytes(), alignment));
    for (std::int64_t tile = team.league_rank(); tile < tiles(); tile += team.league_size()) take(tile, panels);
  }

 private:
  static constexpr int width = Sizes::panel_columns;
  /// Channels that are blended together.
  static constexpr int pack = 64 / static_cast<int>(sizeof(A));
  /// Output channels of a tile; a multiple of the rows of each processor's panels.
  static constexpr int most_rows = 384;
  static_assert(most_rows % Sizes::panel_rows == 0 && most_rows % (Sizes::point_vectors * Sizes::lanes) == 0);
  static constexpr int tile_size = Sizes::tile_columns * most_rows;
  /// A pixel's column has a pack more than its elements: see sample().
  static constexpr int column_row = Sizes::depth + pack;
  static constexpr int columns_size = Sizes::tile_columns * column_row;
  static constexpr int most_chains = static_cast<int>(ceil_div(Sizes::depth, Sizes::chain));
  /// Of the elements of a column, and of the pixels of a tile.
  static constexpr int places = Sizes::depth + Sizes::tile_columns;
  static_assert(Sizes::depth >= Sizes::tile_columns);

  PackedWeight<A> packed() const { return {windows_, by_vectors_}; }
  std::int64_t all_pixels() const { return windows_.images * windows_.pixels(); }
  std::int64_t row_tiles() const { return ceil_div(windows_.group_out_channels(), most_rows); }
  /// Of a product by vectors.
  std::int64_t sums_row() const { return std::min<std::int64_t>(most_rows, packed().padded_rows()); }

  void take(std::int64_t tile, A* columns) const {
    const std::int64_t pixel_tiles = ceil_div(all_pixels(), tile_pixels_);
    const std::int64_t first_pixel = tile % pixel_tiles * tile_pixels_;
    const std::int64_t first_row = tile / pixel_tiles % row_tiles() * most_rows;
    const std::int64_t group = tile / pixel_tiles / row_tiles();
    const int pixels = static_cast<int>(std::min<std::int64_t>(tile_pixels_, all_pixels() - first_pixel));
    const int rows = static_cast<int>(std::min<std::int64_t>(most_rows, windows_.group_out_channels() - first_row));
    A* const sums_memory = columns + columns_size;
    blas::TileSums<A> tile_sums(sums_memory, tile_size, by_vectors_ ? sums_row() * pixels : rows * Sizes::tile_columns);
    const std::int64_t elements = blas::TileSums<A>::elements(tile_size, most_chains * packed().slices());
    auto* const place = reinterpret_cast<std::int32_t*>(sums_memory + elements);
    if (by_vectors_) {
      for (int k = 0; k < Sizes::depth; ++k) place[k] = k;
      for (int j = 0; j < pixels; ++j) place[Sizes::depth + j] = j * column_row;
    }
    for (std::int64_t slice = 0; slice < packed().slices(); ++slice) {
      const int depth = packed().depth(slice);
      if (step_.samples_strips) {
        sample_strips(columns, group, slice * Sizes::depth, depth, first_pixel, pixels);
      } else {
        make_columns(columns, group, slice * Sizes::depth, depth, first_pixel, pixels);
      }
      if (by_vectors_) {
        multiply_by_vectors(tile_sums, columns, place, pixels, group, slice, first_row, rows);
      } else {
        multiply_by_panels(tile_sums, columns, pixels, group, slice, first_row, rows);
      }
    }
    const std::int64_t channel = group * windows_.group_out_channels() + first_row;
    if (by_vectors_) {
      write_vectors(tile_sums.finish(), channel, rows, first_pixel, pixels);
    } else {
      write(tile_sums.finish(), channel, rows, first_pixel, pixels);
    }
  }

  void multiply_by_panels(blas::TileSums<A>& tile_sums, const A* panels, int pixels, std::int64_t group,
                          std::int64_t slice, std::int64_t first_row, int rows) const {
    const int depth = packed().depth(slice);
    const A* const weight = weight_ + packed().offset(group, slice, first_row / Sizes::panel_rows);
    // A panel of columns stays in the first-level cache while all rows pass by.
    tile_sums.add_slice([&](A* sums, bool first) {
      for (int j = 0; j < pixels; j += width) {
        for (int i = 0; i < rows; i += Sizes::panel_rows) {
          blas::multiply_panels(sums + i * Sizes::tile_columns + j, weight + i * depth, rows - i, panels + j * depth,
                                depth, first);
        }
      }
    });
  }

  /// Sums have a row a pixel, and the tree has chains at its leaves.
  void multiply_by_vectors(blas::TileSums<A>& tile_sums, const A* columns, const std::int32_t* place, int pixels,
                           std::int64_t group, std::int64_t slice, std::int64_t first_row, int rows) const {
    const int depth = packed().depth(slice);
    const auto chains = static_cast<int>(ceil_div(depth, Sizes::chain)), chain = (depth + chains - 1) / chains;
    const std::int64_t first_panel = first_row / packed().most_panel_rows();
    for (int k = 0; k < depth; k += chain) {
      tile_sums.add_slice([&](A* sums, bool first) {
        // A panel of the weight stays in the first-level cache while all pixels pass by.
        for (int i = 0; i < rows; i += packed().most_panel_rows()) {
          const std::int64_t panel = first_panel + i / packed().most_panel_rows();
          const int panel_rows = packed().panel_rows(panel);
          const A* const weight = weight_ + packed().offset(group, slice, panel) + k * panel_rows;
          blas::multiply_points(sums + i, sums_row(), {columns, place + Sizes::depth, place, pixels, place + k, place},
                                {weight, panel_rows / Sizes::lanes}, std::min(chain, depth - k), first);
        }
      });
    }
  }

  /// The columns of so many pixels, elements [first, first + depth) of the inner axis: in rows of column_row numbers
  /// or, for panels, in these, [depth][width].
  void make_columns(A* columns, std::int64_t group, std::int64_t first, int depth, std::int64_t first_pixel,
                    int pixels) const {
    const std::int64_t group_channels = windows_.group_channels(), deformable_channels = windows_.deformable_channels();
    A turned[column_row];
    for (int j = 0; j < (by_vectors_ ? pixels : ceil_div(pixels, width) * width); ++j) {
      A* const column = by_vectors_ ? columns + j * column_row : turned;
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
      if (by_vectors_) continue;
      A* const to = columns + j / width * width * depth + j % width;
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

  /// The same where sums have a row a pixel.
  void write_vectors(A* sums, std::int64_t first_channel, int rows, std::int64_t first_pixel, int pixels) const {
    const Finish<T> finish = finish_.of_written();
    add_bias(sums, sums_row(), pixels, bias_, bias_stride_, first_channel, rows, finish_.of_sums());
    // Pixels that lie at one distance are written together: those of an image, or of a row.
    const bool is_image = out_.stride[2] == windows_.out_width * out_.stride[3];
    const std::int64_t run = is_image ? windows_.pixels() : windows_.out_width;
    for (int j = 0; j < pixels;) {
      const std::int64_t image = (first_pixel + j) / windows_.pixels();
      const std::int64_t pixel = first_pixel + j - image * windows_.pixels();
      const auto count = static_cast<int>(std::min<std::int64_t>(pixels - j, run - pixel % run));
      const std::int64_t offset =
          out_.offset(image, first_channel, pixel / windows_.out_width, pixel % windows_.out_width);
      write_finished<T>(finish, out_, offset, sums + j * sums_row(), 1, sums_row(), rows, count);
      j += count;
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
  Finish<T> finish_;
  bool by_vectors_;  ///< of output channels, not of pixels
  int tile_pixels_ = Sizes::tile_columns;
};

}  // namespace portops::impl
