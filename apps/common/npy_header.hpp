// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/element_type.hpp>
#include <portops/core/tensor_ref.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// The header of a .npy file: eight bytes of magic and version, the length of what follows, and the text of a Python
// dictionary, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces and ended by a newline.
// The versions 1.0, 2.0 and 3.0 differ in the width of the length (2, 4, 4 bytes) and in the text's encoding.

namespace portops::apps {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

struct NpyHeader {
  ElementType type = ElementType::f64;
  bool swapped = false;        ///< the elements have the other byte order than this machine
  bool fortran_order = false;  ///< the first axis is the fastest
  Extents extents;
  std::int64_t bytes = 0;  ///< of all elements together

  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

/// Reads the dictionary. Throws Error on what is not one, and on an array that portops has no tensor for.
NpyHeader parse_npy_header(std::string_view text);

/// All that precedes the elements in a file of version 1.0, in C order and in this machine's byte order. There is no
/// such file of bf16. Its length is a multiple of 64, so that a reader may map the elements into memory.
std::string format_npy_header(ElementType type, const Extents& extents);

}  // namespace portops::apps
