// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/softmax_functions.hpp"
#include "ops/softmaxes/cross_entropy_with_softmax/cross_entropy_with_softmax_kernels.hpp"
#include "ops/softmaxes/softmax_rows.hpp"

#include <type_traits>

// The functors of cross entropy, for the kernels of softmax (softmax_rows.hpp).

namespace portops::impl {

/// A row's loss, and 1 where it counts: its label is not ignored.
template <class A>
struct RowLoss {
  A loss;
  A counts;
};

/// An operand that has one element a row, of a type E that is not the call's: RowOperand counts in elements of T.
template <class E, class T>
KOKKOS_FORCEINLINE_FUNCTION E* element_of(const SoftmaxRow& row, const RowOperand<T>& operand) {
  return reinterpret_cast<E*>(row.in(operand));
}

/// The class numbers of rows.
template <class T>
struct ClassLabels {
  ClassLabels(const CrossEntropyPlan& plan)  // NOLINT: implicit by design
      : label(plan.rows.operand[plan.label]),
        classes(plan.classes),
        ignored(plan.ignore_index),
        backwards(plan.backwards) {}

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t of(const SoftmaxRow& row) const {
    return *element_of<const std::int64_t>(row, label);
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_class(std::int64_t number) const { return number >= 0 && number < classes; }
  /// Where the class is along the plan's axis.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t position(std::int64_t number) const {
    return backwards ? classes - 1 - number : number;
  }

  RowOperand<const T> label;
  std::int64_t classes;
  std::int64_t ignored;
  bool backwards;
};

/// What rows of logits come to where labels are classes.
template <class A>
struct StateOfClasses : Softmax<A, true> {
  KOKKOS_FORCEINLINE_FUNCTION static A fill(int = 0) { return Softmax<A>::fill(); }
};

/// What rows of logits and soft labels come to: beside the largest logit and the sum of exponentials below it
///
///   dot = Σ label · (logit − largest)     total = Σ label
///
/// A label of 0 adds nothing to `dot`, whatever the logit: 0 · log 0 = 0.
template <class A>
struct StateOfSoftLabels {
  static constexpr int inputs = 2;
  static constexpr bool sums_terms = false;
  struct State {
    A largest;
    A sum;
    A dot;
    A total;
  };
  using Row = A;

  KOKKOS_FORCEINLINE_FUNCTION static A fill(int input) { return input == 0 ? Softmax<A>::fill() : A(0); }
  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return {Softmax<A>::fill(), A(0), A(0), A(0)}; }
  KOKKOS_FORCEINLINE_FUNCTION static A shift(A largest) { return Softmax<A>::shift(largest); }

  /// The same state, relative to a larger logit.
  KOKKOS_FORCEINLINE_FUNCTION static State below(const State& state, A largest) {
    const A by = shift(largest);
    const A dot = state.total == A(0) ? state.dot : state.dot + state.total * (shift(state.largest) - by);
    return {largest, state.sum * exponential(state.largest - by), dot, state.total};
  }

  KOKKOS_FORCEINLINE_FUNCTION State operator()(const State& a, const State& b) const {
    const A largest = Larger()(a.largest, b.largest);
    const State x = below(a, largest), y = below(b, largest);
    return {largest, x.sum + y.sum, x.dot + y.dot, x.total + y.total};
  }

  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION static State joined(const State& own, const Join& join) {
    const A largest = join(own.largest, Larger());
    const State x = below(own, largest);
    return {largest, join(x.sum, Plus()), join(x.dot, Plus()), join(x.total, Plus())};
  }

  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][count]) const {
    A chains[chains_of(count)];
    fold<count>(chains, Number{in[0]}, Larger());
    const A largest = Larger()(state.largest, join_array(chains, Larger()));
    const A by = shift(largest);
    state = below(state, largest);
    fold<count>(chains, Exponential{in[0], by}, Plus());
    state.sum += sum_of(chains);
    fold<count>(chains, Product{in[0], in[1], by}, Plus());
    state.dot += sum_of(chains);
    fold<count>(chains, Number{in[1]}, Plus());
    state.total += sum_of(chains);
  }

 private:
  struct Number {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const { return in[i]; }
    const A* in;
  };
  struct Exponential {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const { return exponential(in[i] - shift); }
    const A* in;
    A shift;
  };
  struct Product {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const {
      // Not as one side of the condition: GCC 12 makes vectors of that in which some lanes lack the shift.
      const A term = label[i] * (logit[i] - shift);
      return label[i] == A(0) ? A(0) : term;
    }
    const A* logit;
    const A* label;
    A shift;
  };
};

/// The losses of rows. They go to `loss` or, where they are to be added up, into `losses`.
template <class T, bool soft>
struct CrossEntropy : std::conditional_t<soft, StateOfSoftLabels<Arithmetic<T>>, StateOfClasses<Arithmetic<T>>> {
  using A = Arithmetic<T>;
  using State = typename std::conditional_t<soft, StateOfSoftLabels<A>, StateOfClasses<A>>::State;
  static constexpr bool collects = true;
  static constexpr bool writes = false;
  static constexpr bool has_terms = false;  // nothing of them is needed again
  /// A row's label, and its logit.
  struct Class {
    std::int64_t label = 0;
    T logit{};
  };
  struct Nothing {};
  using Asked = std::conditional_t<soft, Nothing, Class>;

  CrossEntropy(const CrossEntropyPlan& plan, RowLoss<A>* to)
      : labels(plan),
        logits(plan.rows.operand[0]),
        log_sum_exp(plan.rows.operand[plan.log_sum_exp]),
        loss(plan.rows.operand[plan.loss]),
        losses(to) {}

