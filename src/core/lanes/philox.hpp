// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <cstdint>

namespace portops::impl {

/// Random numbers that follow from a key and a counter alone, so that every thread makes those that it needs:
/// Philox4x32 with ten rounds (J. K. Salmon and others, Parallel random numbers: as easy as 1, 2, 3, SC 2011). The same
/// bits on every backend.
class Philox {
 public:
  Philox(std::uint32_t k0, std::uint32_t k1) {
    for (auto& key : key_) {
      key[0] = k0;
      key[1] = k1;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

  /// Makes four words of 32 bits of a counter of four.
  PORTOPS_FUNCTION void operator()(std::uint32_t (&counter)[4]) const {
    PORTOPS_UNROLL
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0], b = std::uint64_t{0xCD9E8D57} * counter[2];
      const std::uint32_t next[4] = {
          static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key_[round][0], static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key_[round][1], static_cast<std::uint32_t>(a)};
      PORTOPS_UNROLL
      for (int i = 0; i < 4; ++i) counter[i] = next[i];
    }
  }

 private:
  static constexpr int rounds = 10;
  std::uint32_t key_[rounds][2];  ///< of each round, known before a kernel starts
};

}  // namespace portops::impl
