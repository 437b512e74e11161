// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/memory_layout.hpp"

#include <gtest/gtest.h>

namespace portops::impl {
namespace {

TEST(MemoryLayout, puts_arrays_at_multiples_of_256_bytes) {
  MemoryLayout layout;
  EXPECT_EQ(layout.add<float>(3), 0u);
  EXPECT_EQ(layout.add<double>(64), 256u);
  EXPECT_EQ(layout.add<double>(0), 768u);
  EXPECT_EQ(layout.bytes(), 768u);
}

TEST(MemoryLayout, asks_for_too_much_where_bytes_have_no_number) {
  constexpr std::size_t too_many = std::size_t{1} << 62;
  for (const std::int64_t count : {std::int64_t{1} << 59, std::int64_t{1} << 60, std::int64_t{1} << 61, INT64_MAX}) {
    MemoryLayout layout;
    layout.add<double>(count);
    EXPECT_EQ(layout.bytes(), too_many) << count;
    layout.add<double>(count);
    layout.add<float>(1);
    EXPECT_EQ(layout.bytes(), too_many) << count;
  }
}

}  // namespace
}  // namespace portops::impl