  KOKKOS_FORCEINLINE_FUNCTION Asked ask([[maybe_unused]] const SoftmaxRow& row) const {
    Asked asked;
    if constexpr (!soft) asked.label = labels.of(row);
    return asked;
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_more([[maybe_unused]] const SoftmaxRow& row,
                                            [[maybe_unused]] Asked& asked) const {
    if constexpr (!soft) {
      if (!labels.is_class(asked.label)) return;
      const RowAxes& axes = row.axes;
      const std::int64_t stride = axes.rank > axes.kept_rank ? axes.run_stride(logits) : logits.column_stride;
      asked.logit = row.in(logits)[labels.position(asked.label) * (labels.classes > 1 ? stride : 0)];
    }
  }

  /// Logarithm and differences in f64, once a row: the error of a loss is that of the sum alone.
  KOKKOS_FUNCTION void finish(const State& state, const SoftmaxRow& row, [[maybe_unused]] const Asked& asked) const {
    const double largest = CrossEntropy::shift(state.largest);
    const double log_sum = Kokkos::log(static_cast<double>(state.sum));
    if (log_sum_exp.data != nullptr) *element_of<double>(row, log_sum_exp) = largest + log_sum;
    double value = 0.0;
    bool counts = true;
    if constexpr (soft) {
      value = log_sum * static_cast<double>(state.total) - static_cast<double>(state.dot);
    } else {
      counts = asked.label != labels.ignored;
      if (labels.is_class(asked.label) && counts) {
        value = log_sum + (largest - static_cast<double>(static_cast<A>(asked.logit)));
      } else if (counts) {
        value = Kokkos::Experimental::quiet_NaN_v<double>;
      }
    }
    if (loss.data != nullptr) *row.in(loss) = static_cast<T>(static_cast<A>(value));
    if (losses != nullptr) losses[row.index] = {static_cast<A>(value), A(counts ? 1 : 0)};
  }

  ClassLabels<T> labels;
  RowOperand<const T> logits;
  RowOperand<T> log_sum_exp;  ///< of f64
  RowOperand<T> loss;
  RowLoss<A>* losses;
};

/// The gradient: (softmax · Σ label − label) · factor, where a class is a label of 1.
template <class T, bool soft>
struct CrossEntropyGrad {
  using A = Arithmetic<T>;
  static constexpr int inputs = soft ? 2 : 1;
  static constexpr bool collects = soft;
  static constexpr bool writes = true;
  static constexpr bool sums_terms = false;
  static constexpr bool has_terms = false;
  struct Asked {};
  /// Σ label.
  using State = A;
  /// A place along the axis. No row has so many columns in one part that 32 bits do not do.
  using Number = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
  struct RowOfClass {
    A log_sum_exp;
    A rest;  ///< of its rounding
    A factor;
    Number label;
  };
  struct RowOfSoftLabels {
    A log_sum_exp;
    A rest;
    A factor;
    A total;
  };
  using Row = std::conditional_t<soft, RowOfSoftLabels, RowOfClass>;

  explicit CrossEntropyGrad(const CrossEntropyPlan& plan)
      : labels(plan),
        log_sum_exp(plan.rows.operand[plan.log_sum_exp]),
        loss_grad(plan.rows.operand[plan.loss]),
        count(plan.count) {}

  KOKKOS_FORCEINLINE_FUNCTION static A fill(int) { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION static State identity() { return A(0); }
  KOKKOS_FORCEINLINE_FUNCTION State operator()(State a, State b) const { return a + b; }
  template <class Join>
  KOKKOS_FORCEINLINE_FUNCTION static State joined(State own, const Join& join) {
    return join(own, Plus());
  }
  template <int size>
  KOKKOS_FORCEINLINE_FUNCTION void add(State& state, const A (&in)[inputs][size]) const {
    A chains[chains_of(size)];
    fold<size>(chains, Label{in[inputs - 1]}, Plus());
    state += sum_of(chains);
  }

  KOKKOS_FUNCTION Row row(State total, const SoftmaxRow& row) const {
    Row result;
    const double exact = *element_of<const double>(row, log_sum_exp);
    result.log_sum_exp = static_cast<A>(exact);
    result.rest = static_cast<A>(exact - static_cast<double>(result.log_sum_exp));
    A factor = static_cast<A>(*row.in(loss_grad));
    if (count != nullptr) factor = *count == 0 ? A(0) : factor / static_cast<A>(*count);
    if constexpr (soft) {
      result.total = total;
    } else {
      const std::int64_t label = labels.of(row);
      const std::int64_t place = labels.position(label) - row.first;
      result.label = place >= 0 && place < most_places ? static_cast<Number>(place) : Number(-1);
      if (label == labels.ignored) {
        factor = A(0);
      } else if (!labels.is_class(label)) {
        factor = Kokkos::Experimental::quiet_NaN_v<A>;
      }
    }
    result.factor = factor;
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION A operator()(const Row& row, const A (&in)[inputs], [[maybe_unused]] int number) const {
    // f16 has no numbers as small as those that are flushed.
    const A logarithm = (in[0] - row.log_sum_exp) - row.rest;
    const A probability = std::is_same_v<T, f16> ? flushed_exponential(logarithm) : exponential(logarithm);
    if constexpr (soft) {
      return (probability * row.total - in[1]) * row.factor;
    } else {
      return (number == row.label ? probability - A(1) : probability) * row.factor;
    }
  }

  ClassLabels<T> labels;
  RowOperand<const T> log_sum_exp;  ///< of f64
  RowOperand<const T> loss_grad;
  const std::int64_t* count;  ///< what the mean divides by; null for others

 private:
  static constexpr std::int64_t most_places = std::int64_t{1} << 31;

  struct Label {
    KOKKOS_FORCEINLINE_FUNCTION A operator()(int i) const { return in[i]; }
    const A* in;
  };
};

}  // namespace portops::impl
