// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/spaces.hpp"
#include "core/lanes/column_access.hpp"
#include "ops/normalization/norm_rows.hpp"

#include <algorithm>

namespace portops::impl {

/// What a map makes of a pack of columns, in a GPU's thread.
template <class T, class F, int width>
KOKKOS_FORCEINLINE_FUNCTION Word<T, width> map_pack(const Word<T, width> (&in)[F::inputs],
                                                    const Arithmetic<T> (&sides)[F::sides][width]) {
  using A = Arithmetic<T>;
  Word<T, width> results;
  PORTOPS_UNROLL
  for (int i = 0; i < width; ++i) {
    A values[F::inputs], side[F::sides];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(in[k][i]);
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) side[k] = sides[k][i];
    results.set(i, static_cast<T>(F::template written<T>(F()(values, side))));
  }
  return results;
}

/// The same where sides are the same for all of its elements.
template <class T, class F, int width>
KOKKOS_FORCEINLINE_FUNCTION Word<T, width> map_steady_pack(const Word<T, width> (&in)[F::inputs],
                                                           const Arithmetic<T> (&sides)[F::sides]) {
  using A = Arithmetic<T>;
  Word<T, width> results;
  PORTOPS_UNROLL
  for (int i = 0; i < width; ++i) {
    A values[F::inputs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) values[k] = static_cast<A>(in[k][i]);
    results.set(i, static_cast<T>(F::template written<T>(F()(values, sides))));
  }
  return results;
}

/// out = f(inputs, sides), element by element, on a GPU: a thread takes a pack, whose place follows from its number.
/// The last ones come first: what a reduction has read at the end is still in a cache.
template <Backend B, class T, class F>
class NormMap {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  NormMap(const NormRows<T, F>& rows, const ReducePlan& plan, int out)
      : rows_(rows),
        out_(plan.operand[out]),
        row_packs_(plan.columns / plan.pack),
        by_row_packs_(row_packs_),
        items_(plan.runs * row_packs_) {
    rows_.packs = rows_.packs && out_.packs;
    // Operands lie in the plan as they do in a kernel's arrays: inputs, sides, out.
    for (int k = 0; k < operands; ++k) {
      for (int axis = 0; axis < max_rank; ++axis) outer_[k].stride[axis] = plan.operand[k].stride[axis];
    }
  }

  std::int64_t items() const { return items_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t place = items_ - 1 - item, row = by_row_packs_.quotient(place);
    const std::int64_t column = (place - row * row_packs_) * rows_.pack;
    with_access<widest>(rows_.pack, rows_.packs, [&]<class Access>(Access) { take<Access>(row, column); });
  }

 private:
  static constexpr int widest = reduce_along_pack_bytes / static_cast<int>(sizeof(T));
  static constexpr int operands = F::inputs + planned_sides<F> + 1;
  struct Outer {
    std::int64_t stride[max_rank];
  };

  template <class Access>
  KOKKOS_FORCEINLINE_FUNCTION void take(std::int64_t row, std::int64_t column) const {
    constexpr int width = Access::width;
    const int count = Access::count(rows_.pack);
    std::int64_t offset[operands] = {};
    add_offsets(offset, outer_, row, rows_.axes.extent, 0, rows_.axes.rank);
    const auto at = [&](const auto& operand, int k) { return offset[k] + column * operand.column_stride; };
    Word<T, width> in[F::inputs];
    PORTOPS_UNROLL
    for (int k = 0; k < F::inputs; ++k) {
      in[k] = Word<T, width>(static_cast<T>(0.0f));
      Access::load(in[k], rows_.in[k].data + at(rows_.in[k], k), rows_.in[k].column_stride, count);
    }
    A sides[F::sides][width];
    PORTOPS_UNROLL
    for (int k = 0; k < F::sides; ++k) {
      rows_.side[k].load(sides[k], at(rows_.side[k].operand, operand_of_side<F>(k)), count);
    }
    Access::store(out_.data + at(out_, operands - 1), map_pack<T, F>(in, sides), out_.column_stride, count);
  }

  NormRows<T, F> rows_;
  RowOperand<T> out_;
  Outer outer_[operands];
  std::int64_t row_packs_;
  IndexDivisor by_row_packs_;
  std::int64_t items_;
};

/// Writes a chunk of columns: out = f(inputs, sides).
template <class F, class T>
void map_chunk(const T* const (&in)[F::inputs], const std::int64_t (&in_stride)[F::inputs],
               const Arithmetic<T> (&sides)[F::sides][HostRows::chunk], T* out, std::int64_t out_stride, int count,
               bool streaming) {
  using A = Arithmetic<T>;
  constexpr int chunk = HostRows::chunk;
  alignas(64) A values[F::inputs][chunk];
  for (int k = 0; k < F::inputs; ++k) {
    HostRows::load<T>(values[k], in[k], in_stride[k], count);
    std::fill(values[k] + count, values[k] + chunk, A(0));
  }
  alignas(64) A results[chunk];
  PORTOPS_NO_UNROLL
  for (int i = 0; i < chunk; ++i) {
    A value[F::inputs], side[F::sides];
    for (int k = 0; k < F::inputs; ++k) value[k] = values[k][i];
    for (int k = 0; k < F::sides; ++k) side[k] = sides[k][i];
    results[i] = F::template written<T>(F()(value, side));
  }
  if (streaming && out_stride == 1 && count == chunk) {
    host::store<T, chunk>(out, results, true);
  } else {
    HostRows::store<T>(out, results, out_stride, count);
  }
}

/// The same on a host: a thread takes some chunks of columns, row by row.
template <class T, class F>
class NormMapHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  NormMapHost(const NormRows<T, F>& rows, const ReducePlan& plan, int out, bool streaming)
      : rows_(rows),
        out_(plan.operand[out]),
        columns_(plan.columns),
        row_chunks_(ceil_div(plan.columns, HostRows::chunk)),
        chunks_(plan.runs * row_chunks_),
        streaming_(streaming) {}

  std::int64_t items() const { return ceil_div(chunks_, chunks_of_item); }

  void operator()(std::int64_t item) const {
    const std::int64_t end = std::min(chunks_, (item + 1) * chunks_of_item);
    for (std::int64_t i = item * chunks_of_item; i < end; ++i) {
      const std::int64_t row = i / row_chunks_;
      take(row, (i - row * row_chunks_) * HostRows::chunk);
    }
    host::end_of_streaming();
  }

 private:
  static constexpr std::int64_t chunks_of_item = 128;

  void take(std::int64_t row, std::int64_t column) const {
    const int count = static_cast<int>(std::min<std::int64_t>(HostRows::chunk, columns_ - column));
    const auto at = [&](const auto& operand) {
      return rows_.axes.run_offset(operand, row) + column * operand.column_stride;
    };
    const T* in[F::inputs];
    std::int64_t stride[F::inputs];
    for (int k = 0; k < F::inputs; ++k) {
      in[k] = rows_.in[k].data + at(rows_.in[k]);
      stride[k] = rows_.in[k].column_stride;
    }
    alignas(64) A sides[F::sides][HostRows::chunk];
    for (int k = 0; k < F::sides; ++k) rows_.side[k].load_chunk(sides[k], at(rows_.side[k].operand), count);
    map_chunk<F>(in, stride, sides, out_.data + at(out_), out_.column_stride, count, streaming_);
  }

  NormRows<T, F> rows_;
  RowOperand<T> out_;
  std::int64_t columns_;
  std::int64_t row_chunks_;
  std::int64_t chunks_;
  bool streaming_;
};

}  // namespace portops::impl
