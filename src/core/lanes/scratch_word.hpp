// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/column_access.hpp"

namespace portops::impl {

/// A Word in a team's scratch, which is aligned to 8 bytes (see scratch_of): half of one of 16.
template <class T, int N>
class ScratchWord {
 public:
  ScratchWord() = default;
  KOKKOS_FORCEINLINE_FUNCTION ScratchWord(const Word<T, N>& word)  // NOLINT: implicit by design
      : ScratchWord(Kokkos::bit_cast<ScratchWord>(word)) {}
  KOKKOS_FORCEINLINE_FUNCTION operator Word<T, N>() const {  // NOLINT: implicit by design
    const ScratchWord in_registers = *this;                  // a cast of what is in memory goes byte by byte
    return Kokkos::bit_cast<Word<T, N>>(in_registers);
  }

 private:
  Word<T, N / 2> half_[2];
};

}  // namespace portops::impl
