// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "core/map/flat_plan.hpp"
#include "core/map/map_operand.hpp"
#include "core/types/macros.hpp"

namespace portops::impl {

/// Whether a functor says that what it computes of an element takes longer than the element.
template <class F>
inline constexpr bool computes_long = requires { requires F::computes_long; };

/// Whether a functor says that it computes by branches: see store_pack_at_once().
template <class F>
inline constexpr bool branches = requires { requires F::branches; };

/// outputs = f(inputs) over a FlatPlan.
///
/// The first work items take a run of packs each (one or two on a GPU, more on a host). What is left are the packs
/// behind the last run, and the elements before the first pack and after the last: on a GPU an item each, on a host one
/// for all of them. `form` is the plan's: the code for more than it needs would cost registers.
template <Backend B, class T, class F, FlatForm form>
class MapFlat {
 public:
  using A = Arithmetic<T>;
  static constexpr int pack = tile_shape(B, ElementTypeOf<T>::value).pack;
  static constexpr int inputs = F::inputs;
  static constexpr int operands = inputs + F::outputs;
  /// Teams that should fit a GPU's multiprocessor at once: all that it can hold, if registers allow; three where
  /// threads find elements by positions. 0: as it comes.
  static constexpr int blocks = form == FlatForm::elements ? 3 : operands <= 4 ? 8 : 0;

  MapFlat(const F& f, const FlatPlan& plan)
      : f_(f),
        head_(plan.head),
        rank_(plan.rank),
        size_(plan.size),
        streaming_(plan.streaming),
        small_(plan.has_small_indices) {
    // Long runs where stores are streamed, because each ends with a fence; else short ones, to share little work out.
    // So little that it takes no longer than to wake other threads is one item.
    const std::int64_t packs = (plan.size - plan.head) / pack;
    host_packs_ = plan.streaming ? 512 : plan.size <= host_alone ? host_alone / pack : 8;
    runs_ = B == Backend::cuda ? packs / (run_packs() * warp) * warp : packs / run_packs();
    single_packs_ = static_cast<int>(packs - runs_ * run_packs());
    take_operands(operand_, plan.operand);
    if constexpr (form != FlatForm::packs) {
      for (int axis = 0; axis < plan.rank; ++axis) {
        stride_.extent[axis] = static_cast<Stride>(plan.extent[axis]);
        if (plan.size <= INT32_MAX) stride_.divisor[axis] = Divisor(static_cast<std::uint32_t>(plan.extent[axis]));
        for (int k = 0; k < operands; ++k) stride_.of[k][axis] = static_cast<Stride>(plan.operand[k].stride[axis]);
      }
    }
  }

  std::int64_t items() const {
    const std::int64_t others = single_packs_ + edges();
    return runs_ + (B == Backend::cuda ? others : others > 0 ? 1 : 0);
  }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    if constexpr (B == Backend::cuda) {
      if (gpu_run > 1 && item < runs_) {
        // A warp's packs lie side by side.
        map_packs_apart<gpu_run>(head_ + ((item & ~std::int64_t{warp - 1}) * gpu_run + (item & (warp - 1))) * pack);
      } else if (item < runs_ + single_packs_) {
        map_packs_apart<1>(head_ + (runs_ * (gpu_run - 1) + item) * pack);
      } else {
        map_edge(item - runs_ - single_packs_);
      }
    } else if (item < runs_) {
      map_packs(head_ + item * (run_packs() * pack), run_packs());
    } else {
      map_packs(head_ + runs_ * (run_packs() * pack), single_packs_);
      for (std::int64_t edge = 0; edge < edges(); ++edge) map_edge(edge);
    }
  }

 private:
  static constexpr int host_alone = 2048;  ///< elements
  static constexpr int warp = 32;
  /// Packs of a GPU's item: what it takes to find them is shared by two, where the functor says that it computes long.
  /// Those of 16-bit elements are long by themselves.
  static constexpr int gpu_run = form == FlatForm::packs && computes_long<F> && sizeof(T) > 2 ? 2 : 1;

