// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrangement.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <span>

namespace portops::impl {

/// What a call copies into other layouts, and memory that it sets to zero. Nothing of what one of them writes is read
/// or written by another, so that a GPU can do all at once (copy_together.hpp). Nothing here knows Kokkos.
class Copies {
 public:
  static constexpr int most = 3;

  struct ZeroBytes {
    void* data = nullptr;
    std::size_t bytes = 0;
  };

  void add(const Rearrangement& what) {
    if (what.size() == 0) return;
    assert(count_ < most);
    copies_[count_++] = what;
  }
  /// As zero() in zeros.hpp. Nothing is done for no data.
  void add_zeros(void* data, std::size_t bytes) {
    if (data == nullptr || bytes == 0) return;
    assert(zeros_.bytes == 0);
    zeros_ = {data, bytes};
  }

  std::size_t count() const { return count_ + (zeros_.bytes > 0 ? 1 : 0); }
  std::span<const Rearrangement> copies() const { return {copies_.data(), count_}; }
  const ZeroBytes& zeros() const { return zeros_; }

 private:
  std::array<Rearrangement, most> copies_{};
  std::size_t count_ = 0;
  ZeroBytes zeros_;
};

}  // namespace portops::impl
