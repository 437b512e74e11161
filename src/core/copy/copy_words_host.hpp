// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/copy/copy_run.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/host_caches.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace portops::impl {

/// to = from over a CopyPlan, on a host: an item is so many words, walked through along both sides' fastest axes. Runs
/// of whole lines of memory that are written past the caches may be written in any order: they are taken as they are
/// read.
template <class Word>
class CopyWordsHost {
 public:
  static constexpr int blocks = 0;  // a matter of GPUs

  explicit CopyWordsHost(const CopyPlan& plan)
      : plan_(plan),
        streaming_(exceeds_host_caches(plan.size * plan.word_bytes)),
        whole_lines_(streaming_ && has_whole_lines()) {
    if (whole_lines_) order_as_read();
  }

  std::int64_t items() const { return ceil_div(plan_.size, words); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((copy(item * words, std::min(plan_.size, (item + 1) * words));))
  }

 private:
  static constexpr std::int64_t words = (std::int64_t{1} << 17) / static_cast<std::int64_t>(sizeof(Word));
  static constexpr int line = 64;

  /// Whether all that lies side by side on both sides makes up whole lines of memory where it is written.
  bool has_whole_lines() const {
    const StridedAxes& axes = plan_.to.axes;
    const int last = axes.rank - 1;
    if (!plan_.same_axes || last < 1 || axes.stride[last] != 1 || plan_.from.axes.stride[last] != 1) return false;
    auto bits =
        reinterpret_cast<std::uintptr_t>(plan_.to.data) | static_cast<std::uint64_t>(axes.extent[last]) * sizeof(Word);
    for (int axis = 0; axis < last; ++axis) bits |= static_cast<std::uint64_t>(axes.stride[axis]) * sizeof(Word);
    return bits % line == 0;
  }

  /// Sorts all axes but the last one by how far neighbours lie apart where they are read.
  void order_as_read() {
    StridedAxes &from = plan_.from.axes, &to = plan_.to.axes;
    for (int sorted = 1; sorted < from.rank - 1; ++sorted) {
      for (int axis = sorted; axis > 0 && std::abs(from.stride[axis]) > std::abs(from.stride[axis - 1]); --axis) {
        for (StridedAxes* axes : {&from, &to}) {
          std::swap(axes->extent[axis], axes->extent[axis - 1]);
          std::swap(axes->stride[axis], axes->stride[axis - 1]);
        }
      }
    }
  }

  /// A place on one side.
  class Cursor {
   public:
    Cursor(const CopyPlan::Side& side, std::int64_t index) : axes_(side.axes), at_(reinterpret_cast<Word*>(side.data)) {
      for (int axis = axes_.rank - 1; axis >= 0; --axis) {
        position_[axis] = index % axes_.extent[axis];
        index /= axes_.extent[axis];
        at_ += position_[axis] * axes_.stride[axis];
      }
    }

    Word* at() const { return at_; }
    std::int64_t stride() const { return axes_.rank > 0 ? axes_.stride[axes_.rank - 1] : 0; }
    /// Words up to the end of the fastest axis.
    std::int64_t left() const { return axes_.rank > 0 ? axes_.extent[axes_.rank - 1] - position_[axes_.rank - 1] : 1; }
    /// No further than left() says.
    void advance(std::int64_t count) { advance(axes_.rank - 1, count); }

    /// Runs up to the end of the second fastest axis, where the first of them begins here.
    std::int64_t runs_left() const {
      const int axis = axes_.rank - 2;
      return axis >= 0 && position_[axis + 1] == 0 ? axes_.extent[axis] - position_[axis] : 0;
    }
    std::int64_t run_stride() const { return axes_.stride[axes_.rank - 2]; }
    /// No further than runs_left() says.
    void advance_runs(std::int64_t count) { advance(axes_.rank - 2, count); }

   private:
    void advance(int axis, std::int64_t count) {
      for (; axis >= 0; --axis) {
        position_[axis] += count;
        at_ += count * axes_.stride[axis];
        if (position_[axis] < axes_.extent[axis]) return;
        position_[axis] = 0;
        at_ -= axes_.extent[axis] * axes_.stride[axis];
        count = 1;
      }
    }

    const StridedAxes& axes_;
    Word* at_;
    std::array<std::int64_t, max_rank> position_{};
  };

  void copy(std::int64_t first, std::int64_t end) const {
    Cursor from(plan_.from, first), to(plan_.to, first);
    while (first < end) {
      const std::int64_t count = std::min({from.left(), to.left(), end - first});
      const std::int64_t runs = plan_.same_axes ? std::min(to.runs_left(), (end - first) / count) : 0;
      if (runs > 0) {
        copy_runs(to, from, count, runs);
        from.advance_runs(runs);
        to.advance_runs(runs);
        first += runs * count;
      } else {
        copy_run(to.at(), to.stride(), from.at(), from.stride(), count);
        from.advance(count);
        to.advance(count);
        first += count;
      }
    }
    if (streaming_) host::end_of_streaming();
  }

  void copy_runs(const Cursor& to, const Cursor& from, std::int64_t count, std::int64_t runs) const {
    Word* target = to.at();
    const Word* source = from.at();
    for (std::int64_t run = 0; run < runs; ++run, target += to.run_stride(), source += from.run_stride()) {
      copy_run(target, to.stride(), source, from.stride(), count);
    }
  }

  void copy_run(Word* to, std::int64_t to_stride, const Word* from, std::int64_t from_stride,
                std::int64_t count) const {
    constexpr std::size_t worth_it = 256;
    if (whole_lines_) {
      stream_lines(to, from, count);
    } else if (to_stride == 1 && from_stride == 1) {
      host::copy_run(to, from, count, streaming_, worth_it);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
    }
  }

  static void stream_lines(Word* to, const Word* from, std::int64_t count) {
    constexpr auto words_of_line = static_cast<std::int64_t>(line / sizeof(Word));
    for (std::int64_t i = 0; i < count; i += words_of_line) {
      alignas(line) std::byte bytes[line];
      std::memcpy(bytes, from + i, line);
      host::stream(reinterpret_cast<std::byte*>(to + i), bytes);
    }
  }

  CopyPlan plan_;
  bool streaming_;
  bool whole_lines_;  ///< of memory, which are streamed
};

}  // namespace portops::impl
