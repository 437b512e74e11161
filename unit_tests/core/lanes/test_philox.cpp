// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/philox.hpp"

#include <gtest/gtest.h>

#include <array>

namespace portops::test {
namespace {

// The known answers that come with the authors' own implementation, Random123.
TEST(PhiloxTest, gives_the_known_answers) {
  using Words = std::array<std::uint32_t, 4>;
  const auto words = [](const Words& counter, std::uint32_t k0, std::uint32_t k1) {
    std::uint32_t values[4] = {counter[0], counter[1], counter[2], counter[3]};
    impl::Philox(k0, k1)(values);
    return Words{values[0], values[1], values[2], values[3]};
  };
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(words({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words({ones, ones, ones, ones}, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace portops::test
