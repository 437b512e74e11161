// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/host_rows.hpp"
#include "core/lanes.hpp"
#include "core/spaces.hpp"

#include <algorithm>

namespace portops::impl {

/// Adds values to sums, one to each.
template <class F, class A>
void add_columns(const F& f, A* __restrict__ sums, const A* __restrict__ values, int count) {
  constexpr int vector = 16;
  int i = 0;
  for (; i + vector <= count; i += vector) {
    for (int j = i; j < i + vector; ++j) sums[j] = f.add(sums[j], values[j]);
  }
  for (; i < count; ++i) sums[i] = f.add(sums[i], values[i]);
}

/// Joins the numbers of each lane's pack as join_array does, for all lanes together; `sums` becomes one a lane.
template <int pack, class A, class Join>
void join_packs(A* sums, int lanes, const Join& join) {
  if constexpr (pack > 1) {
    constexpr int half = pack / 2;
    A joined[reduce_along_threads * half];
    for (int lane = 0; lane < lanes; ++lane) {
      for (int i = 0; i < half; ++i) {
        joined[lane * half + i] = join(sums[lane * pack + i], sums[lane * pack + half + i]);
      }
    }
    join_packs<half>(joined, lanes, join);
    std::copy_n(joined, lanes, sums);
  }
}

/// Reduces rows on a host: one thread does what a GPU's group of lanes does, term by term into the same sums, which are
/// joined by the same tree.
template <Backend B, class T, class F>
class ReduceAlongHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;  // a matter of GPUs
  static constexpr int pack = reduce_along_pack_bytes / static_cast<int>(sizeof(T));

  ReduceAlongHost(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f),
        axes_(plan),
        parts_(plan),
        x_(plan.operand[x]),
        out_(plan.operand[out]),
        partials_(partials),
        groups_(plan.kept * plan.parts()),
        groups_of_item_(std::max<std::int64_t>(item_elements / (plan.part_columns * plan.part_runs), 1)),
        lanes_(plan.lanes) {}

  std::int64_t items() const { return ceil_div(groups_, groups_of_item_); }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const {
    KOKKOS_IF_ON_HOST((const std::int64_t end = std::min(groups_, (item + 1) * groups_of_item_);
                       for (std::int64_t group = item * groups_of_item_; group < end; ++group) reduce(group);))
  }

 private:
  void reduce(std::int64_t group) const {
    const std::int64_t result = group / parts_.parts;
    const PartRange range = parts_.range(group - result * parts_.parts);
    const T* const x = x_.data + axes_.kept_offset(x_, result) + range.first_column * x_.column_stride;
    Partial<A> value{A(1), add_up(x, range)};
    if constexpr (F::rescales) {
      if (!f_.is_safe(value.total)) value = rescale(x, range);
    }
    if (parts_.parts == 1) {
      out_.data[axes_.kept_offset(out_, result)] = static_cast<T>(f_.finish(value));
    } else {
      partials_[group] = value;
    }
  }

  A add_up(const T* x, const PartRange& range) const {
    alignas(64) A sums[reduce_along_threads * pack];
    if (lanes_ < 1) __builtin_unreachable();  // else GCC warns of sums that nobody set
    const int width = lanes_ * pack;
    std::fill_n(sums, width, f_.identity());
    const int step = std::min(width, chunk);
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + axes_.run_offset(x_, range.first_run + run);
      for (int c = 0; c < range.columns; c += step) {
        const int count = std::min(step, range.columns - c);
        A* const to = sums + (c & (width - 1));
        if constexpr (std::is_same_v<T, A>) {
          if (x_.column_stride == 1) {
            add_columns(f_, to, row + c, count);
            continue;
          }
        }
        alignas(64) A values[chunk];
        load<T>(values, row + c * x_.column_stride, x_.column_stride, count);
        add_columns<F, A>(f_, to, values, count);
      }
    }
    join_packs<pack>(sums, lanes_, f_.join());
    return join_lanes(sums, f_.join());
  }

  Partial<A> rescale(const T* x, const PartRange& range) const {
    A values[reduce_along_threads] = {};
    std::fill_n(values, lanes_, f_.least_dominant());
    for_each(x, range, [&](int lane, A element) { values[lane] = f_.dominant()(values[lane], std::abs(element)); });
    const A scale = join_lanes(values, f_.dominant());
    std::fill_n(values, lanes_, A(0));
    for_each(x, range, [&](int lane, A element) { values[lane] += f_.raise(std::abs(element) / scale); });
    return f_.rescaled(scale, join_lanes(values, f_.join()));
  }

  template <class Visit>
  void for_each(const T* x, const PartRange& range, const Visit& visit) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      const T* const row = x + axes_.run_offset(x_, range.first_run + run);
      for (int c = 0; c < range.columns; ++c) {
        visit(c / pack & (lanes_ - 1), static_cast<A>(row[c * x_.column_stride]));
      }
    }
  }

  /// Joins as the lanes of warps do, and then the warps.
  template <class Join>
  A join_lanes(A* values, const Join& join) const {
    constexpr int warp = 32;
    for (int first = 0; first < lanes_; first += warp) {
      for (int half = std::min(lanes_, warp) / 2; half > 0; half /= 2) {
        for (int lane = first; lane < first + half; ++lane) values[lane] = join(values[lane], values[lane + half]);
      }
    }
    for (int half = lanes_ / warp / 2; half > 0; half /= 2) {
      for (int w = 0; w < half; ++w) values[w * warp] = join(values[w * warp], values[(w + half) * warp]);
    }
    return values[0];
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> x_;
  RowOperand<T> out_;
  Partial<A>* partials_;
  std::int64_t groups_;
  std::int64_t groups_of_item_;
  int lanes_;
};

