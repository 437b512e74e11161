// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "idx.hpp"

#include <portops/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>

namespace portops::apps {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 31;
constexpr std::int64_t chunk = std::int64_t{1} << 22;
constexpr std::uint8_t unsigned_bytes = 8;

/// A file that zlib unpacks where it is gzipped.
class GzipFile {
 public:
  explicit GzipFile(std::string name) : name_(std::move(name)), file_(nullptr, &gzclose) {
    std::error_code error;
    if (std::filesystem::is_directory(name_, error)) fail("is a folder, expected a file in the format IDX");
    errno = 0;
    file_.reset(gzopen(name_.c_str(), "rbe"));
    if (!file_) fail(std::string("cannot be read: ") + std::strerror(errno == 0 ? ENOMEM : errno));
  }

  /// Goes on so many bytes later.
  void skip(std::int64_t bytes) {
    std::array<std::uint8_t, 1 << 16> passed;
    while (bytes > 0) {
      const std::size_t found =
          read(passed.data(), static_cast<std::size_t>(std::min<std::int64_t>(bytes, passed.size())));
      if (found == 0) return;  // what is read next is missing too
      bytes -= static_cast<std::int64_t>(found);
    }
  }

  /// Returns how many bytes there were.
  std::size_t read(void* data, std::size_t bytes) {
    std::size_t all = 0;
    while (all < bytes) {
      const std::size_t now = read_once(static_cast<std::uint8_t*>(data) + all, bytes - all);
      if (now == 0) break;
      all += now;
    }
    return all;
  }

  /// Whether gzip's checksum, or what is before it, is missing, as far as the file has been read.
  bool is_cut_off() const { return is_cut_off_; }
  /// Whether it is gzipped. Once something has been read.
  bool is_packed() const { return gzdirect(file_.get()) == 0; }

  [[noreturn]] void fail(const std::string& problem) const { throw Error(name_ + ": " + problem); }

