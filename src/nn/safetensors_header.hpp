// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/shown.hpp"
#include "portops/core/tensor_ref.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace portops::impl {

/// What a header says of a tensor. Places count from the header's end.
struct FileTensor {
  std::string name;
  std::string type;  ///< F32, …
  std::vector<std::int64_t> extents;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct FileHeader {
  std::vector<FileTensor> tensors;  ///< in the order of their places, without gaps
  std::map<std::string, std::string> metadata;
};

inline constexpr std::uint64_t most_header_bytes = 100'000'000;

/// A type's name in files.
std::string_view file_name_of(ElementType type);

/// Reads a header, behind which `data_bytes` follow. Throws Error, beginning with `where`, unless it describes exactly
/// these.
FileHeader read_header(const std::string& where, std::string_view text, std::uint64_t data_bytes);

/// The header's text, which ends at a multiple of 8 bytes. Throws Error, beginning with `where`, where a name is no
/// UTF-8, or it is too long.
std::string write_header(const std::string& where, const FileHeader& header);

/// "[2, 3]"
std::string shown(const std::vector<std::int64_t>& extents);

}  // namespace portops::impl
