// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
#include "core/copy/copy_run.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/divisor_of.hpp"
#include "core/lanes/tile_shape.hpp"
#include "core/types/macros.hpp"

#include <algorithm>

namespace portops::impl {

struct alignas(16) WidestWord {
  std::uint64_t part[2];
};

/// to = from over a CopyPlan, on a GPU: a word's place on each side is found from its number, by a multiplication an
/// axis. `same_axes` is the plan's: then the word has the same position along the axes of both. Index may be
/// int where the plan is small.
template <class Word, bool same_axes, class Index>
class CopyWords {
 public:
  /// Teams that should fit a multiprocessor at once, which limits the registers of a thread.
  static constexpr int blocks = sizeof(Index) == 4 ? 6 : 4;

  explicit CopyWords(const CopyPlan& plan) : size_(static_cast<Index>(plan.size)), from_(plan.from), to_(plan.to) {}

  std::int64_t items() const { return ceil_div(std::int64_t{size_}, words) << thread_bits; }

  /// Takes every 256th of its team's words: neighbours read neighbours, and all loads are under way together.
  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const auto first = static_cast<Index>((item >> thread_bits) * words + (item & (threads - 1)));
    Word loaded[batch];
    Index to_offset[batch];
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      const Index index = first + k * threads;
      if (index >= size_) continue;
      Index from_offset = 0;
      to_offset[k] = 0;
      if constexpr (same_axes) {
        locate(from_.axes, index, [&](int axis, Index along) {
          from_offset += along * from_.axes.stride[axis];
          to_offset[k] += along * to_.axes.stride[axis];
        });
      } else {
        from_offset = offset(from_.axes, index);
        to_offset[k] = offset(to_.axes, index);
      }
      loaded[k] = from_.data[from_offset];
    }
    PORTOPS_UNROLL
    for (int k = 0; k < batch; ++k) {
      if (first + k * threads < size_) to_.data[to_offset[k]] = loaded[k];
    }
  }

 private:
  static constexpr int thread_bits = 8;
  static constexpr int threads = 1 << thread_bits;
  static constexpr int batch = sizeof(Word) == 16 ? 2 : sizeof(Word) == 2 ? 8 : 4;
  static constexpr int words = batch * threads;  ///< of a team

  struct Axes {
    int rank;
    Index extent[max_rank];
    Index stride[max_rank];
    DivisorOf<Index> divisor[max_rank];
  };
  struct Side {
    Side(const CopyPlan::Side& from) : data(reinterpret_cast<Word*>(from.data)) {  // NOLINT: implicit for brevity
      axes.rank = from.axes.rank;
      for (int axis = 0; axis < axes.rank; ++axis) {
        axes.extent[axis] = static_cast<Index>(from.axes.extent[axis]);
        axes.stride[axis] = static_cast<Index>(from.axes.stride[axis]);
        axes.divisor[axis] = make_divisor(axes.extent[axis]);
      }
    }
    Word* data;
    Axes axes;
  };

  /// Calls action(axis, position along it) for each axis.
  template <class Action>
  KOKKOS_FORCEINLINE_FUNCTION static void locate(const Axes& axes, Index index, const Action& action) {
    PORTOPS_NO_UNROLL
    for (int axis = axes.rank - 1; axis > 0; --axis) {
      const auto outer = static_cast<Index>(axes.divisor[axis].quotient(index));
      action(axis, index - outer * axes.extent[axis]);
      index = outer;
    }
    if (axes.rank > 0) action(0, index);
  }

  KOKKOS_FORCEINLINE_FUNCTION static Index offset(const Axes& axes, Index index) {
    Index result = 0;
    locate(axes, index, [&](int axis, Index along) { result += along * axes.stride[axis]; });
    return result;
  }

  Index size_;
  Side from_, to_;
};

/// The same on a host: an item is a run of words, walked through along both sides' fastest axes.
template <class Word>
class CopyWordsHost {
 public:
  static constexpr int blocks = 0;  // a matter of GPUs

  explicit CopyWordsHost(const CopyPlan& plan) : plan_(plan), streaming_(writes_past_caches(plan)) {}

  std::int64_t items() const { return ceil_div(plan_.size, words); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((copy(item * words, std::min(plan_.size, (item + 1) * words));))
  }

 private:
  static constexpr std::int64_t words = (std::int64_t{1} << 17) / static_cast<std::int64_t>(sizeof(Word));

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
    void advance(std::int64_t count) {
      for (int axis = axes_.rank - 1; axis >= 0; --axis) {
        position_[axis] += count;
        at_ += count * axes_.stride[axis];
        if (position_[axis] < axes_.extent[axis]) return;
        position_[axis] = 0;
        at_ -= axes_.extent[axis] * axes_.stride[axis];
        count = 1;
      }
    }

   private:
    const StridedAxes& axes_;
    Word* at_;
    std::array<std::int64_t, max_rank> position_{};
  };

  void copy(std::int64_t first, std::int64_t end) const {
    Cursor from(plan_.from, first), to(plan_.to, first);
    while (first < end) {
      const std::int64_t count = std::min({from.left(), to.left(), end - first});
      copy_run(to.at(), to.stride(), from.at(), from.stride(), count);
      from.advance(count);
      to.advance(count);
      first += count;
    }
    if (streaming_) host::end_of_streaming();
  }

  void copy_run(Word* to, std::int64_t to_stride, const Word* from, std::int64_t from_stride,
                std::int64_t count) const {
    constexpr std::size_t worth_it = 256;
    if (to_stride == 1 && from_stride == 1) {
      host::copy_run(to, from, count, streaming_, worth_it);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
    }
  }

  CopyPlan plan_;
  bool streaming_;
};

}  // namespace portops::impl
