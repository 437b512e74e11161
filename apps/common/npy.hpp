// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "npy_header.hpp"
#include "output_file.hpp"

#include <portops/core/tensor.hpp>

#include <cstdio>
#include <memory>
#include <string>

// NumPy's .npy files: versions 1.0, 2.0 and 3.0, C and Fortran order, float16, float32, float64 and int64 of either
// byte order. Every failure throws portops::Error with the file's name.

namespace portops::apps {

/// Elements, and how they lie.
struct NpyTensor {
  Tensor storage;
  TensorRef ref;  ///< of the array's extents; its strides are column-major where the file is in Fortran order
};

/// A .npy file whose header has been read, understood and found to fit the length of the file. It is open only while
/// it is read, unless it is a pipe: there may be more of them than a process may have open.
class NpyFile {
 public:
  explicit NpyFile(const std::string& name);

  const std::string& name() const { return name_; }
  ElementType type() const { return header_.type; }
  const Extents& extents() const { return header_.extents; }

  /// Throws where one of `type` and the file's own type is i64 and the other is not: indices are not converted.
  void check_readable_as(ElementType type) const;

  /// Reads the elements, once, into host memory: as they lie if `type` is the file's own, each rounded to `type` once
  /// otherwise. Checks that the file is readable so.
  NpyTensor read(ElementType type);

 private:
  [[noreturn]] void fail(const std::string& problem) const;
  void open();
  void reopen();
  void close();
  std::size_t read_some(void* data, std::size_t bytes);
  void read_exactly(void* data, std::size_t bytes);
  void read_header();
  template <class From, class To>
  void read_converted(To* out, std::size_t count);

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_;
  std::int64_t file_bytes_ = -1;  // unknown where it is a pipe
  std::int64_t position_ = 0;
  std::int64_t elements_start_ = 0;
  NpyHeader header_;
};

/// Writes a tensor in host memory, contiguous with the last axis fastest, as version 1.0, and finishes the file; bf16,
/// which NumPy lacks, as float32, which holds its values exactly.
void write_npy(OutputFile& file, const TensorRef& x);

}  // namespace portops::apps
