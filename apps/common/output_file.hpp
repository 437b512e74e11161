// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>

namespace portops::apps {

/// A file that appears under its name only once it is complete. Until then it is a temporary file in the same folder,
/// which goes away with this object, and also when the process is ended by SIGINT, SIGTERM, SIGHUP or SIGPIPE.
///
/// What exists under the name and is no regular file (a pipe, a terminal, /dev/null) cannot be replaced: it is written
/// to directly. Every failure throws portops::Error, which names the file.
class OutputFile {
 public:
  explicit OutputFile(const std::string& name);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return name_; }
  std::FILE* stream() const { return stream_; }
  void write(const void* data, std::size_t bytes);

  /// Puts the files in place, all or none: first all of them are flushed to the disk and closed, and only then the
  /// first is renamed.
  static void commit(std::deque<OutputFile>& files);

 private:
  void close();
  void rename();

  std::string name_;  // as the user wrote it
  std::filesystem::path destination_;
  std::filesystem::path temporary_;  // empty where the destination is written directly, and after the renaming
  bool existed_ = false;
  std::FILE* stream_ = nullptr;
  int cleanup_slot_ = -1;
};

/// Whether both names mean one file, be it there already or not.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace portops::apps
