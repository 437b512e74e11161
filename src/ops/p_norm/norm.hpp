// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes.hpp"
#include "core/power.hpp"
#include "core/rows.hpp"
#include "ops/p_norm/norm_order.hpp"

#include <limits>

// The functors of p_norm and p_norm_grad, for the kernels of core/reduce.hpp and core/spread.hpp.

namespace portops::impl {

/// The larger of two magnitudes, or the smaller; NaN if one is NaN.
class Extreme {
 public:
  KOKKOS_FORCEINLINE_FUNCTION explicit Extreme(bool largest) : largest_(largest) {}
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION A operator()(A a, A b) const {
    return b != b || (largest_ ? b > a : b < a) ? b : a;
  }

 private:
  bool largest_;
};

/// x ↦ x^p for x ≥ 0, in the cheapest form that the order has.
template <class A, NormOrder order>
class NormPower {
 public:
  NormPower() = default;
  explicit NormPower(long double p) {
    if constexpr (order == NormOrder::halves) power_ = HalfPower<A>(static_cast<int>(2 * p));
    if constexpr (order == NormOrder::general) power_ = Power<A>(p);
  }

  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x) const { return power_(x); }

 private:
  std::conditional_t<order == NormOrder::halves, HalfPower<A>, Power<A>> power_;
};

/// The norm of order p as a reduction; see reduce().
template <class A, NormOrder order>
class Norm {
 public:
  static constexpr bool largest = order == NormOrder::infinite;
  static constexpr bool smallest = order == NormOrder::minus_infinite;
  static constexpr bool rescales = order == NormOrder::two || order == NormOrder::three ||
                                   order == NormOrder::halves || order == NormOrder::general;

  explicit Norm(double porder)
      : negative_(smallest || (order == NormOrder::general && porder < 0)), power_(porder), root_(1.0L / porder) {}

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

  KOKKOS_FORCEINLINE_FUNCTION auto join() const {
    if constexpr (largest || smallest) {
      return Extreme(largest);
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

  KOKKOS_FORCEINLINE_FUNCTION Extreme dominant() const { return Extreme(!negative_); }
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
    return value.scale * root_(value.total);
  }

 private:
  static constexpr A infinity = std::numeric_limits<A>::infinity();

  bool negative_;
  NormPower<A, order> power_;
  Power<A> root_;
};

/// x_grad of a norm, as a function that is spread over rows; see spread().
template <class A, NormOrder order>
class NormGrad {
 public:
  static constexpr bool counts = order == NormOrder::infinite;

  /// What is computed once a row.
  struct Row {
    A norm;      ///< the divisor, out + epsilon; for ±inf, out
    A factor;    ///< a power of two that keeps `inverse` from overflowing
    A inverse;   ///< 1 / (norm · factor)
    A gradient;  ///< out_grad; for ±inf, its share for each tie
  };

  NormGrad(double porder, double epsilon) : epsilon_(static_cast<A>(epsilon)), power_(porder - 1.0L) {}

  KOKKOS_FORCEINLINE_FUNCTION Row row(A out, A out_grad) const {
    if constexpr (counts) return {out, A(1), A(1), out_grad};
    constexpr bool is_double = sizeof(A) == 8;
    constexpr A small = is_double ? A(0x1p-900) : A(0x1p-100f);
    constexpr A large = is_double ? A(0x1p900) : A(0x1p100f);
    constexpr A up = is_double ? A(0x1p512) : A(0x1p64f);
    constexpr A down = is_double ? A(0x1p-512) : A(0x1p-64f);
    Row row;
    row.norm = out + epsilon_;
    // Ratios of 0 give 0 in every order: so a zero vector does, and a row whose gradient is 0.
    const bool vanishes = row.norm == A(0) || out_grad == A(0);
    row.factor = row.norm > large ? down : row.norm < small && !vanishes ? up : A(1);
    row.inverse = vanishes ? A(0) : A(1) / (row.norm * row.factor);
    row.gradient = row.norm == A(0) ? A(0) : out_grad;
    return row;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool is_tie(A x, const Row& row) const {
    return Kokkos::abs(x) == row.norm || (x != x && row.norm != row.norm);
  }
  KOKKOS_FORCEINLINE_FUNCTION Row shared(const Row& row, A count) const {
    return {row.norm, row.factor, row.inverse, row.gradient / count};
  }

  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x, const Row& row) const {
    if constexpr (order == NormOrder::zero) return A(0);
    if constexpr (order == NormOrder::one) return with_sign_of(x, row.gradient);
    if constexpr (counts) return is_tie(x, row) ? with_sign_of(x, row.gradient) : A(0);
    const A ratio = (x * row.factor) * row.inverse;
    if constexpr (order == NormOrder::two) return ratio * row.gradient;
    const A magnitude = Kokkos::abs(ratio);
    if constexpr (order == NormOrder::three) return ratio * magnitude * row.gradient;
    const A power = magnitude == A(0) ? A(0) : power_(magnitude);
    return (ratio < A(0) ? -power : power) * row.gradient;
  }

 private:
  /// sign(x) · gradient; x itself where it is 0 or NaN.
  KOKKOS_FORCEINLINE_FUNCTION static A with_sign_of(A x, A gradient) {
    return x > A(0) ? gradient : x < A(0) ? -gradient : x;
  }

  A epsilon_;
  NormPower<A, order> power_;
};

}  // namespace portops::impl
