// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/file.hpp"

#include "core/types/fail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace portops::impl {
namespace {

[[noreturn]] void fail_by_system(const std::string& where, const char* what) {
  const int number = errno;
  fail(where, what, ": ", std::generic_category().message(number));
}

// Kernels write 2 GiB at most in one call.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// What a name stands for behind the symbolic links that lead to it, be that there already or not.
std::filesystem::path followed(std::filesystem::path name) {
  constexpr int most_links = 40;  // as many as Linux follows
  std::error_code error;
  for (int links = 0; links < most_links && std::filesystem::is_symlink(name, error); ++links) {
    name = name.parent_path() / std::filesystem::read_symlink(name, error);
  }
  return name;
}

}  // namespace

NewFile::NewFile(std::string where, std::filesystem::path target)
    : where_(std::move(where)), target_(followed(std::move(target))) {
  struct stat its = {};
  const bool is_there = ::stat(target_.c_str(), &its) == 0;
  if (!is_there && errno != ENOENT) fail_by_system(where_, "it cannot be replaced");
  if (is_there && !S_ISREG(its.st_mode)) fail(where_, "it is no regular file");
  // What nobody else may read is not to be read while it is written, either.
  const mode_t mode = is_there ? S_IRUSR | S_IWUSR : 0666;
  static std::atomic<unsigned> number = 0;
  do {
    path_ = target_;
    path_ += std::string(".").append(std::to_string(::getpid())).append("-");
    path_ += std::to_string(number++).append(".partial");
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (file_ < 0 && (errno == EEXIST || errno == EINTR));
  if (file_ < 0) fail_by_system(where_, "a file beside it cannot be made");
  if (is_there) static_cast<void>(::fchmod(file_, its.st_mode & 07777));  // not every file system has modes
}

NewFile::~NewFile() {
  if (file_ >= 0) ::close(file_);
  if (!is_committed_) ::unlink(path_.c_str());
}

void NewFile::write(const void* data, std::size_t bytes) {
  const auto* rest = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, rest, bytes < most_bytes ? bytes : most_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_by_system(where_, "it cannot be written");
    rest += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void NewFile::commit() {
  if (::fsync(file_) != 0) fail_by_system(where_, "it cannot be brought onto the disk");
  if (::close(std::exchange(file_, -1)) != 0) fail_by_system(where_, "it cannot be closed");
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail_by_system(where_, "it cannot be replaced");
  is_committed_ = true;
  // The new name, too, is to outlast a crash of the machine; not every file system can say so.
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  const int its = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (its < 0) return;
  ::fsync(its);
  ::close(its);
}

OldFile::OldFile(std::string where, const std::filesystem::path& path) : where_(std::move(where)) {
  // Not to wait for the other end of a pipe.
  file_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file_ < 0) fail_by_system(where_, "it cannot be opened");
  struct stat its = {};
  const bool is_regular = ::fstat(file_, &its) == 0 && S_ISREG(its.st_mode);
  if (!is_regular) {
    ::close(file_);
    fail(where_, "it is no regular file");
  }
  bytes_ = static_cast<std::uint64_t>(its.st_size);
}

OldFile::~OldFile() { ::close(file_); }

void OldFile::read(void* data, std::size_t bytes, std::uint64_t place) const {
  auto* rest = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t read = ::pread(file_, rest, bytes < most_bytes ? bytes : most_bytes, static_cast<off_t>(place));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) fail_by_system(where_, "it cannot be read");
    if (read == 0) fail(where_, "it ends at byte ", place, ": it was cut off while it was read");
    rest += read;
    place += static_cast<std::uint64_t>(read);
    bytes -= static_cast<std::size_t>(read);
  }
}

}  // namespace portops::impl
