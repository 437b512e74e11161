// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/divide.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace portops::test {
namespace {

constexpr std::uint32_t largest = 0x7fffffffu;

TEST(DivideTest, by_a_divisor_is_exact) {
  std::mt19937 engine(1);
  std::uniform_int_distribution<std::uint32_t> any(1, largest);
  for (std::uint32_t i = 0; i < 200000; ++i) {
    const std::uint32_t value = i < 1000 ? i + 1 : std::max(1u, any(engine) >> i % 31);
    const impl::Divisor divisor(value);
    ASSERT_EQ(divisor.value(), value);
    const std::uint32_t multiple = largest / value * value;
    for (const std::uint32_t index : {0u, 1u, value - 1, value, multiple - 1, multiple, largest, any(engine)}) {
      ASSERT_EQ(divisor.quotient(index), index / value) << index << " / " << value;
    }
  }
}

TEST(DivideTest, of_indices_of_any_size_is_exact) {
  constexpr std::int64_t edge = std::int64_t{1} << 31;
  for (const std::int64_t value : {std::int64_t{1}, std::int64_t{3}, edge - 2, edge - 1, edge, edge + 1, edge << 9}) {
    const impl::IndexDivisor divisor(value);
    for (const std::int64_t index :
         {std::int64_t{0}, value - 1, value, 3 * value + 1, edge - 2, edge - 1, edge, edge + 1, (edge << 20) + 7}) {
      EXPECT_EQ(divisor.quotient(index), index / value) << index << " / " << value;
    }
  }
}

TEST(DivideTest, takes_64_bits_where_it_must) {
  constexpr std::int64_t big = std::int64_t{1} << 32;
  for (const std::int64_t a : {std::int64_t{0}, std::int64_t{7}, big - 1, big, 5 * big + 3}) {
    for (const std::int64_t b : {std::int64_t{1}, std::int64_t{3}, big - 1, big, big + 1}) {
      EXPECT_EQ(impl::quotient(a, b), a / b) << a << " / " << b;
    }
  }
}

TEST(DivideTest, finds_positions_along_axes) {
  struct Operand {
    std::int64_t stride[4];
  };
  const std::int64_t extent[] = {9, 4, 5, 3};
  const Operand operands[] = {{{-1, 1000, 0, 10}}, {{-1, 0, 7, 0}}};
  for (std::int64_t index = 0; index < 60; ++index) {
    std::int64_t offset[] = {5, 6};
    impl::add_offsets(offset, operands, index, extent, 1, 4);
    EXPECT_EQ(offset[0], 5 + index / 15 * 1000 + index % 3 * 10);
    EXPECT_EQ(offset[1], 6 + index / 3 % 5 * 7);
  }
  std::int64_t offset[] = {5, 6};
  impl::add_offsets(offset, operands, 0, extent, 2, 2);
  EXPECT_EQ(offset[0], 5) << "no axes";
}

}  // namespace
}  // namespace portops::test
