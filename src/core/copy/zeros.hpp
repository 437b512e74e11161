// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"

#include <cstring>

namespace portops::impl {

/// Zeros in blocks of 16 bytes, an item a block; on hosts in longer ones.
template <Backend B>
struct Zeros {
  static constexpr std::size_t block = B == Backend::cuda ? 16 : 1 << 16;
  static constexpr int blocks = 0;
  std::byte* data;
  std::size_t bytes;

  std::int64_t items() const { return static_cast<std::int64_t>((bytes + block - 1) / block); }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::size_t at = static_cast<std::size_t>(item) * block;
    if constexpr (B == Backend::cuda) {
      struct alignas(16) Block {
        std::uint64_t words[2];
      };
      *reinterpret_cast<Block*>(data + at) = Block{};
    } else {
      std::memset(data + at, 0, bytes - at < block ? bytes - at : block);
    }
  }
};

/// Enqueues zeros. `data` is aligned to 16 bytes, and so is what follows it, up to which a GPU writes.
template <Backend B>
void zero(const Context& ctx, const std::string& label, void* data, std::size_t bytes) {
  launch_by_items<B>(ctx, label, Zeros<B>{static_cast<std::byte*>(data), bytes});
}

}  // namespace portops::impl
