// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/strided_copy.hpp"
#include "support/kokkos_support.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <cstring>

// Copies so large that hosts write them past their caches: runs in the order in which they are read, and images.

namespace portops::test {
namespace {

template <class T>
class HostCopiesTest : public testing::Test {};
using Types = testing::Types<float, f16>;
TYPED_TEST_SUITE(HostCopiesTest, Types);

/// Copies the elements of extents and strides into memory where they lie one behind the other, `first` elements behind
/// where packs are aligned.
template <class T>
void check(const Extents& extents, const Extents& strides, std::int64_t first) {
  SCOPED_TRACE(testing::Message() << extents.to_string() << " strides " << strides.to_string() << ", " << first);
  using Host = Kokkos::DefaultHostExecutionSpace;
  const auto size = static_cast<std::size_t>(extents.product());
  const Kokkos::View<std::uint32_t*, Host> memory("memory", 2 * size);  // of elements of up to 4 bytes, aligned
  const Kokkos::View<std::uint32_t*, Host> target("target", 2 * size);
  auto* const from = reinterpret_cast<std::uint16_t*>(memory.data());
  auto* const to = reinterpret_cast<std::uint16_t*>(target.data()) + first * static_cast<std::int64_t>(sizeof(T) / 2);
  for (std::size_t i = 0; i < 4 * size; ++i) from[i] = static_cast<std::uint16_t>(i * 40503 >> 3);
  const ElementType type = ElementTypeOf<T>::value;
  const TensorRef x(from, type, extents, strides, MemorySpace::host);
  const TensorRef out(to, type, extents, extents.row_major_strides(), MemorySpace::host);
  static const impl::CopyLabels labels("test");
  const Host space;
  impl::strided_copy(space, labels, impl::make_copy_plan(x, out));
  space.fence();
  for (std::int64_t i = 0; i < extents.product(); ++i) {
    std::int64_t index = i, place = 0;
    for (int axis = extents.rank() - 1; axis >= 0; --axis) {
      place += index % extents[axis] * strides[axis];
      index /= extents[axis];
    }
    constexpr auto words = static_cast<std::int64_t>(sizeof(T) / 2);
    if (std::memcmp(to + i * words, from + place * words, sizeof(T)) != 0) FAIL() << "element " << i << " differs";
  }
}

TYPED_TEST(HostCopiesTest, exchange_axes_of_runs) {
  for (const std::int64_t run : {64, 96, 100, 33}) {
    for (const std::int64_t first : {0, 4}) {
      const std::int64_t heads = 7, length = unless_sanitized(5, 1) * 1024 * 1024 / heads / run / 2;
      check<TypeParam>({2, heads, length, run}, {length * heads * run, run, heads * run, 1}, first);
    }
  }
}

TYPED_TEST(HostCopiesTest, take_channels_apart_and_put_them_together) {
  for (const std::int64_t channels : {2, 3, 4, 5}) {
    for (const std::int64_t pixels : {600 * 400, 401 * 599}) {
      const std::int64_t images = unless_sanitized(20, 5) / channels;
      check<TypeParam>({images, channels, pixels}, {channels * pixels, 1, channels}, 0);
      check<TypeParam>({images, pixels, channels}, {channels * pixels, 1, pixels}, 0);
    }
  }
}

}  // namespace
}  // namespace portops::test