/// Reduces columns on a host: one thread takes what a GPU's slots share.
template <Backend B, class T, class F>
class ReduceDownHost : HostRows {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ReduceDownHost(const F& f, const ReducePlan& plan, int x, int out, Partial<A>* partials)
      : f_(f),
        axes_(plan),
        parts_(plan),
        x_(plan.operand[x]),
        out_(plan.operand[out]),
        partials_(partials),
        kept_(plan.kept),
        slots_(plan.slots),
        columns_of_item_(static_cast<int>(std::min<std::int64_t>(most_sums / plan.slots, plan.columns))),
        column_blocks_(ceil_div(plan.columns, columns_of_item_)) {}

  std::int64_t items() const { return kept_ * parts_.parts * column_blocks_; }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] std::int64_t item) const { KOKKOS_IF_ON_HOST((reduce(item);)) }

 private:
  /// Of all slots together.
  static constexpr int most_sums = 2048;

  void reduce(std::int64_t item) const {
    const std::int64_t rest = item / column_blocks_;
    const std::int64_t column = (item - rest * column_blocks_) * columns_of_item_;
    const std::int64_t kept = rest / parts_.parts;
    const std::int64_t part = rest - kept * parts_.parts;
    const PartRange range = parts_.range(part);
    const int count = static_cast<int>(std::min<std::int64_t>(columns_of_item_, parts_.columns - column));
    const T* const x = x_.data + axes_.kept_offset(x_, kept) + column * x_.column_stride;
    alignas(64) A sums[most_sums];
    std::fill_n(sums, slots_ * columns_of_item_, f_.identity());
    for (std::int64_t run = 0; run < range.runs; ++run) {
      A* const of_slot = sums + (run & (slots_ - 1)) * columns_of_item_;
      const T* const row = x + axes_.run_offset(x_, range.first_run + run);
      for (int c = 0; c < count; c += chunk) {
        alignas(64) A values[chunk];
        const int some = std::min(chunk, count - c);
        load<T>(values, row + c * x_.column_stride, x_.column_stride, some);
        add_columns<F, A>(f_, of_slot + c, values, some);
      }
    }
    for (int half = slots_ / 2; half > 0; half /= 2) {
      for (int i = 0; i < half * columns_of_item_; ++i) sums[i] = f_.join()(sums[i], sums[i + half * columns_of_item_]);
    }
    for (int c = 0; c < count; ++c) {
      Partial<A> value{A(1), sums[c]};
      if constexpr (F::rescales) {
        if (!f_.is_safe(value.total)) value = rescale(x + c * x_.column_stride, range);
      }
      if (parts_.parts == 1) {
        out_.data[axes_.kept_offset(out_, kept) + (column + c) * out_.column_stride] = static_cast<T>(f_.finish(value));
      } else {
        partials_[(kept * parts_.columns + column + c) * parts_.parts + part] = value;
      }
    }
  }

  Partial<A> rescale(const T* x, const PartRange& range) const {
    A values[reduce_down_threads] = {};
    std::fill_n(values, slots_, f_.least_dominant());
    for_each(x, range, [&](A& value, A element) { value = f_.dominant()(value, std::abs(element)); }, values);
    const A scale = join_slots(values, f_.dominant());
    std::fill_n(values, slots_, A(0));
    for_each(x, range, [&](A& value, A element) { value += f_.raise(std::abs(element) / scale); }, values);
    return f_.rescaled(scale, join_slots(values, f_.join()));
  }

  template <class Visit>
  void for_each(const T* x, const PartRange& range, const Visit& visit, A* values) const {
    for (std::int64_t run = 0; run < range.runs; ++run) {
      visit(values[run & (slots_ - 1)], static_cast<A>(x[axes_.run_offset(x_, range.first_run + run)]));
    }
  }

  template <class Join>
  A join_slots(A* values, const Join& join) const {
    for (int half = slots_ / 2; half > 0; half /= 2) {
      for (int s = 0; s < half; ++s) values[s] = join(values[s], values[s + half]);
    }
    return values[0];
  }

  F f_;
  RowAxes axes_;
  RowParts parts_;
  RowOperand<T> x_;
  RowOperand<T> out_;
  Partial<A>* partials_;
  std::int64_t kept_;
  int slots_;
  int columns_of_item_;
  std::int64_t column_blocks_;
};

}  // namespace portops::impl
