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

/// Calls action.template operator()<order>() for the form that suits p.
template <class Action>
void with_order(double p, const Action& action) {
  if (p == 0.0) return action.template operator()<NormOrder::zero>();
  if (p == 1.0) return action.template operator()<NormOrder::one>();
  if (p == 1.5) return action.template operator()<NormOrder::three_halves>();
  if (p == 2.0) return action.template operator()<NormOrder::two>();
  if (p == 2.5) return action.template operator()<NormOrder::five_halves>();
  if (p == 3.0) return action.template operator()<NormOrder::three>();
  if (p == 4.0) return action.template operator()<NormOrder::four>();
  if (p == std::numeric_limits<double>::infinity()) return action.template operator()<NormOrder::infinite>();
  if (p == -std::numeric_limits<double>::infinity()) return action.template operator()<NormOrder::minus_infinite>();
  action.template operator()<NormOrder::general>();
}

}  // namespace portops::impl
