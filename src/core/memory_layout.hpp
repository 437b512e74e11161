// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace portops::impl {

/// Arrays one behind the other in one piece of memory, each aligned to 256 bytes.
class MemoryLayout {
 public:
  /// Returns where an array of so many elements begins, in bytes.
  template <class T>
  std::size_t add(std::int64_t count) {
    return add_bytes(static_cast<std::size_t>(count) * sizeof(T));
  }
  std::size_t add_bytes(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    const std::size_t at = bytes_;
    bytes_ += (bytes + alignment - 1) / alignment * alignment;
    return at;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace portops::impl
