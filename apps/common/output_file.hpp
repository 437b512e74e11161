// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>

namespace portops::apps {

/// A file that appears under its name only once it is complete. Until then it is a temporary file in the same folder,
/// which goes away with this object, and also when the process is ended by SIGINT, SIGTERM, SIGHUP or SIGPIPE.
///
/// A symbolic link stays, and what it names is written, be that there already or not. What exists under the name and is
/// no regular file (a pipe, a terminal, /dev/null) cannot be replaced: it is written to directly. Every other file is
/// open only while it is written, so there may be more of them than a process may have open. Every failure throws
/// portops::Error, which names the file.
class OutputFile {
 public:
  explicit OutputFile(const std::string& name);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return name_; }
  /// Where to write to. Not to be asked for once the file is finished.
  std::FILE* stream();
  void write(const void* data, std::size_t bytes);
  /// Flushes the file to the disk and closes it: all has been written.
  void finish();

  /// Puts the files in place, all or none: only when all of them are finished the first is renamed.
  static void commit(std::deque<OutputFile>& files);

 private:
  void open_directly();
  void create_temporary();
  void rename();

  std::string name_;  // as the user wrote it
  std::filesystem::path destination_;
  std::filesystem::path temporary_;  // empty where the destination is written directly, and after the renaming
  bool existed_ = false;
  mode_t mode_ = 0;  // that the destination is to have
  bool is_finished_ = false;
  std::FILE* stream_ = nullptr;
};

/// What a file is under whatever name, be it there already or not: two names mean one file where these are equal.
struct FileIdentity {
  dev_t device = 0;  ///< of a file that is there
  ino_t inode = 0;
  std::filesystem::path path;  ///< of one that is not

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  friend std::strong_ordering operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

FileIdentity identity_of(const std::string& name);

inline bool is_same_file(const std::string& a, const std::string& b) { return identity_of(a) == identity_of(b); }

}  // namespace portops::apps
