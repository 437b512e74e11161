// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/half_reference.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace portops::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Half>
class HalfTypeTest : public testing::Test {};

TYPED_TEST_SUITE(HalfTypeTest, HalfTypes);

TYPED_TEST(HalfTypeTest, every_pattern_becomes_the_float_that_it_means) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = from_bits<TypeParam>(bits);
    const double expected = value_of_bits<TypeParam>(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << std::hex << bits;
    } else {
      ASSERT_EQ(value, expected) << std::hex << bits;
      ASSERT_EQ(std::signbit(value), bits >= 0x8000) << std::hex << bits;
    }
  }
}

TYPED_TEST(HalfTypeTest, every_pattern_survives_the_way_to_float_or_double_and_back) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = from_bits<TypeParam>(bits);
    const unsigned expected = std::isnan(value) ? 0x7fff : bits;
    ASSERT_EQ(TypeParam(value).bits, expected) << std::hex << bits;
    ASSERT_EQ(TypeParam(static_cast<double>(value)).bits, expected) << std::hex << bits;
  }
}

/// The midpoint of every two neighbours goes to the even one, and what lies next to it to the nearer one. Behind the
/// largest number comes Inf, whose place is where the next number would be.
TYPED_TEST(HalfTypeTest, float_and_double_go_to_the_nearest_number_and_ties_to_the_even_one) {
  for (unsigned below = 0; below < infinity_bits<TypeParam>; ++below) {
    const double middle = midpoint_above<TypeParam>(below);
    const unsigned even = below % 2 == 0 ? below : below + 1;
    for (const unsigned sign : {0u, 0x8000u}) {
      const auto is = [&](auto value, unsigned expected) {
        return TypeParam(sign != 0 ? -value : value).bits == (expected | sign);
      };
      ASSERT_TRUE(is(middle, even)) << std::hex << below;
      ASSERT_TRUE(is(std::nextafter(middle, 0.0), below)) << std::hex << below;
      ASSERT_TRUE(is(std::nextafter(middle, infinity), below + 1)) << std::hex << below;
      const auto narrow = static_cast<float>(middle);
      ASSERT_EQ(narrow, middle) << "midpoints have few bits";
      ASSERT_TRUE(is(narrow, even)) << std::hex << below;
      ASSERT_TRUE(is(std::nextafter(narrow, 0.0f), below)) << std::hex << below;
      ASSERT_TRUE(is(std::nextafter(narrow, std::numeric_limits<float>::infinity()), below + 1)) << std::hex << below;
    }
  }
}

TYPED_TEST(HalfTypeTest, random_floats_round_as_the_reference_does) {
  std::mt19937 engine(1);
  for (int i = 0; i < 1000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    ASSERT_EQ(TypeParam(value).bits, rounded_bits<TypeParam>(value)) << value;
  }
}

TYPED_TEST(HalfTypeTest, random_doubles_round_as_the_reference_does) {
  std::mt19937_64 engine(2);
  std::uniform_int_distribution<int> exponent(-160, 140);
  for (int i = 0; i < 1000000; ++i) {
    const auto any = std::bit_cast<double>(static_cast<std::uint64_t>(engine()));
    ASSERT_EQ(TypeParam(any).bits, rounded_bits<TypeParam>(any)) << any;
    const double near =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(engine())) * 0x1p-63, exponent(engine));
    ASSERT_EQ(TypeParam(near).bits, rounded_bits<TypeParam>(near)) << near;
  }
}

TYPED_TEST(HalfTypeTest, every_nan_becomes_0x7fff) {
  for (const std::uint32_t bits :
       {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x7fa00000u, 0x7f80ffffu}) {
    EXPECT_EQ(TypeParam(std::bit_cast<float>(bits)).bits, 0x7fff) << std::hex << bits;
  }
  for (const std::uint64_t bits :
       {0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff0000000000001u, 0x7fffffffffffffffu, 0xffffffffffffffffu}) {
    EXPECT_EQ(TypeParam(std::bit_cast<double>(bits)).bits, 0x7fff) << std::hex << bits;
  }
}

/// By way of float, a number just above a midpoint would fall on the midpoint, and from there to the even side.
TYPED_TEST(HalfTypeTest, double_rounds_once) {
  for (unsigned below = 0; below < infinity_bits<TypeParam>; ++below) {
    const double middle = midpoint_above<TypeParam>(below);
    const double above = middle * (1 + 0x1p-40);
    const double beneath = middle * (1 - 0x1p-40);
    ASSERT_EQ(TypeParam(above).bits, below + 1) << std::hex << below;
    ASSERT_EQ(TypeParam(beneath).bits, below) << std::hex << below;
    const double wrong = below % 2 == 0 ? above : beneath;
    ASSERT_NE(TypeParam(static_cast<float>(wrong)).bits, TypeParam(wrong).bits) << "not a test of double rounding";
  }
}

