// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/shown.hpp"

#include <gtest/gtest.h>

#include <string>

namespace portops::impl {
namespace {

TEST(ShownTest, ControlCharactersAreLeftOut) {
  EXPECT_EQ(shown("a\nb\x1b[2J\x7f"), "a?b?[2J?");
  EXPECT_EQ(shown("a\xc2\x80"
                  "b\xc2\x9f"),
            "a?b?");
  EXPECT_EQ(shown("\xc2\xa0 gr\xc3\xbc\xc3\x9f"), "\xc2\xa0 gr\xc3\xbc\xc3\x9f");  // letters of two bytes stay
  EXPECT_EQ(shown("a\xc2"), "a\xc2");
}

TEST(ShownTest, LongNamesAreCut) {
  EXPECT_EQ(shown(std::string(120, 'x')), std::string(120, 'x'));
  EXPECT_EQ(shown(std::string(121, 'x')), std::string(120, 'x') + "…");
  EXPECT_EQ(shown("abcd", 3), "abc…");
  EXPECT_EQ(shown("", 3), "");
}

}  // namespace
}  // namespace portops::impl
