// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"

#include <cstdint>

namespace portops::comm {

/// The items first, first + 1, …, first + count − 1.
struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// What process `rank` of `size` takes of `count` items: neighbours, in the order of the ranks, as many as any other
/// process takes or one more or less. All shares together are all items, each once.
PORTOPS_FUNCTION constexpr Range share_of(std::int64_t count, int rank, int size) {
  const std::int64_t each = count / size, rest = count % size;
  const std::int64_t first = each * rank + rest * rank / size;
  return {first, each * (rank + 1) + rest * (rank + 1) / size - first};
}

}  // namespace portops::comm
