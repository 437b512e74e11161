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

/// A part of a call's temporary memory: an array that it needs, or none where a tensor can be used as it lies.
class Part {
 public:
  Part() = default;
  Part(MemoryLayout& layout, std::int64_t count, std::size_t element)
      : at_(layout.add_bytes(static_cast<std::size_t>(count) * element)), exists_(true) {}

  explicit operator bool() const { return exists_; }
  void* in(void* memory) const { return exists_ ? static_cast<std::byte*>(memory) + at_ : nullptr; }

 private:
  std::size_t at_ = 0;
  bool exists_ = false;
};

}  // namespace portops::impl
