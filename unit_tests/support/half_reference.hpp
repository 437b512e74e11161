// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/element_type.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

// The 16-bit types, computed in double from their definition: sign · significand · 2^exponent, rounded to nearest even.

namespace portops::test {

using HalfTypes = testing::Types<f16, bf16>;

/// Bits of the significand behind the point.
template <class Half>
inline constexpr int fraction_bits = std::is_same_v<Half, f16> ? 10 : 7;
/// The exponent of the smallest normal number.
template <class Half>
inline constexpr int least_exponent = std::is_same_v<Half, f16> ? -14 : -126;
/// The pattern of Inf.
template <class Half>
inline constexpr unsigned infinity_bits = std::is_same_v<Half, f16> ? 0x7c00 : 0x7f80;

template <class Half>
Half from_bits(unsigned bits) {
  return std::bit_cast<Half>(static_cast<std::uint16_t>(bits));
}

/// The magnitude of a pattern without sign, also of the first one that is none: where Inf begins.
template <class Half>
double magnitude_of_bits(unsigned bits) {
  const int fraction = static_cast<int>(bits & ((1u << fraction_bits<Half>)-1));
  const int exponent = static_cast<int>(bits >> fraction_bits<Half>);
  const int hidden = exponent == 0 ? 0 : 1 << fraction_bits<Half>;
  return std::ldexp(hidden + fraction, std::max(exponent, 1) - 1 + least_exponent<Half> - fraction_bits<Half>);
}

template <class Half>
double value_of_bits(unsigned bits) {
  const unsigned unsigned_bits = bits & 0x7fffu;
  if (unsigned_bits > infinity_bits<Half>) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = unsigned_bits == infinity_bits<Half> ? std::numeric_limits<double>::infinity()
                                                                : magnitude_of_bits<Half>(unsigned_bits);
  return bits >= 0x8000u ? -magnitude : magnitude;
}

/// Halfway between a number without sign and the next one.
template <class Half>
double midpoint_above(unsigned bits) {
  return (magnitude_of_bits<Half>(bits) + magnitude_of_bits<Half>(bits + 1)) / 2;
}

/// The pattern to which a number rounds.
template <class Half>
unsigned rounded_bits(double value) {
  if (std::isnan(value)) return 0x7fff;
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const double magnitude = std::abs(value);
  if (magnitude >= midpoint_above<Half>(infinity_bits<Half> - 1)) return sign | infinity_bits<Half>;
  const int exponent = magnitude == 0.0 ? least_exponent<Half> : std::max(std::ilogb(magnitude), least_exponent<Half>);
  // In units of the last place: a whole number after rounding, and the pattern but for the exponent.
  const double units = std::nearbyint(std::ldexp(magnitude, fraction_bits<Half> - exponent));
  return sign | (static_cast<unsigned>(units) +
                 (static_cast<unsigned>(exponent - least_exponent<Half>) << fraction_bits<Half>));
}

}  // namespace portops::test