TEST(F16Test, turns_into_inf_from_65520_on) {
  EXPECT_EQ(f16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(f16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(f16(std::nextafter(65520.0, 0.0)).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16(-65520.0).bits, 0xfc00);
  EXPECT_EQ(f16(1e300).bits, 0x7c00);
  EXPECT_EQ(f16(-infinity).bits, 0xfc00);
}

TEST(F16Test, keeps_subnormals_and_the_sign_of_zero) {
  EXPECT_EQ(f16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(f16(-0x1p-24f).bits, 0x8001);
  EXPECT_EQ(f16(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(f16(0x1.8p-25f).bits, 0x0001);
  EXPECT_EQ(f16(-1e-300).bits, 0x8000);
  EXPECT_EQ(f16(-0.0f).bits, 0x8000);
}

TEST(Bf16Test, turns_into_inf_behind_its_largest_number) {
  EXPECT_EQ(bf16(0x1.fep127f).bits, 0x7f7f);
  EXPECT_EQ(bf16(0x1.fefffep127f).bits, 0x7f7f);
  EXPECT_EQ(bf16(0x1.ffp127f).bits, 0x7f80);
  EXPECT_EQ(bf16(std::nextafter(0x1.ffp127, 0.0)).bits, 0x7f7f);
  EXPECT_EQ(bf16(-1e300).bits, 0xff80);
}

TEST(Bf16Test, keeps_subnormals_and_the_sign_of_zero) {
  EXPECT_EQ(bf16(0x1p-133f).bits, 0x0001);
  EXPECT_EQ(bf16(-0x1p-133f).bits, 0x8001);
  EXPECT_EQ(bf16(0x1p-134f).bits, 0x0000);
  EXPECT_EQ(bf16(0x1.0002p-134f).bits, 0x0001);
  EXPECT_EQ(bf16(-1e-300).bits, 0x8000);
}

TEST(FloatRoundedToOddTest, keeps_what_float_holds_and_marks_what_it_does_not) {
  using impl::float_rounded_to_odd;
  EXPECT_EQ(float_rounded_to_odd(1.5), 1.5f);
  EXPECT_EQ(float_rounded_to_odd(1 + 0x1p-30), 1 + 0x1p-23f);
  EXPECT_EQ(float_rounded_to_odd(1 + 0x1.fp-23), 1 + 0x1p-23f);
  EXPECT_EQ(float_rounded_to_odd(-1 - 0x1p-30), -1 - 0x1p-23f);
  EXPECT_EQ(float_rounded_to_odd(1 - 0x1p-30), 1 - 0x1p-24f);
  EXPECT_EQ(float_rounded_to_odd(1e-300), 0x1p-149f);
  EXPECT_EQ(float_rounded_to_odd(-infinity), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_rounded_to_odd(std::nan(""))));
}

TEST(ElementTypeTest, knows_sizes_names_and_cpp_types) {
  static_assert(size_of(ElementType::f64) == 8 && size_of(ElementType::f32) == 4);
  static_assert(size_of(ElementType::f16) == 2 && size_of(ElementType::bf16) == 2);
  static_assert(ElementTypeOf<double>::value == ElementType::f64 && ElementTypeOf<float>::value == ElementType::f32);
  static_assert(ElementTypeOf<f16>::value == ElementType::f16 && ElementTypeOf<bf16>::value == ElementType::bf16);
  static_assert(Element<double> && Element<f16> && !Element<int> && !Element<const float> && !Element<long double>);
  static_assert(std::is_trivially_copyable_v<f16> && std::is_trivially_default_constructible_v<bf16>);
  static_assert(!std::is_convertible_v<float, f16> && !std::is_convertible_v<double, bf16>, "rounding is explicit");
  EXPECT_EQ(name_of(ElementType::f64), "f64");
  EXPECT_EQ(name_of(ElementType::f32), "f32");
  EXPECT_EQ(name_of(ElementType::f16), "f16");
  EXPECT_EQ(name_of(ElementType::bf16), "bf16");
}

TEST(ElementTypeTest, has_a_name_a_size_and_a_cpp_type) {
  const auto check = [](ElementType type, std::string_view name, std::size_t size) {
    EXPECT_EQ(name_of(type), name);
    EXPECT_EQ(size_of(type), size) << name;
  };
  check(ElementType::f64, "f64", 8);
  check(ElementType::f32, "f32", 4);
  check(ElementType::f16, "f16", 2);
  check(ElementType::bf16, "bf16", 2);
  check(ElementType::i64, "i64", 8);
  static_assert(ElementTypeOf<std::int64_t>::value == ElementType::i64);
  static_assert(Element<std::int64_t>);
}

}  // namespace
}  // namespace portops::test
