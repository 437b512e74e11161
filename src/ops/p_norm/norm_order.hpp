// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

namespace portops::impl {

/// The orders of a norm that are computed in a form of their own.
enum class NormOrder : std::int32_t {
  zero,
  one,
  three_halves,
  two,
  five_halves,
  three,
  four,
  general,
  infinite,
  minus_infinite
};

/// The form that suits p.
inline NormOrder norm_order(double p) {
  if (p == 0.0) return NormOrder::zero;
  if (p == 1.0) return NormOrder::one;
  if (p == 1.5) return NormOrder::three_halves;
  if (p == 2.0) return NormOrder::two;
  if (p == 2.5) return NormOrder::five_halves;
  if (p == 3.0) return NormOrder::three;
  if (p == 4.0) return NormOrder::four;
  if (p == std::numeric_limits<double>::infinity()) return NormOrder::infinite;
  if (p == -std::numeric_limits<double>::infinity()) return NormOrder::minus_infinite;
  return NormOrder::general;
}

/// Calls action.template operator()<order>() for the form that suits p.
template <class Action>
void with_order(double p, const Action& action) {
  switch (norm_order(p)) {
    case NormOrder::zero: return action.template operator()<NormOrder::zero>();
    case NormOrder::one: return action.template operator()<NormOrder::one>();
    case NormOrder::three_halves: return action.template operator()<NormOrder::three_halves>();
    case NormOrder::two: return action.template operator()<NormOrder::two>();
    case NormOrder::five_halves: return action.template operator()<NormOrder::five_halves>();
    case NormOrder::three: return action.template operator()<NormOrder::three>();
    case NormOrder::four: return action.template operator()<NormOrder::four>();
    case NormOrder::general: return action.template operator()<NormOrder::general>();
    case NormOrder::infinite: return action.template operator()<NormOrder::infinite>();
    case NormOrder::minus_infinite: return action.template operator()<NormOrder::minus_infinite>();
  }
}

}  // namespace portops::impl
