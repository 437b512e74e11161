// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/lanes.hpp"
#include "core/reduce/rows.hpp"
#include "ops/p_norm/norm_order.hpp"
#include "ops/p_norm/power.hpp"

#include <limits>

// The functors of p_norm and p_norm_grad, for the kernels of core/reduce/reduce.hpp and core/reduce/spread.hpp.

namespace portops::impl {

/// The larger of two magnitudes, or the smaller; NaN if one is NaN.
struct Largest {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const {
    // Magnitudes are ordered as their bits are, and NaN, whose sign nobody promises, comes last.
    using Bits = typename FloatFormat<A>::Bits;
    const Bits left = Kokkos::bit_cast<Bits>(a);
    const auto right = static_cast<Bits>(Kokkos::bit_cast<Bits>(b) & FloatFormat<A>::all_but_sign);
    return Kokkos::bit_cast<A>(right > left ? right : left);
  }
};
struct Smallest {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const {
    return b != b || b < a ? b : a;
  }
};

/// One of both, by the sign of an order.
class Dominant {
 public:
  KOKKOS_FORCEINLINE_FUNCTION explicit Dominant(bool largest) : largest_(largest) {}
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const {
    return largest_ ? Largest()(a, b) : Smallest()(a, b);
  }

 private:
  bool largest_;
};

/// x ↦ x^p, or x^(p − 1), for x ≥ 0, in the cheapest form that the order has.
template <class A, NormOrder order, int less>
struct NormPowerOf {
  using type = Power<A>;
};
template <class A, int less>
struct NormPowerOf<A, NormOrder::three_halves, less> {
  using type = SmallPower<A, 1 - less, true>;
};
template <class A, int less>
struct NormPowerOf<A, NormOrder::five_halves, less> {
  using type = SmallPower<A, 2 - less, true>;
};
template <class A, int less>
struct NormPowerOf<A, NormOrder::three, less> {
  using type = SmallPower<A, 3 - less, false>;
};
template <class A, int less>
struct NormPowerOf<A, NormOrder::four, less> {
  using type = SmallPower<A, 4 - less, false>;
};

template <class A, NormOrder order, int less>
auto make_norm_power(double p) {
  using Form = typename NormPowerOf<A, order, less>::type;
  if constexpr (std::is_same_v<Form, Power<A>>) {
    return Form(static_cast<long double>(p) - less);
  } else {
    return Form();
  }
}

/// The norm of order p as a reduction; see reduce().
template <class A, NormOrder order>
class Norm {
 public:
  static constexpr bool largest = order == NormOrder::infinite;
  static constexpr bool smallest = order == NormOrder::minus_infinite;
  static constexpr bool rescales = order != NormOrder::zero && order != NormOrder::one && !largest && !smallest;

  explicit Norm(double porder)
      : negative_(smallest || (order == NormOrder::general && porder < 0)),
        power_(make_norm_power<A, order, 0>(porder)),
        root_(1.0L / porder) {}

  KOKKOS_FORCEINLINE_FUNCTION A identity() const { return smallest ? infinity : A(0); }
  KOKKOS_FORCEINLINE_FUNCTION A fill() const { return negative_ ? infinity : A(0); }

  KOKKOS_FORCEINLINE_FUNCTION A add(A sum, A x) const {
    const A a = Kokkos::abs(x);
    if constexpr (order == NormOrder::zero) return sum + (x != A(0) ? A(1) : A(0));
    if constexpr (order == NormOrder::one) return sum + a;
    if constexpr (order == NormOrder::two) return Kokkos::fma(x, x, sum);
    if constexpr (order == NormOrder::three) return Kokkos::fma(x * x, a, sum);
    if constexpr (largest || smallest) return join()(sum, a);
    return sum + power_(a);
  }

  static constexpr bool is_quick = order == NormOrder::general;
  using Doubt = typename Power<A>::Doubt;
  KOKKOS_FORCEINLINE_FUNCTION A term(A x) const { return power_(Kokkos::abs(x)); }
  KOKKOS_FORCEINLINE_FUNCTION A term_quickly(A x, Doubt& doubt) const { return power_.quickly(Kokkos::abs(x), doubt); }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_doubtful(Doubt doubt) { return Power<A>::is_doubtful(doubt); }