  using Operand = MapFlatOperand<T>;

  /// The loop's axes, for operands that are found by positions.
  using Stride = std::conditional_t<form == FlatForm::rows, int, std::int64_t>;
  struct Strides {
    Stride extent[max_rank];
    Divisor divisor[max_rank];  ///< of the extents, where all indices are less than 2^31
    Stride of[operands][max_rank];
  };
  struct Nothing {};

  KOKKOS_FORCEINLINE_FUNCTION int run_packs() const { return B == Backend::cuda ? gpu_run : host_packs_; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t packs() const { return runs_ * run_packs() + single_packs_; }

  /// The elements before the first pack and after the last.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t edges() const { return size_ - packs() * pack; }

  KOKKOS_FORCEINLINE_FUNCTION void map_packs(std::int64_t first, int count) const {
    for (int p = 0; p < count; ++p) map_pack<pack>(first + p * pack);
    if (streaming_) end_of_streaming<B>();
  }
  KOKKOS_FORCEINLINE_FUNCTION void map_edge(std::int64_t edge) const {
    map_pack<1>(edge < head_ ? edge : edge + packs() * pack);
  }

  /// Maps `count` packs from `at` on, a warp's packs apart, which are all on their way before the first one is mapped.
  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void map_packs_apart(std::int64_t at) const {
    A in[count][inputs][pack];
    PORTOPS_UNROLL
    for (int p = 0; p < count; ++p) load_inputs(at + p * (warp * pack), in[p]);
    PORTOPS_UNROLL
    for (int p = 0; p < count; ++p) map_inputs(at + p * (warp * pack), in[p]);
  }

  /// Maps N elements from `at` on: a whole pack, or one.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void map_pack(std::int64_t at) const {
    A in[inputs][N];
    load_inputs(at, in);
    map_inputs(at, in);
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void load_inputs(std::int64_t at, A (&in)[inputs][N]) const {
    if constexpr (form == FlatForm::rows && N == pack) {
      // First what need not wait for its position to be worked out.
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        if (operand_[k].access <= FlatAccess::packs) load(k, at, in[k]);
      }
      int offset[inputs];
      locate_pack(static_cast<int>(at), offset);
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        if (operand_[k].access > FlatAccess::packs) load_by_row(operand_[k], offset[k], in[k]);
      }
    } else if constexpr (B == Backend::cuda && form == FlatForm::elements) {
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        if (operand_[k].access != FlatAccess::gathered) load(k, at, in[k]);
      }
      if (small_ && N == pack) {
        gather_pack(static_cast<int>(at), in);
      } else {
        gather_far(at, in);
      }
    } else {
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) load(k, at, in[k]);
    }
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void map_inputs(std::int64_t at, const A (&in)[inputs][N]) const {
    A out[F::outputs][N];
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) apply<N>(f_, in, out, i);
    PORTOPS_UNROLL
    for (int k = 0; k < F::outputs; ++k) store(operand_[inputs + k], at, out[k]);
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void load(int k, std::int64_t at, A (&values)[N]) const {
    const Operand& operand = operand_[k];
    if (operand.access == FlatAccess::none || operand.access == FlatAccess::single) {
      const A value = operand.access == FlatAccess::single ? static_cast<A>(*operand.data) : operand.number;
      for (int i = 0; i < N; ++i) values[i] = value;
      return;
    }
    if constexpr (B != Backend::cuda && form == FlatForm::elements) {
      if (operand.access == FlatAccess::gathered) return gather(k, at, values);
    }
    if (N == pack && (form != FlatForm::elements || operand.access == FlatAccess::packs)) {
      if constexpr (N == pack) convert_pack<B, T, N>(values, read_pack<B, T, N>(operand.data + at), N);
    } else {
      for (int i = 0; i < N; ++i) values[i] = static_cast<A>(operand.data[at + i]);
    }
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void store(const Operand& operand, std::int64_t at, const A (&values)[N]) const {
    if (operand.access == FlatAccess::none) return;
    if constexpr (N == pack) {
      if (form != FlatForm::elements || operand.access == FlatAccess::packs) {
        if constexpr (B == Backend::cuda && branches<F>) return store_pack_at_once(operand.data + at, values);
        return store_pack<B, T, N>(operand.data + at, values, streaming_);
      }
    }
    store_elements<B, T, N>(operand.data + at, values, 1, N);
  }

  /// Calls visit(axis, position along it) for each axis of element `at`, the last one first, where indices fit 32 bits.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void visit_axes(int at, const Visit& visit) const {
    PORTOPS_NO_UNROLL
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const int outer = axis > 0 ? static_cast<int>(stride_.divisor[axis].quotient(static_cast<std::uint32_t>(at))) : 0;
      visit(axis, at - outer * static_cast<int>(stride_.extent[axis]));
      at = outer;
    }
  }

  /// Adds what so many steps along an axis are in the inputs.
  KOKKOS_FORCEINLINE_FUNCTION void add_steps(int (&offset)[inputs], int axis, int along) const {
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) offset[k] += along * static_cast<int>(stride_.of[k][axis]);
  }

  /// The offsets of the inputs at the position of element `at`.
  KOKKOS_FORCEINLINE_FUNCTION void locate_pack(int at, int (&offset)[inputs]) const {
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) offset[k] = 0;
    visit_axes(at, [&](int axis, int along) { add_steps(offset, axis, along); });
  }

  KOKKOS_FORCEINLINE_FUNCTION static void load_by_row(const Operand& operand, int offset, A (&values)[pack]) {
    if (operand.access == FlatAccess::rows) {
      return convert_pack<B, T, pack>(values, read_pack<B, T, pack>(operand.data + offset), pack);
    }
    const A value = static_cast<A>(operand.data[offset]);
    for (int i = 0; i < pack; ++i) values[i] = value;
  }

  /// The same pack of all inputs, those that are gathered by rows of the last axis, whose places are found once for all
  /// of them: one, and where the pack reaches into it the next one.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void gather_pack(int at, A (&in)[inputs][N]) const {
    if constexpr (form == FlatForm::elements) {
      const int extent = static_cast<int>(stride_.extent[rank_ - 1]);
      RowPlace place;
      locate_row(at, place);
      if (extent < N) return gather_short_rows(at, place, in);
      const int left = extent - place.along;
      RowPlace next = place;
      if (left < N) locate_row(at + left, next);
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        if (operand_[k].access != FlatAccess::gathered) continue;
        const std::int64_t step = stride_.of[k][rank_ - 1];
        const T* const from = operand_[k].data + (place.offset[k] + place.along * step);
        const T* const behind = operand_[k].data + (next.offset[k] - left * step);
        if (step == 0) {
          const A value = static_cast<A>(*from), value_behind = static_cast<A>(*behind);
          PORTOPS_UNROLL
          for (int i = 0; i < N; ++i) in[k][i] = i < left ? value : value_behind;
        } else {
          T elements[N];
          PORTOPS_UNROLL
          for (int i = 0; i < N; ++i) elements[i] = (i < left ? from : behind)[i * step];
          PORTOPS_UNROLL
          for (int i = 0; i < N; ++i) in[k][i] = static_cast<A>(elements[i]);
        }
      }
    }
  }

  /// Where a row of the last axis begins in each input, and where in it, and in the axis before, an element is.
  struct RowPlace {
    int offset[inputs];
    int along;
    int row;
  };

  KOKKOS_FORCEINLINE_FUNCTION void locate_row(int at, RowPlace& place) const {
    place.row = 0;
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) place.offset[k] = 0;
    visit_axes(at, [&](int axis, int along) {
      if (axis == rank_ - 1) {
        place.along = along;
      } else {
        if (axis == rank_ - 2) place.row = along;
        add_steps(place.offset, axis, along);
      }
    });
  }

  /// Of rows that are shorter than a pack. Of two axes the place of each element is found by a division; else the next
  /// row by an addition, as long as the axis before has one.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void gather_short_rows(int at, RowPlace place, A (&in)[inputs][N]) const {
    const int last = rank_ - 1, extent = static_cast<int>(stride_.extent[last]);
    T elements[inputs][N];
    if (rank_ == 2) {
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        if (operand_[k].access != FlatAccess::gathered) continue;
        const int row_stride = static_cast<int>(stride_.of[k][0]), stride = static_cast<int>(stride_.of[k][1]);
        PORTOPS_UNROLL
        for (int i = 0; i < N; ++i) {
          const int row = static_cast<int>(stride_.divisor[1].quotient(static_cast<std::uint32_t>(at + i)));
          elements[k][i] = operand_[k].data[row * row_stride + (at + i - row * extent) * stride];
        }
      }
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) {
        PORTOPS_UNROLL
        for (int k = 0; k < inputs; ++k) {
          if (operand_[k].access != FlatAccess::gathered) continue;
          elements[k][i] = operand_[k].data[place.offset[k] + place.along * static_cast<int>(stride_.of[k][last])];
        }
        if (++place.along < extent || i + 1 == N) continue;
        place.along = 0;
        if (last > 0 && ++place.row < static_cast<int>(stride_.extent[last - 1])) {
          add_steps(place.offset, last - 1, 1);
        } else {
          locate_row(at + i + 1, place);
        }
      }
    }
    PORTOPS_UNROLL
    for (int k = 0; k < inputs; ++k) {
      if (operand_[k].access != FlatAccess::gathered) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) in[k][i] = static_cast<A>(elements[k][i]);
    }
  }

  /// Reads elements of all inputs by their positions, which are worked out anew wherever a row of the last axis starts.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void gather_far(std::int64_t at, A (&in)[inputs][N]) const {
    std::int64_t offset[inputs];
    std::int64_t left = 0;
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) {
      if (left == 0) {
        PORTOPS_UNROLL
        for (int k = 0; k < inputs; ++k) offset[k] = 0;
        left = locate(at + i, [&](int axis, std::int64_t along) {
          PORTOPS_UNROLL
          for (int k = 0; k < inputs; ++k) offset[k] += along * stride_.of[k][axis];
        });
      }
      PORTOPS_UNROLL
      for (int k = 0; k < inputs; ++k) {
        if (operand_[k].access != FlatAccess::gathered) continue;
        in[k][i] = static_cast<A>(operand_[k].data[offset[k]]);
        offset[k] += stride_.of[k][rank_ - 1];
      }
      --left;
    }
  }

  /// The same of one input, on hosts.
  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION void gather(int k, std::int64_t at, A (&values)[N]) const {
    const T* from = operand_[k].data;
    std::int64_t left = 0;
    for (int i = 0; i < N; ++i) {
      if (left == 0) {
        from = operand_[k].data;
        left = locate(at + i, [&](int axis, std::int64_t along) { from += along * stride_.of[k][axis]; });
      }
      values[i] = static_cast<A>(*from);
      from += stride_.of[k][rank_ - 1];
      --left;
    }
  }

  /// Calls visit(axis, position along it) for each axis of element `at`. Returns the number of elements to the end of
  /// its row.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t locate(std::int64_t at, const Visit& visit) const {
    std::int64_t left = 0;
    PORTOPS_NO_UNROLL
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const std::int64_t extent = stride_.extent[axis];
      const std::int64_t outer = axis == 0            ? 0
                                 : size_ <= INT32_MAX ? stride_.divisor[axis].quotient(static_cast<std::uint32_t>(at))
                                                      : at / extent;
      const std::int64_t along = at - outer * extent;
      visit(axis, along);
      if (axis == rank_ - 1) left = extent - along;
      at = outer;
    }
    return left;
  }

  F f_;
  int head_;
  int rank_;
  int host_packs_;    ///< of a run on a host
  int single_packs_;  ///< behind the last run
  std::int64_t runs_;
  std::int64_t size_;
  bool streaming_;
  bool small_;  ///< indices and offsets fit 32 bits
  std::conditional_t<form == FlatForm::packs, Nothing, Strides> stride_;
  Operand operand_[operands];
};

}  // namespace portops::impl
