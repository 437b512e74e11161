// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>

namespace portops::impl {

/// The orders of a norm that are computed in a form of their own. `halves` are the multiples of 1/2 up to 8 that have no
/// other.
enum class NormOrder : std::int32_t { zero, one, two, three, halves, general, infinite, minus_infinite };

/// Calls action.template operator()<order>() for the form that suits p.
template <class Action>
void with_order(double p, const Action& action) {
  constexpr double most_halves = 8.0;
  if (p == 0.0) return action.template operator()<NormOrder::zero>();
  if (p == 1.0) return action.template operator()<NormOrder::one>();
  if (p == 2.0) return action.template operator()<NormOrder::two>();
  if (p == 3.0) return action.template operator()<NormOrder::three>();
  if (std::isinf(p)) {
    return p > 0.0 ? action.template operator()<NormOrder::infinite>()
                   : action.template operator()<NormOrder::minus_infinite>();
  }
  const bool is_multiple_of_half = std::rint(2.0 * p) == 2.0 * p;
  if (is_multiple_of_half && p > 0.0 && p <= most_halves) return action.template operator()<NormOrder::halves>();
  action.template operator()<NormOrder::general>();
}

}  // namespace portops::impl
