// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "idx.hpp"

#include <portops/core/error.hpp>

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

  /// Returns how many bytes there were.
  std::size_t read(void* data, std::size_t bytes) {
    const int found = gzread(file_.get(), data, static_cast<unsigned>(bytes));
    int status = Z_OK;
    const char* const problem = gzerror(file_.get(), &status);
    // Said once, as soon as what is packed ends too early: what was unpacked before counts all the same.
    is_cut_off_ = is_cut_off_ || status == Z_BUF_ERROR;
    if (found < 0 || (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)) {
      fail(std::string("cannot be read: ") + (status == Z_ERRNO ? std::strerror(errno) : problem));
    }
    return static_cast<std::size_t>(found);
  }

  /// Whether gzip's checksum, or what is before it, is missing, as far as the file has been read.
  bool is_cut_off() const { return is_cut_off_; }

  [[noreturn]] void fail(const std::string& problem) const { throw Error(name_ + ": " + problem); }

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  bool is_cut_off_ = false;
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

IdxArray read_idx(const std::string& name, int rank) {
  GzipFile file(name);
  IdxArray array{read_extents(file, rank), {}};
  std::int64_t size = 1;
  for (const std::int64_t extent : array.extents) {
    if (__builtin_mul_overflow(size, extent, &size) || size > most_bytes) {
      file.fail("has extents " + list_of(array.extents) + ", expected at most " + std::to_string(most_bytes) +
                " elements");
    }
  }
  const auto expected = static_cast<std::size_t>(size);
  while (array.bytes.size() < expected) {
    constexpr std::size_t chunk = std::size_t{1} << 22;
    const std::size_t before = array.bytes.size(), now = std::min(chunk, expected - before);
    array.bytes.resize(before + now);
    const std::size_t found = file.read(array.bytes.data() + before, now);
    if (found != now) {
      file.fail("truncated: extents " + list_of(array.extents) + " are " + std::to_string(expected) +
                " elements, found " + std::to_string(before + found));
    }
  }
  std::uint8_t more = 0;
  if (file.read(&more, 1) != 0) {
    file.fail("is longer than its header says: extents " + list_of(array.extents) + " are " + std::to_string(expected) +
              " elements");
  }
  if (file.is_cut_off()) file.fail("truncated: the end of what gzip has packed is missing");
  return array;
}

}  // namespace portops::apps
