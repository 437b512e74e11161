// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace portops::impl::host {

/// Copies neighbours, past the caches where `streaming` and they have `worth_it` bytes. Not short runs whose first and
/// last lines of memory are shared with other runs: these would be written in parts.
template <class Word>
void copy_run(Word* to, const Word* from, std::int64_t count, bool streaming, std::size_t worth_it = 8192) {
  constexpr std::size_t block = 128;
  auto* target = reinterpret_cast<std::byte*>(to);
  const auto* source = reinterpret_cast<const std::byte*>(from);
  std::size_t left = static_cast<std::size_t>(count) * sizeof(Word);
  if (streaming && left >= worth_it) {
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % 32;
    std::memcpy(target, source, head);
    target += head;
    source += head;
    left -= head;
    for (; left >= block; left -= block, target += block, source += block) {
      alignas(64) std::byte bytes[block];
      std::memcpy(bytes, source, block);
      stream(target, bytes);
    }
  }
  std::memcpy(target, source, left);
}

}  // namespace portops::impl::host