 private:
  std::size_t read_once(void* data, std::size_t bytes) {
    const auto most = static_cast<std::size_t>(chunk);  // zlib counts by int
    const int found = gzread(file_.get(), data, static_cast<unsigned>(std::min(bytes, most)));
    int status = Z_OK;
    const char* const problem = gzerror(file_.get(), &status);
    // Said once, as soon as what is packed ends too early: what was unpacked before counts all the same.
    is_cut_off_ = is_cut_off_ || status == Z_BUF_ERROR;
    if (found < 0 || (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)) {
      fail(std::string("cannot be read: ") + (status == Z_ERRNO ? std::strerror(errno) : problem));
    }
    return static_cast<std::size_t>(found);
  }

  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  bool is_cut_off_ = false;
};

/// A file that is read from anywhere.
class PlainFile {
 public:
  explicit PlainFile(std::string name) : name_(std::move(name)), file_(::open(name_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) fail();
  }
  ~PlainFile() { ::close(file_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  std::int64_t bytes() const {
    struct stat found{};
    if (::fstat(file_, &found) != 0) fail();
    return found.st_size;
  }

  /// Returns how many bytes there were from `place` on.
  std::size_t read(std::uint8_t* data, std::size_t bytes, std::int64_t place) const {
    std::size_t all = 0;
    while (all < bytes) {
      const ssize_t found = ::pread(file_, data + all, bytes - all, place + static_cast<std::int64_t>(all));
      if (found < 0 && errno == EINTR) continue;
      if (found < 0) fail();
      if (found == 0) break;
      all += static_cast<std::size_t>(found);
    }
    return all;
  }

 private:
  [[noreturn]] void fail() const { throw Error(name_ + ": cannot be read: " + std::strerror(errno)); }

  std::string name_;
  int file_;
};

std::string list_of(const std::vector<std::int64_t>& extents) {
  std::string list;
  for (const std::int64_t extent : extents) list += (list.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + list + "]";
}

std::vector<std::int64_t> read_extents(GzipFile& file, int rank) {
  std::array<std::uint8_t, 4> word{};
  if (file.read(word.data(), word.size()) != word.size() || word[0] != 0 || word[1] != 0) {
    file.fail("is no file in the format IDX: it does not begin with two bytes of 0, a type and a rank");
  }
  if (word[2] != unsigned_bytes) {
    file.fail("holds elements of the type " + std::to_string(word[2]) + ", expected 8, unsigned bytes");
  }
  if (word[3] != rank) file.fail("has " + std::to_string(word[3]) + " axes, expected " + std::to_string(rank));
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < rank; ++axis) {
    if (file.read(word.data(), word.size()) != word.size()) file.fail("truncated: it ends within its header");
    std::int64_t extent = 0;
    for (const std::uint8_t byte : word) extent = 256 * extent + byte;
    extents.push_back(extent);
  }
  return extents;
}

}  // namespace

IdxFile::IdxFile(const std::string& name, int rank) : name_(name) {
  GzipFile file(name);
  extents_ = read_extents(file, rank);
  is_packed_ = file.is_packed();
  header_bytes_ = 4 + 4 * static_cast<std::int64_t>(rank);
  std::int64_t size = 1;
  for (const std::int64_t extent : extents_) {
    if (__builtin_mul_overflow(size, extent, &size) || size > most_bytes) {
      file.fail("has extents " + list_of(extents_) + ", expected at most " + std::to_string(most_bytes) + " elements");
    }
  }
  item_bytes_ = size / std::max<std::int64_t>(extents_[0], 1);
  if (is_packed_) return;
  const std::int64_t found = PlainFile(name).bytes() - header_bytes_;
  if (found < size) fail_truncated(found);
  if (found > size) fail_longer();
}

void IdxFile::fail_truncated(std::int64_t found) const {
  throw Error(name_ + ": truncated: extents " + list_of(extents_) + " are " + std::to_string(items() * item_bytes_) +
              " elements, found " + std::to_string(found));
}

void IdxFile::fail_longer() const {
  throw Error(name_ + ": is longer than its header says: extents " + list_of(extents_) + " are " +
              std::to_string(items() * item_bytes_) + " elements");
}

void IdxFile::scan(std::int64_t first, std::int64_t count, const Take& take) const {
  const std::int64_t begin = first * item_bytes_, end = begin + count * item_bytes_;
  std::vector<std::uint8_t> bytes;
  if (!is_packed_) {
    const PlainFile file(name_);
    for (std::int64_t at = begin; at < end; at += chunk) {
      bytes.resize(static_cast<std::size_t>(std::min(chunk, end - at)));
      const std::size_t found = file.read(bytes.data(), bytes.size(), header_bytes_ + at);
      if (found != bytes.size()) fail_truncated(at + static_cast<std::int64_t>(found));
      take(bytes);
    }
    return;
  }
  GzipFile file(name_);
  file.skip(header_bytes_);
  const std::int64_t size = items() * item_bytes_;
  for (std::int64_t at = 0; at < size;) {
    const std::int64_t to = at < begin ? begin : at < end ? end : size, now = std::min(chunk, to - at);
    bytes.resize(static_cast<std::size_t>(now));
    const std::size_t found = file.read(bytes.data(), bytes.size());
    if (found != bytes.size()) fail_truncated(at + static_cast<std::int64_t>(found));
    if (at >= begin && at < end) take(bytes);
    at += now;
  }
  std::uint8_t more = 0;
  if (file.read(&more, 1) != 0) fail_longer();
  if (file.is_cut_off()) file.fail("truncated: the end of what gzip has packed is missing");
}

std::vector<std::uint8_t> IdxFile::read_all() const {
  std::vector<std::uint8_t> all;
  scan(0, items(), [&](std::span<const std::uint8_t> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

std::vector<std::uint8_t> IdxFile::read(const std::vector<std::int64_t>& items) const {
  std::vector<std::uint8_t> all(items.size() * static_cast<std::size_t>(item_bytes_));
  const std::unique_ptr<PlainFile> plain = is_packed_ ? nullptr : std::make_unique<PlainFile>(name_);
  const std::unique_ptr<GzipFile> packed = is_packed_ ? std::make_unique<GzipFile>(name_) : nullptr;
  std::int64_t place = 0;  // in what is packed
  for (std::size_t i = 0; i < items.size();) {
    // Neighbours at once.
    std::size_t end = i + 1;
    while (end < items.size() && items[end] == items[end - 1] + 1) ++end;
    std::uint8_t* const to = all.data() + i * static_cast<std::size_t>(item_bytes_);
    const std::size_t bytes = (end - i) * static_cast<std::size_t>(item_bytes_);
    const std::int64_t from = header_bytes_ + items[i] * item_bytes_;
    std::size_t found = 0;
    if (packed) {
      packed->skip(from - place);
      found = packed->read(to, bytes);
      place = from + static_cast<std::int64_t>(bytes);
    } else {
      found = plain->read(to, bytes, from);
    }
    if (found != bytes) fail_truncated(from - header_bytes_ + static_cast<std::int64_t>(found));
    i = end;
  }
  return all;
}

}  // namespace portops::apps
