// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace portops::apps {

/// Unsigned bytes along some axes, the last one fastest.
struct IdxArray {
  std::vector<std::int64_t> extents;
  std::vector<std::uint8_t> bytes;
};

/// Reads a file in the format IDX, that of MNIST and its kin, gzipped or not:
///
///   0 0 type rank                     a byte each; the type is 8, unsigned bytes
///   extents                           of each axis, 32 bits, the most significant byte first
///   elements
///
/// Files may come from anywhere: memory grows with what a file holds, not with what its header promises, and stays
/// below 2 GiB. Throws Error, which names the file, where it cannot be read, is no such file, has another type or rank,
/// is cut off, or is longer than its header says.
IdxArray read_idx(const std::string& name, int rank);

}  // namespace portops::apps
