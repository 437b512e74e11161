// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"
#include "ops/parts/parts_groups.hpp"

#include <Kokkos_Core.hpp>

#include <cstring>

namespace portops::impl {

/// A group's table, in a kernel. On a GPU it is among the kernel's own arguments and has up to `words`; on hosts it
/// stays in the group.
template <Backend B, PartsForm form, int words>
class PartsTable {
 public:
  using Entries = const std::int64_t*;

  explicit PartsTable(const PartsGroup& group) {
    if constexpr (B == Backend::cuda) {
      std::memcpy(table_, group.table.data(), group.table.size() * sizeof(std::int64_t));
    } else {
      host_table_ = group.table.data();
    }
  }

  /// On a GPU, but for runs of one length, an address of which the compiler forgets that it is that of an argument:
  /// where a warp's threads ask for different arguments they are served one after the other, where they ask for memory,
  /// together, if later.
  KOKKOS_FORCEINLINE_FUNCTION Entries entries() const {
    if constexpr (B == Backend::cuda) {
      Entries result = table_;
#if defined(__CUDA_ARCH__)
      if constexpr (form != PartsForm::equal_runs) asm volatile("" : "+l"(result));
#endif
      return result;
    } else {
      return host_table_;
    }
  }

 private:
  Entries host_table_ = nullptr;
  std::int64_t table_[words];
};

}  // namespace portops::impl
