// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <bit>
#include <cstdint>

// Division for indices: GPUs have no instruction for it, and the 64-bit one takes the longest.

namespace portops::impl {

/// a / b for a ≥ 0 and b > 0, by a 32-bit division wherever both fit.
PORTOPS_FUNCTION std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

/// Adds to each operand's offset that of the index-th position along axes [begin, end), the last of which is the
/// fastest. Operands have a `stride` for each axis.
template <int count, class Operand>
PORTOPS_FUNCTION void add_offsets(std::int64_t (&offset)[count], const Operand (&operand)[count], std::int64_t index,
                                  const std::int64_t* extent, int begin, int end) {
  PORTOPS_NO_UNROLL
  for (int axis = end - 1; axis >= begin; --axis) {
    const std::int64_t outer = axis > begin ? quotient(index, extent[axis]) : 0;
    const std::int64_t along = index - outer * extent[axis];
    PORTOPS_UNROLL
    for (int k = 0; k < count; ++k) offset[k] += along * operand[k].stride[axis];
    index = outer;
  }
}

/// A divisor of indices below 2^31 that is known before a kernel starts: a multiplication and a shift instead of a
/// division. (T. Granlund, P. L. Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994.)
class Divisor {
 public:
  Divisor() = default;
  /// 0 < value < 2^31
  explicit Divisor(std::uint32_t value) : value_(value), shift_(std::bit_width(value - 1)) {
    const std::uint64_t above = (std::uint64_t{1} << shift_) - value;
    multiplier_ = static_cast<std::uint32_t>((above << 32) / value + 1);
  }

  PORTOPS_FUNCTION std::uint32_t value() const { return value_; }
  PORTOPS_FUNCTION std::uint32_t quotient(std::uint32_t index) const {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{index} * multiplier_) >> 32);
    return (high + index) >> shift_;
  }

 private:
  std::uint32_t value_ = 1;
  std::uint32_t multiplier_ = 1;
  int shift_ = 0;
};

/// The same for indices of any size: a division where they have 2^31 or more.
class IndexDivisor {
 public:
  IndexDivisor() = default;
  /// value > 0
  explicit IndexDivisor(std::int64_t value)
      : value_(value), divisor_(static_cast<std::uint32_t>(value < INT32_MAX ? value : INT32_MAX)) {}

  PORTOPS_FUNCTION std::int64_t quotient(std::int64_t index) const {
    if (index < INT32_MAX) return divisor_.quotient(static_cast<std::uint32_t>(index));
    return index / value_;
  }

 private:
  std::int64_t value_ = 1;
  Divisor divisor_;
};

}  // namespace portops::impl
