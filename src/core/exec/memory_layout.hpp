// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace portops::impl {

/// Arrays one behind the other in one stretch of memory, each aligned to 256 bytes.
class MemoryLayout {
 public:
  /// Returns where an array of so many elements begins, in bytes.
  template <class T>
  std::size_t add(std::int64_t count) {
    return add(count, sizeof(T));
  }
  std::size_t add(std::int64_t count, std::size_t element) {
    std::size_t bytes = 0;
    return add_bytes(__builtin_mul_overflow(static_cast<std::size_t>(count), element, &bytes) ? too_many : bytes);
  }
  std::size_t add_bytes(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    const std::size_t at = bytes_;
    const std::size_t padded = (std::min(bytes, too_many) + alignment - 1) / alignment * alignment;
    bytes_ = std::min(at + padded, too_many);
    return at;
  }

  /// At most too_many, which no memory has: extents of broadcast tensors may ask for any number.
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t too_many = std::size_t{1} << 62;

  std::size_t bytes_ = 0;
};

/// An array in a call's temporary memory, or none where a tensor can be used as it lies.
class TemporaryArray {
 public:
  TemporaryArray() = default;
  TemporaryArray(MemoryLayout& layout, std::int64_t count, std::size_t element)
      : at_(layout.add(count, element)), exists_(true) {}

  explicit operator bool() const { return exists_; }
  void* in(void* memory) const { return exists_ ? static_cast<std::byte*>(memory) + at_ : nullptr; }

 private:
  std::size_t at_ = 0;
  bool exists_ = false;
};

}  // namespace portops::impl