  KOKKOS_FORCEINLINE_FUNCTION auto join() const {
    if constexpr (largest) {
      return Largest();
    } else if constexpr (smallest) {
      return Smallest();
    } else {
      return Plus();
    }
  }

  /// Whether no term was lost: neither to an overflow nor, in a number that matters, to an underflow.
  KOKKOS_FORCEINLINE_FUNCTION bool is_safe(A sum) const {
    constexpr bool is_double = sizeof(A) == 8;
    constexpr A least = is_double ? A(0x1p-900) : A(0x1p-100f);
    // Sums of double are joined in double, and must not overflow then.
    constexpr A most = is_double ? A(0x1p900) : A(0x1.fffffep127f);
    return sum >= least && sum <= most;
  }

  KOKKOS_FORCEINLINE_FUNCTION Dominant dominant() const { return Dominant(!negative_); }
  KOKKOS_FORCEINLINE_FUNCTION A least_dominant() const { return negative_ ? infinity : A(0); }

  KOKKOS_FORCEINLINE_FUNCTION A raise(A ratio) const {
    if constexpr (order == NormOrder::two) return ratio * ratio;
    if constexpr (order == NormOrder::three) return ratio * ratio * ratio;
    return power_(ratio);
  }

  /// A scale of 0, Inf or NaN is the result, whatever was added.
  KOKKOS_FORCEINLINE_FUNCTION Partial<A> rescaled(A scale, A sum) const {
    return {scale, scale > A(0) && scale < infinity ? sum : A(1)};
  }

  KOKKOS_FORCEINLINE_FUNCTION A finish(const Partial<A>& value) const {
    if constexpr (!rescales) return value.total;
    if constexpr (order == NormOrder::two) return value.scale * Kokkos::sqrt(value.total);
    return value.scale * root_.exactly(value.total);
  }

 private:
  static constexpr A infinity = std::numeric_limits<A>::infinity();

  bool negative_;
  typename NormPowerOf<A, order, 0>::type power_;
  Power<A> root_;
};

/// How the parts of a norm are joined; see reduce(). Few numbers come this far: one kernel serves all orders.
class NormJoin {
 public:
  static constexpr bool rescales = true;  // which changes nothing where all scales are 1

  explicit NormJoin(double porder)
      : order_(norm_order(porder)), negative_(porder < 0), power_(porder), root_(1.0L / porder) {}

  /// Adds two sums, or takes one of two magnitudes.
  class Join {
   public:
    KOKKOS_FORCEINLINE_FUNCTION explicit Join(NormOrder order) : order_(order) {}
    KOKKOS_FORCEINLINE_FUNCTION double operator()(double a, double b) const {
      if (order_ == NormOrder::infinite) return Largest()(a, b);
      if (order_ == NormOrder::minus_infinite) return Smallest()(a, b);
      return a + b;
    }

   private:
    NormOrder order_;
  };

  KOKKOS_FORCEINLINE_FUNCTION double identity() const { return order_ == NormOrder::minus_infinite ? infinity : 0.0; }
  KOKKOS_FORCEINLINE_FUNCTION Join join() const { return Join(order_); }
  KOKKOS_FORCEINLINE_FUNCTION Dominant dominant() const { return Dominant(!negative_); }
  KOKKOS_FORCEINLINE_FUNCTION double least_dominant() const { return negative_ ? infinity : 0.0; }

