// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/pack.hpp"
#include "support/half_reference.hpp"
#include "support/kokkos_support.hpp"

#include <random>
#include <vector>

// The conversions of the 16-bit types where they are done in packs on hosts, and in kernels on every backend: the same
// bits as one by one on the host.

namespace portops::test {
namespace {

/// Numbers around every midpoint of a 16-bit type, of both signs, and random ones; NaN, Inf and zeros among them.
template <class Half>
std::vector<double> numbers_to_round() {
  std::vector<double> result{std::nan(""), -std::nan(""), 0.0, -0.0, 1e300, -1e300, 1e-300, -1e-300};
  for (unsigned below = 0; below < infinity_bits<Half>; ++below) {
    const double middle = midpoint_above<Half>(below);
    for (const double number : {magnitude_of_bits<Half>(below), middle, std::nextafter(middle, 0.0),
                                static_cast<double>(std::nextafter(static_cast<float>(middle), 1e38f)),
                                static_cast<double>(std::nextafter(static_cast<float>(middle), 0.0f))}) {
      result.push_back(number);
      result.push_back(-number);
    }
  }
  std::mt19937 engine(1);
  for (int i = 0; i < 100000; ++i) {
    result.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(engine())));
  }
  while (result.size() % 64 != 0) result.push_back(1.0);
  return result;
}

template <class Half>
class HalfPackTest : public testing::Test {};
TYPED_TEST_SUITE(HalfPackTest, HalfTypes);

constexpr Backend host_backend = Backend::openmp;  // its packs are those of every host backend

TYPED_TEST(HalfPackTest, is_read_as_its_elements_are) {
  constexpr int pack = 64;
  TypeParam elements[pack];
  float values[pack];
  for (unsigned first = 0; first < 0x10000; first += pack) {
    for (unsigned i = 0; i < pack; ++i) elements[i] = from_bits<TypeParam>(first + i);
    impl::host::convert<TypeParam, pack>(values, elements, pack);
    for (unsigned i = 0; i < pack; ++i) {
      const float expected = elements[i];
      ASSERT_EQ(std::isnan(values[i]), std::isnan(expected)) << std::hex << first + i;
      if (!std::isnan(expected)) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected))
            << std::hex << first + i;
      }
    }
  }
}

TYPED_TEST(HalfPackTest, is_written_as_its_elements_are_streaming_or_not_and_misaligned_too) {
  constexpr int pack = 64;
  const std::vector<double> numbers = numbers_to_round<TypeParam>();
  float values[pack];
  alignas(64) TypeParam elements[pack + 1];
  for (std::size_t first = 0; first < numbers.size(); first += pack) {
    for (int i = 0; i < pack; ++i) values[i] = static_cast<float>(numbers[first + static_cast<std::size_t>(i)]);
    for (const int shift : {0, 1}) {
      for (const bool streaming : {false, true}) {
        impl::host::store<TypeParam, pack>(elements + shift, values, streaming);
        impl::host::end_of_streaming();
        for (int i = 0; i < pack; ++i) ASSERT_EQ(elements[shift + i].bits, TypeParam(values[i]).bits) << values[i];
      }
    }
  }
}

TYPED_TEST(HalfPackTest, may_be_read_and_written_in_part_and_strided) {
  constexpr int pack = 8;
  TypeParam elements[40];
  for (int i = 0; i < 40; ++i) elements[i] = TypeParam(static_cast<float>(i));
  float values[pack] = {};
  impl::Pack<TypeParam, pack> read;
  impl::read_elements<host_backend, TypeParam, pack>(read, elements + 20, -3, 5);
  impl::convert_pack<host_backend, TypeParam, pack>(values, read, 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(values[i], static_cast<float>(20 - 3 * i));
  impl::store_elements<host_backend, TypeParam, pack>(elements, values, 2, 3);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(elements[i], i < 6 && i % 2 == 0 ? values[i / 2] : static_cast<float>(i));
}

/// Converts every pattern to float, and numbers to patterns, in a kernel.
template <class Space, class Half>
struct Conversions {
  using Memory = typename Space::memory_space;
  Kokkos::View<const double*, Memory> numbers;
  Kokkos::View<std::uint16_t*, Memory> from_float, from_double;
  Kokkos::View<float*, Memory> to_float;

  KOKKOS_FUNCTION void operator()(int i) const {
    from_double(i) = Half(numbers(i)).bits;
    from_float(i) = Half(static_cast<float>(numbers(i))).bits;
    if (i < 0x10000) {
      Half half;
      half.bits = static_cast<std::uint16_t>(i);
      to_float(i) = half;
    }
  }
};

template <class Space, class Half>
void check_conversions() {
  const std::vector<double> numbers = numbers_to_round<Half>();
  ASSERT_GE(numbers.size(), 0x10000u);
  const Kokkos::View<const double*, Kokkos::HostSpace> on_host(numbers.data(), numbers.size());
  const Conversions<Space, Half> conversions{
      Kokkos::create_mirror_view_and_copy(typename Space::memory_space(), on_host),
      Kokkos::View<std::uint16_t*, typename Space::memory_space>("from_float", numbers.size()),
      Kokkos::View<std::uint16_t*, typename Space::memory_space>("from_double", numbers.size()),
      Kokkos::View<float*, typename Space::memory_space>("to_float", 0x10000)};
  Kokkos::parallel_for("conversions", Kokkos::RangePolicy<Space>(0, static_cast<int>(numbers.size())), conversions);
  Kokkos::fence();
  const auto host = [](const auto& view) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view); };
  const auto from_float = host(conversions.from_float), from_double = host(conversions.from_double);
  const auto to_float = host(conversions.to_float);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(from_double(i), Half(numbers[i]).bits) << numbers[i];
    ASSERT_EQ(from_float(i), Half(static_cast<float>(numbers[i])).bits) << numbers[i];
  }
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const double expected = value_of_bits<Half>(bits);
    ASSERT_TRUE(to_float(bits) == expected || (std::isnan(expected) && std::isnan(to_float(bits)))) << std::hex << bits;
  }
}

template <class Space>
class KernelConversionsTest : public testing::Test {};
TYPED_TEST_SUITE(KernelConversionsTest, Spaces);

TYPED_TEST(KernelConversionsTest, give_the_same_bits_as_on_the_host) {
  check_conversions<TypeParam, f16>();
  check_conversions<TypeParam, bf16>();
}

}  // namespace
}  // namespace portops::test
