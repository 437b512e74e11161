// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/strided_tensors.hpp"
#include "ops/optimizers/chunk_table.hpp"
#include "ops/optimizers/step_lists.hpp"

namespace portops::impl {

/// The operands of a step, in their order: the parameter (the master parameter where there is one), its gradient, what
/// the optimizer keeps; then the parameter after the step, the master parameter, and what is kept.
template <class T, class Step, bool has_master>
struct StepOperands {
  using A = Arithmetic<T>;
  using Param = std::conditional_t<has_master, A, T>;
  static constexpr int states = Step::states;
  static constexpr int param = 0, grad = 1, state = 2;
  static constexpr int param_out = 2 + states, master_out = param_out + 1, state_out = master_out + has_master;
  static constexpr int count = state_out + states;
};

/// How a kernel over dense items goes through them.
template <Backend B, class A>
struct UpdateShape {
  /// Elements that are read at once, and the reads of a GPU's thread, all of which are on their way before the first is
  /// waited for.
  static constexpr int pack = B == Backend::cuda ? static_cast<int>(16 / sizeof(A)) : 16;
  static constexpr int rounds = 2;
  static constexpr int threads = 256;
  static constexpr int chunk = B == Backend::cuda ? threads * pack * rounds : 8192;
};

/// Takes the step over all elements of dense items.
template <Backend B, class T, class Step, bool has_master, class Table>
class UpdateChunks {
 public:
  using A = Arithmetic<T>;
  using Operands = StepOperands<T, Step, has_master>;
  using Param = typename Operands::Param;
  static constexpr int blocks = 4;
  static constexpr int states = Step::states;
  using Shape = UpdateShape<B, A>;
  static constexpr int pack = Shape::pack, rounds = Shape::rounds, threads = Shape::threads, chunk = Shape::chunk;

  UpdateChunks(const Table& table, const typename Step::Numbers& numbers) : table_(table), numbers_(numbers) {}

  std::int64_t items() const { return table_.items(); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const ListChunk at = table_.find(item);
    if constexpr (B == Backend::cuda) {
      update_packs(at, static_cast<int>(item % threads));
    } else {
      KOKKOS_IF_ON_HOST((update_run(at);))
    }
  }

 private:
  struct Packs {
    Word<Param, pack> param;
    Word<T, pack> grad;
    Word<A, pack> state[states > 0 ? states : 1];
  };

  template <class Element>
  KOKKOS_FORCEINLINE_FUNCTION static Element* address(const ListChunk& at, int operand) {
    return reinterpret_cast<Element*>(at.entry[operand]) + at.first;
  }

  /// Whether all tensors begin where packs may be read at once. Chunks do where tensors do.
  KOKKOS_FORCEINLINE_FUNCTION static bool is_aligned(const ListChunk& at) {
    std::int64_t wide = 0, narrow = at.entry[Operands::grad] | at.entry[Operands::param_out];
    (has_master ? wide : narrow) |= at.entry[Operands::param];
    if constexpr (has_master) wide |= at.entry[Operands::master_out];
    PORTOPS_UNROLL
    for (int k = 0; k < states; ++k) wide |= at.entry[Operands::state + k] | at.entry[Operands::state_out + k];
    return wide % (pack * sizeof(A)) == 0 && narrow % (pack * sizeof(T)) == 0;
  }

  template <bool at_once>
  KOKKOS_FORCEINLINE_FUNCTION static void load(Packs& packs, const ListChunk& at, int first, int count) {
    using Access = ColumnAccess<pack, at_once>;
    Access::load(packs.param, address<const Param>(at, Operands::param) + first, 1, count);
    Access::load(packs.grad, address<const T>(at, Operands::grad) + first, 1, count);
    PORTOPS_UNROLL
    for (int k = 0; k < states; ++k) {
      Access::load(packs.state[k], address<const A>(at, Operands::state + k) + first, 1, count);
    }
  }