  /// As Norm has it.
  KOKKOS_FORCEINLINE_FUNCTION double raise(double ratio) const {
    switch (order_) {
      case NormOrder::three_halves: return NormPowerOf<double, NormOrder::three_halves, 0>::type()(ratio);
      case NormOrder::two: return ratio * ratio;
      case NormOrder::five_halves: return NormPowerOf<double, NormOrder::five_halves, 0>::type()(ratio);
      case NormOrder::three: return NormPowerOf<double, NormOrder::three, 0>::type()(ratio);
      case NormOrder::four: return NormPowerOf<double, NormOrder::four, 0>::type()(ratio);
      default: return power_(ratio);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Partial<double> rescaled(double scale, double sum) const {
    return {scale, scale > 0.0 && scale < infinity ? sum : 1.0};
  }
  KOKKOS_FORCEINLINE_FUNCTION double finish(const Partial<double>& value) const {
    switch (order_) {
      case NormOrder::zero:
      case NormOrder::one:
      case NormOrder::infinite:
      case NormOrder::minus_infinite: return value.total;
      case NormOrder::two: return value.scale * Kokkos::sqrt(value.total);
      default: return value.scale * root_.exactly(value.total);
    }
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  NormOrder order_;
  bool negative_;
  Power<double> power_;
  Power<double> root_;
};

/// x_grad of a norm, as a function that is spread over rows; see spread().
template <class A, NormOrder order>
class NormGrad {
 public:
  static constexpr bool counts = order == NormOrder::infinite;

  /// What is computed once a row: |x · factor|^(p − 1) · weight, and for the general order a power of a quotient.
  struct alignas(8) SmallRow {
    A factor;  ///< a power of two, with which neither x nor the weight loses digits; for ±inf, out
    A weight;  ///< out_grad / ((out + epsilon) · factor)^(p − 1); for p = 0, 1, out_grad; for ±inf, a tie's share of it
  };
  using Row = std::conditional_t<order == NormOrder::general, PowerOfQuotient<A>, SmallRow>;

  NormGrad(double porder, double epsilon)
      : epsilon_(static_cast<A>(epsilon)), power_(make_norm_power<A, order, 1>(porder)) {}

  KOKKOS_FORCEINLINE_FUNCTION Row row(A out, A out_grad) const {
    if constexpr (order == NormOrder::zero || order == NormOrder::one) return {A(1), out_grad};
    if constexpr (counts) return {out, out_grad};
    const A norm = out + epsilon_;
    // Weights of 0 give 0 in every order: so a zero vector does, and a row whose gradient is 0.
    const bool is_zero = norm == A(0) || (out_grad == A(0) && norm == norm);
    if constexpr (order == NormOrder::general) {
      return is_zero ? Row::zero() : Row(norm, out_grad);
    } else {
      if (is_zero) return {};
      constexpr A most = FloatFormat<A>::most;
      A factor = usual_factor(norm);
      A weight = out_grad / raise(norm * factor);
      if (!keeps_digits(out_grad, weight)) [[unlikely]] {
        factor = careful_factor(norm, out_grad);
        weight = out_grad / raise(norm * factor);
      }
      // Overflows for a subnormal norm and a huge gradient alone: no Inf, which would make NaN of zeros.
      const bool overflows = Kokkos::abs(weight) > most && Kokkos::abs(out_grad) <= most;
      // One that vanishes makes nothing of any x, however large.
      return {weight == A(0) ? A(0) : factor, overflows ? Kokkos::copysign(most, weight) : weight};
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_tie(A x, const Row& row) const {
    const A norm = row.factor;
    return Kokkos::abs(x) == norm || (x != x && norm != norm);
  }
  /// A zero vector has gradient 0, and a NaN the gradient NaN.
  KOKKOS_FORCEINLINE_FUNCTION Row shared(const Row& row, A count) const {
    const A norm = row.factor;
    return {norm, norm == A(0) ? A(0) : norm != norm ? norm : row.weight / count};
  }

  static constexpr bool is_quick = order == NormOrder::general;
  using Doubt = typename Power<A>::Doubt;
  KOKKOS_FORCEINLINE_FUNCTION A quickly(A x, const Row& row, Doubt& doubt) const {
    const A magnitude = power_.quickly(Kokkos::abs(x), row, doubt);
    return x < A(0) ? -magnitude : magnitude;
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_doubtful(Doubt doubt) { return Power<A>::is_doubtful(doubt); }

  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x, const Row& row) const {
    if constexpr (order == NormOrder::zero) return A(0);
    if constexpr (order == NormOrder::one) return x > A(0) ? row.weight : x < A(0) ? -row.weight : x;
    if constexpr (counts) return is_tie(x, row) ? negated_with(x, row.weight) : A(0);
    if constexpr (order == NormOrder::general) {
      const A magnitude = power_(Kokkos::abs(x), row);
      return x < A(0) ? -magnitude : magnitude;
    } else {
      // The weight first: no product vanishes or overflows before the result does.
      const A scaled = x * row.factor;
      const A weighted = scaled * row.weight;
      const A magnitude = Kokkos::abs(scaled);
      if constexpr (order == NormOrder::two) return weighted;
      if constexpr (order == NormOrder::three) return weighted * magnitude;
      if constexpr (order == NormOrder::four) return (weighted * magnitude) * magnitude;
      if constexpr (order == NormOrder::five_halves) return weighted * rough_root(magnitude);
      return Kokkos::copysign(rough_root(magnitude), scaled) * row.weight;
    }
  }

 private:
  /// 2 · (p − 1), for the orders of SmallRow that scale x.
  static constexpr int twice_less = order == NormOrder::three_halves  ? 1
                                    : order == NormOrder::two         ? 2
                                    : order == NormOrder::five_halves ? 3
                                    : order == NormOrder::three       ? 4
                                                                      : 6;

  /// The power of two that brings the norm near 1: an x that is subnormal then makes a result that is too small for a
  /// number, if the power is above 1. Otherwise a larger one, unless the norm is tiny: no x times it is subnormal.
  KOKKOS_FORCEINLINE_FUNCTION static A usual_factor(A norm) {
    using Bits = typename FloatFormat<A>::Bits;
    const Bits near_one = -exponent_of(norm);
    constexpr Bits enough = FloatFormat<A>::fraction_bits;
    return power_of_two<A>(twice_less > 2 || near_one > enough ? near_one : enough);
  }

  /// Whether nothing is lost with the usual factor that a result depends on.
  KOKKOS_FORCEINLINE_FUNCTION static bool keeps_digits(A out_grad, A weight) {
    using Format = FloatFormat<A>;
    if constexpr (twice_less <= 2) {
      return Kokkos::abs(weight) >= Format::least_normal;
    } else {
      constexpr auto most = (Format::bias - 1) * twice_less / 2 - Format::bias - Format::fraction_bits;
      return most >= Format::bias || Kokkos::abs(out_grad) <= power_of_two<A>(most);
    }
  }

  /// The power of two that brings the norm near 1 or, while the weight stays normal, a larger one, which leaves the
  /// smallest x its digits.
  KOKKOS_FORCEINLINE_FUNCTION static A careful_factor(A norm, A out_grad) {
    using Format = FloatFormat<A>;
    using Bits = typename Format::Bits;
    // The weight's exponent is that of out_grad, less that of (norm · factor)^(p − 1), which must not overflow.
    constexpr Bits margin = 6;
    const Bits of_grad = exponent_of(out_grad);
    const Bits room = (of_grad < 0 ? of_grad : 0) + Format::bias - margin;
    Bits beyond_one = room * 2 / twice_less;
    if (twice_less == 1 && beyond_one > Format::bias - 1) beyond_one = Format::bias - 1;
    const Bits near_one = -exponent_of(norm);
    const Bits enough = Format::fraction_bits;
    const Bits largest = near_one + beyond_one;
    const Bits wanted = enough < largest ? enough : largest;
    return power_of_two<A>(near_one > wanted ? near_one : wanted);
  }

  /// x^(p − 1) for x ≥ 0
  KOKKOS_FORCEINLINE_FUNCTION A raise(A x) const {
    if constexpr (order == NormOrder::two) return x;
    if constexpr (order == NormOrder::three) return x * x;
    return power_(x);
  }

  A epsilon_;
  typename NormPowerOf<A, order, 1>::type power_;
};

}  // namespace portops::impl
