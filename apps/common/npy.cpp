// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy.hpp"

#include "element_cast.hpp"

#include <portops/core/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace portops::apps {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
// A dictionary of three keys needs 200 bytes; what claims more than this is damaged.
constexpr std::uint32_t max_header_bytes = std::uint32_t{1} << 20;

void swap_bytes(void* data, std::size_t count, ElementType type) {
  const auto each = [data, count](auto zero, auto swap) {
    using Word = decltype(zero);
    auto* bytes = static_cast<unsigned char*>(data);
    for (std::size_t i = 0; i < count; ++i) {
      Word word;
      std::memcpy(&word, bytes + i * sizeof(Word), sizeof(Word));
      word = swap(word);
      std::memcpy(bytes + i * sizeof(Word), &word, sizeof(Word));
    }
  };
  switch (size_of(type)) {
    case 2: return each(std::uint16_t{}, [](std::uint16_t word) { return __builtin_bswap16(word); });
    case 4: return each(std::uint32_t{}, [](std::uint32_t word) { return __builtin_bswap32(word); });
    default: return each(std::uint64_t{}, [](std::uint64_t word) { return __builtin_bswap64(word); });
  }
}

void write_as_float(OutputFile& file, const bf16* elements, std::size_t count) {
  std::vector<float> chunk(std::min(count, chunk_bytes / sizeof(float)));
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, chunk.size());
    std::transform(elements + done, elements + done + now, chunk.data(), element_cast<float, bf16>);
    file.write(chunk.data(), now * sizeof(float));
    done += now;
  }
}

Extents reversed(const Extents& extents) {
  Extents result = extents;
  for (int axis = 0; axis < extents.rank(); ++axis) result[axis] = extents[extents.rank() - 1 - axis];
  return result;
}

}  // namespace

NpyFile::NpyFile(const std::string& name) : name_(name), stream_(nullptr, &std::fclose) {
  open();
  close();
}

void NpyFile::open() {
  stream_.reset(std::fopen(name_.c_str(), "rbe"));
  if (!stream_) fail(std::string("cannot be read: ") + std::strerror(errno));
  struct stat status{};
  if (fstat(fileno(stream_.get()), &status) != 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail("is a folder, expected a .npy file");
  file_bytes_ = S_ISREG(status.st_mode) ? status.st_size : -1;
  position_ = 0;
  read_header();
}

void NpyFile::reopen() {
  const NpyHeader before = header_;
  open();
  if (header_ != before) fail("was changed while it was read");
}

void NpyFile::close() {
  if (file_bytes_ >= 0) stream_.reset();  // a pipe cannot be opened again
}

void NpyFile::fail(const std::string& problem) const { throw Error(name_ + ": " + problem); }

std::size_t NpyFile::read_some(void* data, std::size_t bytes) {
  const std::size_t found = bytes == 0 ? 0 : std::fread(data, 1, bytes, stream_.get());
  if (found != bytes && std::ferror(stream_.get())) fail(std::string("cannot be read: ") + std::strerror(errno));
  position_ += static_cast<std::int64_t>(found);
  return found;
}

void NpyFile::read_exactly(void* data, std::size_t bytes) {
  if (read_some(data, bytes) == bytes) return;
  fail("truncated: its header says extents " + header_.extents.to_string() + " of " +
       std::string(name_of(header_.type)) + ", " + std::to_string(header_.bytes) + " bytes of elements, found " +
       std::to_string(position_ - elements_start_));
}

void NpyFile::read_header() {
  std::array<char, 8> start;  // magic and version
  const std::size_t found = read_some(start.data(), start.size());
  if (found < npy_magic.size() || std::string_view(start.data(), npy_magic.size()) != npy_magic) {
    fail("is not a .npy file: it does not start with \\x93NUMPY");
  }
  const auto byte = [](char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)); };
  if (found < start.size()) fail("truncated: its header ends after " + std::to_string(found) + " bytes");
  if (byte(start[6]) < 1 || byte(start[6]) > 3 || start[7] != 0) {
    fail("is a .npy file of version " + std::to_string(byte(start[6])) + "." + std::to_string(byte(start[7])) +
         ", expected 1.0, 2.0 or 3.0");
  }

  std::array<char, 4> length{};
  const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
  std::uint32_t header_bytes = 0;
  bool complete = read_some(length.data(), length_bytes) == length_bytes;
  for (std::size_t i = 0; i < length_bytes; ++i) header_bytes |= byte(length[i]) << (8 * i);
  if (complete && header_bytes > max_header_bytes) {
    fail("lying header: it claims to be " + std::to_string(header_bytes) + " bytes long, expected at most " +
         std::to_string(max_header_bytes));
  }
  std::string text(complete ? header_bytes : 0, '\0');
  complete = complete && read_some(text.data(), text.size()) == text.size();
  if (!complete) fail("truncated: its header ends after " + std::to_string(position_) + " bytes");

  try {
    header_ = parse_npy_header(text);
  } catch (const Error& error) {
    fail(error.what());
  }
  elements_start_ = position_;
  const std::int64_t elements = file_bytes_ - position_;
  if (file_bytes_ >= 0 && elements != header_.bytes) {
    fail(std::string(elements < header_.bytes ? "truncated" : "longer than its header says") + ": extents " +
         header_.extents.to_string() + " of " + std::string(name_of(header_.type)) + " are " +
         std::to_string(header_.bytes) + " bytes of elements, found " + std::to_string(elements));
  }
}