  template <bool at_once>
  KOKKOS_FORCEINLINE_FUNCTION static void update(Packs& packs, const Step& step, const ListChunk& at, int first,
                                                 int count) {
    using Access = ColumnAccess<pack, at_once>;
    Word<T, pack> param_out;
    Word<A, pack> master_out;
    PORTOPS_UNROLL
    for (int i = 0; i < pack; ++i) {
      A param = static_cast<A>(packs.param[i]);
      A state[states > 0 ? states : 1];
      PORTOPS_UNROLL
      for (int k = 0; k < states; ++k) state[k] = packs.state[k][i];
      if (!step.is_skipped()) step(param, state, static_cast<A>(packs.grad[i]));
      param_out.set(i, static_cast<T>(param));
      if constexpr (has_master) master_out.set(i, param);
      PORTOPS_UNROLL
      for (int k = 0; k < states; ++k) packs.state[k].set(i, state[k]);
    }
    Access::store(address<T>(at, Operands::param_out) + first, param_out, 1, count);
    if constexpr (has_master) Access::store(address<A>(at, Operands::master_out) + first, master_out, 1, count);
    PORTOPS_UNROLL
    for (int k = 0; k < states; ++k) {
      Access::store(address<A>(at, Operands::state_out + k) + first, packs.state[k], 1, count);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void update_packs(const ListChunk& at, int thread) const {
    if (at.left >= chunk && is_aligned(at)) {
      Packs packs[rounds];
      PORTOPS_UNROLL
      for (int r = 0; r < rounds; ++r) load<true>(packs[r], at, (r * threads + thread) * pack, pack);
      const Step step(numbers_);
      PORTOPS_UNROLL
      for (int r = 0; r < rounds; ++r) update<true>(packs[r], step, at, (r * threads + thread) * pack, pack);
      return;
    }
    const Step step(numbers_);
    PORTOPS_NO_UNROLL
    for (int r = 0; r < rounds; ++r) {
      const int first = (r * threads + thread) * pack;
      const std::int64_t left = at.left - first;
      if (left <= 0) return;
      const int count = left < pack ? static_cast<int>(left) : pack;
      Packs packs{};
      load<false>(packs, at, first, count);
      update<false>(packs, step, at, first, count);
    }
  }

  /// On a host: in runs that a compiler makes vectors of.
  void update_run(const ListChunk& at) const {
    const Step step(numbers_);
    const std::int64_t elements = at.left < chunk ? at.left : chunk;
    for (std::int64_t first = 0; first < elements; first += pack) {
      const int count = static_cast<int>(elements - first < pack ? elements - first : pack);
      A param[pack] = {}, grad[pack] = {}, state[states > 0 ? states : 1][pack] = {};
      host::convert<Param, pack>(param, address<const Param>(at, Operands::param) + first, count);
      host::convert<T, pack>(grad, address<const T>(at, Operands::grad) + first, count);
      for (int k = 0; k < states; ++k) {
        host::convert<A, pack>(state[k], address<const A>(at, Operands::state + k) + first, count);
      }
      if (!step.is_skipped()) {
        for (int i = 0; i < pack; ++i) {
          A own[states > 0 ? states : 1];
          for (int k = 0; k < states; ++k) own[k] = state[k][i];
          step(param[i], own, grad[i]);
          for (int k = 0; k < states; ++k) state[k][i] = own[k];
        }
      }
      host::round<T, pack>(address<T>(at, Operands::param_out) + first, param, count);
      if constexpr (has_master) host::round<A, pack>(address<A>(at, Operands::master_out) + first, param, count);
      for (int k = 0; k < states; ++k) {
        host::round<A, pack>(address<A>(at, Operands::state_out + k) + first, state[k], count);
      }
    }
  }

  Table table_;
  typename Step::Numbers numbers_;
};

/// The same for one item whose tensors lie in any way, a work item an element.
template <Backend B, class T, class Step, bool has_master>
class UpdateStrided {
 public:
  using A = Arithmetic<T>;
  using Operands = StepOperands<T, Step, has_master>;
  static constexpr int blocks = 0;
  static constexpr int states = Step::states;

  UpdateStrided(const StepItem& item, const typename Step::Numbers& numbers)
      : elements_(item.elements()), tensors_(item.rank, item.extent.data()), numbers_(numbers) {
    for (int k = 0; k < Operands::count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      tensors_.set(k, item.data[at], item.stride[at].data());
    }
  }

  std::int64_t items() const { return elements_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t offset[Operands::count] = {};
    tensors_.locate(item, offset);
    A param = static_cast<A>(at<typename Operands::Param>(Operands::param, offset));
    A state[states > 0 ? states : 1];
    for (int k = 0; k < states; ++k) state[k] = at<A>(Operands::state + k, offset);
    const Step step(numbers_);
    if (!step.is_skipped()) step(param, state, static_cast<A>(at<T>(Operands::grad, offset)));
    at<T>(Operands::param_out, offset) = static_cast<T>(param);
    if constexpr (has_master) at<A>(Operands::master_out, offset) = param;
    for (int k = 0; k < states; ++k) at<A>(Operands::state_out + k, offset) = state[k];
  }

 private:
  template <class Element>
  KOKKOS_FORCEINLINE_FUNCTION Element& at(int operand, const std::int64_t (&offset)[Operands::count]) const {
    return tensors_.template at<Element>(operand, offset);
  }

  std::int64_t elements_;
  StridedTensors<Operands::count> tensors_;
  typename Step::Numbers numbers_;
};

}  // namespace portops::impl
