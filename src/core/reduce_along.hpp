// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes.hpp"
#include "core/rows.hpp"
#include "core/spaces.hpp"

#include <bit>

namespace portops::impl {

/// Reduces rows on a GPU: a group of lanes takes a part of a result, each lane every lanes-th pack of its rows.
template <Backend B, class T, class F>
class ReduceAlong {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  /// Packs whose loads are issued before the first is used.
  static constexpr int batch = 2;
  /// Teams that should fit a multiprocessor at once.
  static constexpr int blocks = 6;
  static constexpr int threads = reduce_along_threads;

  ReduceAlong(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f),
        axes_(plan),
        parts_(plan),
        x_(plan.operand[x]),
        out_(plan.operand[out]),
        partials_(partials),
        groups_(plan.kept * plan.parts()),
        lane_bits_(std::countr_zero(static_cast<unsigned>(plan.lanes))) {}

  KOKKOS_FUNCTION std::int64_t teams() const { return (groups_ + slots() - 1) / slots(); }
  KOKKOS_FUNCTION std::size_t scratch_bytes() const { return threads / 32 * sizeof(A); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const scratch = static_cast<A*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(), 16));
    const int slot = team.team_rank() >> lane_bits_;
    const int lane = team.team_rank() & (lanes() - 1);
    for (std::int64_t team_index = team.league_rank(); team_index < teams(); team_index += team.league_size()) {
      const std::int64_t group = team_index * slots() + slot;
      const bool active = group < groups_;
      const std::int64_t result = !active || parts_.parts == 1 ? group : quotient(group, parts_.parts);
      PartRange range{0, 0, 0, 0};
      const T* x = x_.data;
      if (active) {
        range = parts_.range(group - result * parts_.parts);
        x += axes_.kept_offset(x_, result) + range.first_column * x_.column_stride;
      }
      Partial<A> value{A(1), join_group(team, scratch, add_up(x, range, lane), f_.join())};
      if constexpr (F::rescales) {
        if (any_lane(active && !f_.is_safe(value.total))) rescale(team, scratch, x, range, lane, value);
      }
      if (lane != 0 || !active) continue;
      if (parts_.parts == 1) {
        out_.data[axes_.kept_offset(out_, result)] = static_cast<T>(f_.finish(value));
      } else {
        partials_[group] = value;
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << lane_bits_; }
  KOKKOS_FORCEINLINE_FUNCTION int slots() const { return threads >> lane_bits_; }

  /// What the lane's packs add up to.
  KOKKOS_FORCEINLINE_FUNCTION A add_up(const T* x, const PartRange& range, int lane) const {
    A sums[pack];
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) sums[i] = f_.identity();
    const int packs = range.columns / pack;
    const int tail = range.columns % pack;
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + axes_.run_offset(x_, range.first_run + run);
      for (int p = lane; p < packs; p += batch * lanes()) {
        T loaded[batch][pack];
        with_access<T, pack>(x_.access_bytes, [&]<int bytes>() {
          PORTOPS_UNROLL
          for (int b = 0; b < batch; ++b) {
            const int at = p + b * lanes();
            if (at < packs) {
              load_columns<bytes>(loaded[b], row + at * pack * x_.column_stride, x_.column_stride);
            } else {
              PORTOPS_UNROLL
              for (int i = 0; i < pack; ++i) loaded[b][i] = static_cast<T>(f_.fill());
            }
          }
        });
        PORTOPS_UNROLL
        for (int b = 0; b < batch; ++b) {
          PORTOPS_UNROLL
          for (int i = 0; i < pack; ++i) sums[i] = f_.add(sums[i], static_cast<A>(loaded[b][i]));
        }
      }
      if (tail != 0 && (packs & (lanes() - 1)) == lane) {
        PORTOPS_UNROLL
        for (int i = 0; i < pack - 1; ++i) {
          if (i < tail) sums[i] = f_.add(sums[i], static_cast<A>(row[(packs * pack + i) * x_.column_stride]));
        }
      }
    }
    return join_array(sums, f_.join());
  }

  /// Takes the result anew, relative to the element that dominates it.
  KOKKOS_FUNCTION void rescale(const Team& team, A* scratch, const T* x, const PartRange& range, int lane,
                               Partial<A>& value) const {
    A scale = f_.least_dominant();
    for_each(x, range, lane, [&](A element) { scale = f_.dominant()(scale, Kokkos::abs(element)); });
    scale = join_group(team, scratch, scale, f_.dominant());
    A total(0);
    for_each(x, range, lane, [&](A element) { total += f_.raise(Kokkos::abs(element) / scale); });
    total = join_group(team, scratch, total, f_.join());
    if (!f_.is_safe(value.total)) value = f_.rescaled(scale, total);
  }

  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const T* x, const PartRange& range, int lane, const Visit& visit) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + axes_.run_offset(x_, range.first_run + run);
      for (int first = lane * pack; first < range.columns; first += lanes() * pack) {
        PORTOPS_NO_UNROLL
        for (int i = first; i < first + pack && i < range.columns; ++i) visit(static_cast<A>(row[i * x_.column_stride]));
      }
    }
  }

  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION A join_group(const Team& team, A* scratch, A value, const Join& join) const {
    return join_over_group<threads>(team, scratch, value, lanes(), join);
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> x_;
  RowOperand<T> out_;
  Partial<A>* partials_;
  std::int64_t groups_;
  int lane_bits_;
};

}  // namespace portops::impl
