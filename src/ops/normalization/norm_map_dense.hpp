// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "ops/normalization/norm_map.hpp"

#include <algorithm>

namespace portops::impl {

/// The same as NormMap for planes that lie one behind the other in memory, where sides have a number for each channel:
/// a thread takes packs of the memory, which may reach from a plane into the next one. From the end on: what a
/// reduction has read last is still in a cache.
template <Backend B, class T, class F>
class NormMapDense {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 4;

  /// Rows of the plan are planes, and its last axis counts channels. Operands lie in it as they do in a kernel's
  /// arrays: inputs, sides, out.
  static bool suits(const ReducePlan& plan) {
    if (plan.rank > 2 || plan.columns < width) return false;
    const std::int64_t channels = plan.rank == 0 ? 1 : plan.extent[static_cast<std::size_t>(plan.rank - 1)];
    for (int k = 0; k < operands; ++k) {
      const ReducePlan::Operand& operand = plan.operand[static_cast<std::size_t>(k)];
      const bool is_side = k >= F::inputs && k < operands - 1;
      if (operand.column_stride != (is_side ? 0 : 1)) return false;
      if (!is_side && reinterpret_cast<std::uintptr_t>(operand.data) % gpu_pack_bytes != 0) return false;
      if (!is_side && plan.rank > 0 && operand.stride[channel_axis(plan)] != plan.columns) return false;
      if (plan.rank == 2 && operand.stride[0] != (is_side ? 0 : plan.columns * channels)) return false;
    }
    return true;
  }

  NormMapDense(const NormRows<T, F>& rows, const ReducePlan& plan)
      : out_(reinterpret_cast<T*>(plan.operand[operands - 1].data)),
        size_(plan.runs * plan.columns),
        packs_(ceil_div(size_, width)),
        columns_(plan.columns),
        by_columns_(plan.columns),
        has_whole_packs_(plan.columns % width == 0),
        channels_(plan.rank == 0 ? 1 : plan.extent[channel_axis(plan)]),
        by_channels_(channels_) {
    for (int k = 0; k < F::inputs; ++k) in_[k] = rows.in[k].data;
    for (int k = 0; k < F::sides; ++k) {
      side_[k] = rows.side[k];
      stride_[k] =
          plan.rank == 0 ? 0 : plan.operand[static_cast<std::size_t>(operand_of_side<F>(k))].stride[channel_axis(plan)];
    }
  }

  std::int64_t items() const { return ceil_div(packs_, batch * warp) * warp; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    // A warp's packs lie side by side.
    const std::int64_t behind = packs_ - 1 - ((item & ~std::int64_t{warp - 1}) * batch + (item & (warp - 1)));
    Word<T, width> in[batch][F::inputs];
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const std::int64_t first = (behind - b * warp) * width;
      PORTOPS_UNROLL
      for (int k = 0; k < F::inputs; ++k) {
        if (first >= 0) load(in[b][k], in_[k] + first, size_ - first);
      }
    }
    PORTOPS_UNROLL
    for (int b = 0; b < batch; ++b) {
      const std::int64_t first = (behind - b * warp) * width;
      if (first >= 0) take(first, in[b]);
    }
  }

 private:
  static constexpr int warp = 32;
  static constexpr int width = gpu_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int batch = 2;
  static constexpr int operands = F::inputs + planned_sides<F> + 1;

  static std::size_t channel_axis(const ReducePlan& plan) { return static_cast<std::size_t>(plan.rank - 1); }

  KOKKOS_FORCEINLINE_FUNCTION static void load(Word<T, width>& word, const T* from, std::int64_t left) {
    if (left >= width) {
      word = *reinterpret_cast<const Word<T, width>*>(in_device_memory(from));
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        if (i < left) word.set(i, from[i]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void take(std::int64_t first, const Word<T, width> (&in)[F::inputs]) const {
    const std::int64_t plane = by_columns_.quotient(first);
    const std::int64_t channel = plane - by_channels_.quotient(plane) * channels_;
    const std::int64_t left = (plane + 1) * columns_ - first;  // to the plane's end
    A side[F::sides];
    load_sides(channel, side);
    Word<T, width> results;
    if (has_whole_packs_) {
      results = map_steady_pack<T, F>(in, side);
    } else {
      A next_side[F::sides], sides[F::sides][width];
      PORTOPS_UNROLL
      for (int k = 0; k < F::sides; ++k) next_side[k] = side[k];
      if (left < width) load_sides(channel + 1 < channels_ ? channel + 1 : 0, next_side);
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        PORTOPS_UNROLL
        for (int k = 0; k < F::sides; ++k) sides[k][i] = i < left ? side[k] : next_side[k];
      }
      results = map_pack<T, F>(in, sides);
    }
    T* const to = out_ + first;
    if (first + width <= size_) {
      *reinterpret_cast<Word<T, width>*>(in_device_memory(to)) = results;
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < width; ++i) {
        if (first + i < size_) to[i] = results[i];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_sides(std::int64_t channel, A (&values)[F::sides]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) values[k] = side_[k].get(channel * stride_[k]);
  }

  const T* in_[F::inputs];
  T* out_;
  Side<T> side_[F::sides];
  std::int64_t stride_[F::sides];  ///< of sides, from channel to channel
  std::int64_t size_;
  std::int64_t packs_;
  std::int64_t columns_;
  IndexDivisor by_columns_;
  bool has_whole_packs_;  ///< none reaches from a plane into the next one
  std::int64_t channels_;
  IndexDivisor by_channels_;
};

}  // namespace portops::impl
