// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_plan.hpp"
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

}  // namespace portops::impl
