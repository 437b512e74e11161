// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/tensor.hpp"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

// Elements in files of ONNX.

namespace portops::impl {

/// The element type that tensors of a type of ONNX have here: smaller integers and booleans become i64. None of the
/// others.
std::optional<ElementType> element_type_of(int onnx_type);
/// Whether an integer is one of those that a type of integers of ONNX has.
bool has_integer(int onnx_type, std::int64_t value);
/// The type of ONNX that is the same.
int onnx_type_of(ElementType type);
/// "float16", or "type 42".
std::string name_of_onnx_type(int onnx_type);

/// How many bytes may be made of a file: some times as many as it has. Nodes make elements of elements, functions are
/// called any number of times, and many constants may lie in one place of another file: so a small file could ask for
/// all memory there is.
class ElementBudget {
 public:
  explicit ElementBudget(std::uint64_t file_bytes) : bytes_(8 * file_bytes + (std::uint64_t{64} << 20)) {}

  /// Throws Error, beginning with `where`, where there are not so many left.
  void take(const std::string& where, std::uint64_t bytes);
  /// Another file, of which constants are read: counts once.
  void add_file(const std::string& path, std::uint64_t file_bytes);

 private:
  std::uint64_t bytes_;
  std::set<std::string> files_;
};

/// The elements of a tensor of a file, in host memory. Those that lie outside of the file are read from `folder`, where
/// that is given. Throws Error, beginning with `where`, where type, extents and bytes do not fit each other, or a place
/// lies outside of the folder; nothing of the size of the extents is allocated before the elements have been found.
Tensor read_elements(const std::string& where, const onnx::TensorProto& proto, const std::filesystem::path& folder,
                     ElementBudget& budget);

/// Fills `proto`, but for its name, from a contiguous tensor in memory that the host reads.
void write_elements(const TensorRef& tensor, onnx::TensorProto& proto);

inline std::uint64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.ref().size()) * size_of(tensor.ref().type());
}

/// One number.
Tensor number_tensor(double number);
/// Integers of extents [n].
Tensor integers_tensor(const std::vector<std::int64_t>& values);
/// The elements of a tensor of i64.
std::vector<std::int64_t> integers_of(const Tensor& tensor);
/// The elements of a tensor of any type.
std::vector<double> numbers_of(const Tensor& tensor);
/// The same elements with other extents, as many.
Tensor with_extents(const Tensor& tensor, const Extents& extents);
/// The elements of a tensor, each rounded to `type`, any but i64; integers of more than 53 bits are rounded twice.
Tensor converted(const Tensor& tensor, ElementType type);

}  // namespace portops::impl
