// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <map>
#include <string>
#include <vector>

namespace portops::test {

/// The elements of all results.
template <class T>
using Results = std::map<std::string, std::vector<T>>;

template <class T>
void expect_same(const Results<T>& found, const Results<T>& expected, const std::string& what) {
  for (const auto& [name, elements] : expected) {
    const std::vector<T>& others = found.at(name);
    ASSERT_EQ(others.size(), elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      ASSERT_TRUE(same_bits(others[i], elements[i])) << name << " of " << what << ": " << i;
    }
  }
}

}  // namespace portops::test