template <class From, class To>
void NpyFile::read_converted(To* out, std::size_t count) {
  std::vector<From> chunk(std::min(count, chunk_bytes / sizeof(From)));
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(count - done, chunk.size());
    read_exactly(chunk.data(), now * sizeof(From));
    if (header_.swapped) swap_bytes(chunk.data(), now, header_.type);
    std::transform(chunk.data(), chunk.data() + now, out + done, [](From value) { return element_cast<To>(value); });
    done += now;
  }
}

void NpyFile::check_readable_as(ElementType type) const {
  const bool indices = type == ElementType::i64;
  if (indices == (header_.type == ElementType::i64)) return;
  fail("holds " + std::string(name_of(header_.type)) + ", expected " +
       (indices ? "i64, which is int64 in NumPy" : "float16, float32 or float64"));
}

NpyTensor NpyFile::read(ElementType type) {
  check_readable_as(type);
  if (!stream_) reopen();
  // Fortran order is C order of the reversed extents: the elements stay where they lie, the strides say where.
  const Extents stored = header_.fortran_order ? reversed(header_.extents) : header_.extents;
  NpyTensor tensor{Tensor(type, stored), {}};
  void* data = tensor.storage.ref().data();
  Extents strides = stored.row_major_strides();
  if (header_.fortran_order) strides = reversed(strides);
  tensor.ref = TensorRef(data, type, header_.extents, strides, MemorySpace::host);

  const auto count = static_cast<std::size_t>(header_.bytes) / size_of(header_.type);
  if (type == header_.type) {
    read_exactly(data, static_cast<std::size_t>(header_.bytes));
    if (header_.swapped) swap_bytes(data, count, type);
  } else {
    with_type(header_.type, [&](auto from) {
      with_type(type, [&](auto to) {
        read_converted<typename decltype(from)::type>(static_cast<typename decltype(to)::type*>(data), count);
      });
    });
  }
  if (std::fgetc(stream_.get()) != EOF) fail("longer than its header says");  // seen here only where it is a pipe
  close();
  return tensor;
}

void write_npy(OutputFile& file, const TensorRef& x) {
  const auto count = static_cast<std::size_t>(x.size());
  const std::string header =
      format_npy_header(x.type() == ElementType::bf16 ? ElementType::f32 : x.type(), x.extents());
  file.write(header.data(), header.size());
  if (x.type() == ElementType::bf16) {
    write_as_float(file, static_cast<const bf16*>(x.data()), count);
  } else {
    file.write(x.data(), count * size_of(x.type()));
  }
  file.finish();
}

}  // namespace portops::apps
