// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "ops/pool2d/pool_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace portops::impl {

/// out = the maximum or the average of each window, on a host, where columns are neighbours: an item is a block of
/// windows, and goes down the rows of the image. What a row comes to is found once for all windows that have it. Rows
/// are copied, with elements that change nothing in the padding and behind the last window, so that all windows are
/// taken alike, by whole vectors.
template <Backend B, class T, PoolKind kind>
class PoolPlanesOnHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  explicit PoolPlanesOnHost(const PoolPlan& plan)
      : blocks_(plan, plan.down.windows, plan.across.windows, {.rows = most_rows, .columns = most_columns}),
        down_(plan.down),
        across_(plan.across),
        x_(plan.x),
        out_(plan.out),
        index_(plan.index),
        exclusive_(plan.exclusive) {}

  std::int64_t items() const { return blocks_.count(); }

  void operator()(std::int64_t item) const {
    const PoolBlock<std::int64_t> block = blocks_[item];
    const int rows = count_from(block.row, down_.windows, most_rows);
    const int columns = count_from(block.column, across_.windows, most_columns);
    const Span span(across_, block.column, columns);
    Row windows[most_rows];
    for (int i = 0; i < rows; ++i) {
      begin(windows[i], span.padded);
      if constexpr (has_index) find_first_pixels(windows[i], block.row + i, block.column, columns);
    }
    const T* const from = static_cast<const T*>(x_.data) + offset_of_plane(x_, block);
    const std::int64_t end = down_.end_inside(block.row + rows - 1);
    Lines lines;
    if (span.fits) clear_lines(lines, span);
    int first = 0, last = 0;  // of the windows that have a row
    for (std::int64_t row = down_.begin_inside(block.row); row < end;) {
      const auto count = static_cast<int>(std::min<std::int64_t>(span.lines, end - row));
      if (span.fits) read_lines(lines, from + row * x_.row, count, span);
      for (int line = 0; line < count; ++line, ++row) {
        while (down_.begin(block.row + first) + down_.kernel <= row) ++first;
        while (last + 1 < rows && down_.begin(block.row + last + 1) <= row) ++last;
        if (down_.begin(block.row + first) > row) continue;
        const auto add = [&](Row& to) {
          const std::int64_t pixel = row * across_.extent + span.left;
          if (span.fits) {
            add_taps(to, lines.pixels + line * span.count, pixel, span);
          } else {
            add_far_taps(to, from + row * x_.row, pixel, span);
          }
        };
        // Sums are added up row by row; to maxima it is all one.
        if (is_max && first == last) {
          add(windows[first]);
          continue;
        }
        Row of_row;
        begin(of_row, span.padded);
        add(of_row);
        for (int i = first; i <= last; ++i) {
          take<1>(windows[i], {of_row.value}, span.padded, [&](int, int k) { return of_row.pixel[k]; });
        }
      }
    }
    for (int i = 0; i < rows; ++i) {
      write(windows[i], {block.image, block.channel, block.row + i, block.column}, columns);
    }
  }

 private:
  static constexpr bool is_max = kind != PoolKind::average, has_index = kind == PoolKind::maximum_with_index;
  static constexpr int most_rows = 8, most_columns = pool_neighbours<B, T>;
  static constexpr int vector = 16;
  /// Of copied rows; the latter in numbers.
  static constexpr int most_lines = 8, most_numbers = 2048;
  static_assert(most_columns % vector == 0);

  /// What neighbouring windows come to.
  struct Row {
    alignas(64) A value[most_columns];
    std::int64_t pixel[has_index ? most_columns : 1];
  };

  static void begin(Row& row, int padded) {
    std::fill_n(row.value, padded, nothing);
    if constexpr (has_index) std::fill_n(row.pixel, padded, 0);
  }
  /// Those of windows of −∞ alone.
  void find_first_pixels(Row& row, std::int64_t window, std::int64_t column, int columns) const {
    for (int k = 0; k < columns; ++k) {
      row.pixel[k] = down_.begin_inside(window) * across_.extent + across_.begin_inside(column + k);
    }
  }

  /// Which of so many elements of a row, from a column on and `apart` columns apart, are in the image.
  struct Inside {
    int first, end;

    Inside(std::int64_t extent, std::int64_t column, std::int64_t apart, int count) {
      const auto until = [&](std::int64_t end_column) {
        const std::int64_t distance = end_column - column;
        return static_cast<int>(std::clamp<std::int64_t>(apart == 1 ? distance : ceil_div(distance, apart), 0, count));
      };
      first = until(0);
      end = until(extent);
    }
  };

  /// What the windows of a block have of each row of the image.
  struct Span {
    int padded;          ///< windows, and those that fill up a vector
    std::int64_t left;   ///< column of the first pixel
    std::int64_t pitch;  ///< pixels that lie a stride apart
    bool fits;           ///< whether rows are copied; else each tap is
    int count;           ///< pixels of a copied row
    int lines;           ///< rows at once: what has just been written is slow to read
    Inside inside;       ///< of the pixels

    Span(const PoolAxis& across, std::int64_t column, int columns)
        : padded(ceil_div(columns, vector) * vector),
          left(across.begin(column)),
          pitch(ceil_div(columns + (across.kernel - 1) / known_stride(across), vector) * vector),
          fits(pitch * known_stride(across) <= most_numbers),
          count(fits ? static_cast<int>(pitch * across.stride) : 0),
          lines(fits ? std::min(most_numbers / count, most_lines) : 1),
          inside(across.extent, left, 1, count) {}

    /// Larger ones do not fit.
    static std::int64_t known_stride(const PoolAxis& across) {
      return std::min<std::int64_t>(across.stride, most_numbers);
    }
  };

  struct Lines {
    alignas(64) A pixels[most_numbers + vector];
  };

  /// Writes what is nothing around and behind them, once for all rows.
  static void clear_lines(Lines& lines, const Span& span) {
    std::fill_n(lines.pixels, span.lines * span.count + vector, nothing);
  }

  /// Copies so many rows. Pixels that lie a stride apart become neighbours.
  void read_lines(Lines& lines, const T* from, int rows, const Span& span) const {
    for (int i = 0; i < rows; ++i, from += x_.row) {
      A* const to = lines.pixels + i * span.count;
      if (across_.stride == 2 && x_.column == 1) {
        read_pairs(to, to + span.pitch, from + span.left, span.inside);
        continue;
      }
      for (std::int64_t phase = 0; phase < std::min(across_.stride, across_.kernel); ++phase) {
        const std::int64_t column = span.left + phase;
        read(to + phase * span.pitch, from, column, across_.stride,
             Inside(across_.extent, column, across_.stride, static_cast<int>(span.pitch)));
      }
    }
  }
  /// The same of two phases.
  static void read_pairs(A* even, A* odd, const T* from, const Inside& inside) {
    const int first = (inside.first + 1) / 2, end = inside.end / 2;
    for (int k = first; k < end; ++k) {
      even[k] = static_cast<A>(from[2 * k]);
      odd[k] = static_cast<A>(from[2 * k + 1]);
    }
    if (inside.first >= inside.end) return;
    if (inside.first % 2 == 1) odd[first - 1] = static_cast<A>(from[inside.first]);
    if (inside.end % 2 == 1) even[end] = static_cast<A>(from[inside.end - 1]);
  }

  /// Adds all taps of a copied row to windows, the first of which begins at a pixel.
  void add_taps(Row& to, const A* phases, std::int64_t pixel, const Span& span) const {
    constexpr int most = 3;  // at once
    std::int64_t phase = 0;
    for (std::int64_t tap = 0; tap < across_.kernel; tap += most) {
      const A* elements[most] = {};
      const auto taps = static_cast<int>(std::min<std::int64_t>(across_.kernel - tap, most));
      for (int i = 0; i < taps; ++i) {
        elements[i] = phases + phase * span.pitch;
        if (++phase == across_.stride) phase = 0, ++phases;
      }
      const auto pixel_of = [&](int i, int k) { return pixel + tap + i + k * across_.stride; };
      switch (taps) {
        case 1: take<1>(to, {elements[0]}, span.padded, pixel_of); break;
        case 2: take<2>(to, {elements[0], elements[1]}, span.padded, pixel_of); break;
        default: take<3>(to, {elements[0], elements[1], elements[2]}, span.padded, pixel_of);
      }
    }
  }
  /// The same of a row that is too long.
  void add_far_taps(Row& to, const T* row, std::int64_t pixel, const Span& span) const {
    A elements[most_columns];
    for (std::int64_t tap = 0; tap < across_.kernel; ++tap) {
      const std::int64_t column = span.left + tap, apart = across_.stride;
      std::fill_n(elements, span.padded, nothing);
      read(elements, row, column, apart, Inside(across_.extent, column, apart, span.padded));
      take<1>(to, {elements}, span.padded, [&](int, int k) { return pixel + tap + k * apart; });
    }
  }

  /// Reads those elements of a row, `apart` columns apart, that are inside.
  void read(A* to, const T* row, std::int64_t column, std::int64_t apart, const Inside& inside) const {
    const T* const from = row + column * x_.column;
    const std::int64_t step = apart * x_.column;
    if (step == 1) {
      for (int i = inside.first; i < inside.end; ++i) to[i] = static_cast<A>(from[i]);
    } else {
      for (int i = inside.first; i < inside.end; ++i) to[i] = static_cast<A>(from[i * step]);
    }
  }

  /// Adds an element of each list to windows, one list after the other, or joins parts of windows.
  template <int lists, class Pixel>
  static void take(Row& to, const std::array<const A*, lists>& values, int padded, const Pixel& pixel) {
    for (int begin = 0; begin < padded; begin += vector) {
      for (int k = begin; k < begin + vector; ++k) {
        for (int i = 0; i < lists; ++i) {
          const A value = values[i][k];
          if constexpr (!is_max) {
            to.value[k] += value;
          } else {
            const bool takes = is_larger(value, to.value[k]);
            to.value[k] = takes ? value : to.value[k];
            if constexpr (has_index) to.pixel[k] = takes ? pixel(i, k) : to.pixel[k];
          }
        }
      }
    }
  }

  void write(Row& windows, const PoolBlock<std::int64_t>& at, int columns) const {
    if constexpr (!is_max) {
      const std::int64_t rows = down_.size(at.row, exclusive_);
      for (int k = 0; k < columns; ++k) {
        windows.value[k] /= static_cast<A>(rows * across_.size(at.column + k, exclusive_));
      }
    }
    T* const to = static_cast<T*>(out_.data) + offset_of(out_, at);
    if (out_.column == 1) {
      for (int k = 0; k < columns; ++k) to[k] = static_cast<T>(windows.value[k]);
    } else {
      for (int k = 0; k < columns; ++k) to[k * out_.column] = static_cast<T>(windows.value[k]);
    }
    if constexpr (has_index) {
      auto* const to_index = static_cast<std::int64_t*>(index_.data) + offset_of(index_, at);
      for (int k = 0; k < columns; ++k) to_index[k * index_.column] = windows.pixel[k];
    }
  }

  static constexpr A nothing = is_max ? no_maximum<A> : A(0);

  PoolBlocks<std::int64_t> blocks_;
  PoolAxis down_, across_;
  PoolTensor x_, out_, index_;
  bool exclusive_;
};

}  // namespace portops::impl
