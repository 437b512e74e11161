// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace portops::apps {

/// A file in the format IDX, that of MNIST and its kin, gzipped or not:
///
///   0 0 type rank                     a byte each; the type is 8, unsigned bytes
///   extents                           of each axis, 32 bits, the most significant byte first
///   elements                          an item's one behind the other: what is counted by the first axis
///
/// What is read is in memory only where it is asked for. Files may come from anywhere: memory grows with what a file
/// holds, not with what its header promises, and stays below 2 GiB. Every function throws Error, which names the file,
/// where it cannot be read or is cut off.
class IdxFile {
 public:
  /// Reads the header. Throws Error too where the file is no such one, has another type or rank or, not gzipped, is
  /// longer than its header says.
  IdxFile(const std::string& name, int rank);

  const std::string& name() const { return name_; }
  const std::vector<std::int64_t>& extents() const { return extents_; }
  std::int64_t items() const { return extents_[0]; }

  using Take = std::function<void(std::span<const std::uint8_t>)>;
  /// Hands over the elements of items [first, first + count), piece by piece. Of a gzipped file all is unpacked,
  /// whatever is asked for: so what is wrong anywhere in it is found, that it is longer than its header says as well.
  void scan(std::int64_t first, std::int64_t count, const Take& take) const;
  /// All elements.
  std::vector<std::uint8_t> read_all() const;
  /// The elements of these items, whose numbers ascend. Reads no others where the file is not gzipped; else it is
  /// unpacked up to the last of them.
  std::vector<std::uint8_t> read(const std::vector<std::int64_t>& items) const;

 private:
  [[noreturn]] void fail_truncated(std::int64_t found) const;
  [[noreturn]] void fail_longer() const;

  std::string name_;
  std::vector<std::int64_t> extents_;
  std::int64_t header_bytes_ = 0;
  std::int64_t item_bytes_ = 0;
  bool is_packed_ = false;
};

}  // namespace portops::apps
