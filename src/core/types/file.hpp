// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace portops::impl {

/// A file that is written beside its target and becomes it in one step. A symbolic link stays, and what it names is the
/// target; a file that was there keeps its mode. Errors are those of the system, as Error; so is a target that is there
/// and no regular file.
class NewFile {
 public:
  /// `where` begins messages.
  NewFile(std::string where, std::filesystem::path target);
  /// Removes what was not committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes);
  /// Brings it onto the disk and renames it to the target.
  void commit();

 private:
  std::string where_;
  std::filesystem::path target_;
  std::filesystem::path path_;
  int file_ = -1;
  bool is_committed_ = false;
};

/// A regular file, open for reading.
class OldFile {
 public:
  OldFile(std::string where, const std::filesystem::path& path);
  ~OldFile();
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  /// Throws Error where there are fewer.
  void read(void* data, std::size_t bytes, std::uint64_t place) const;

 private:
  std::string where_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace portops::impl
