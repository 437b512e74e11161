// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"

#include <type_traits>

namespace portops::impl {

/// What divides indices of this type, int or 64 bits, that are not negative. A kernel over few enough elements takes
/// int: with 64 bits, finding a place has up to three times the instructions.
template <class Index>
using DivisorOf = std::conditional_t<sizeof(Index) == 4, Divisor, IndexDivisor>;

inline Divisor make_divisor(int value) { return Divisor(static_cast<std::uint32_t>(value)); }
inline IndexDivisor make_divisor(std::int64_t value) { return IndexDivisor(value); }

}  // namespace portops::impl
