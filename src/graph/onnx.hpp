// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/config.hpp"
#include "portops/core/error.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"
#include "portops/graph/program.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Programs as files in the format ONNX (https://onnx.ai). In builds with its library (PORTOPS_HAS_ONNX); others have no
// such header.

namespace portops::graph {

/// The version of the domain "portops" in files that this library writes: the release whose schema of the operators
/// they follow, 1000 times its first number plus its second one. Files of it and of all earlier versions are read.
PORTOPS_EXPORT std::int64_t onnx_schema_version();

struct ReadOnnxParams {
  /// Extents that a file leaves open, by the names that it gives them: {{"batch", 8}}.
  std::map<std::string, std::int64_t, std::less<>> extents = {};
  /// The extents of whole inputs, by their names. Those that the file says have to agree.
  std::map<std::string, Extents, std::less<>> inputs = {};
  /// The folder that elements outside of the file lie in; nothing outside of it is read. Empty: that of the file; of a
  /// model in memory: none, and such elements are refused.
  std::filesystem::path folder = {};
};

/// Reads a program from an ONNX model: operator sets 11 to the newest one that ONNX' library knows, and the domain
/// "portops", whose operators are those of the schema, up to onnx_schema_version(). Operators of ONNX become calls with
/// the same meaning, as docs/guide.md lists; what is known when the file is read (extents, axes, shapes) is computed
/// then. Functions of the model are called by their bodies. Networks are read as they infer: a node that trains is
/// refused.
///
/// Element types: f64, f32, f16, bf16 and i64; constants of smaller integers become i64, and are computed with as such.
/// A Cast of constants is that of the type that it names, and refused where that has no such number. Integers that a
/// program computes or is given are cast to INT64, INT32 and UINT32, which leaves them as they are, and to nothing
/// else.
///
/// Files may come from anywhere: memory and time are of the order of the file's size, of its nodes (250,000 at most,
/// those of functions counted as often as they are called), and of the calls that these become with their operands
/// (1,000,000 at most); nothing of the size of extents is allocated. Throws Error, which names the file, and the node
/// where it is about one, where
/// - it is no ONNX model, is cut off, asks for newer versions than there are, or for extents that nobody has given;
/// - a node reads what no node before it gives, gives what is there already, has wrong attributes, is of an operator
///   that is unknown, or whose meaning no call has, or has subgraphs; functions call themselves;
/// - constants have other sizes than their extents say, numbers that their type has not, or lie outside of the folder;
/// - nodes and constants would make more of the file than eight times its bytes and 64 MiB;
/// - the calls could not be made: what Program::add_call throws.
PORTOPS_EXPORT Program read_onnx(const std::filesystem::path& path, const ReadOnnxParams& params = {});

/// The same of a model in memory. Messages name it `model`.
PORTOPS_EXPORT Program parse_onnx(std::string_view model, const ReadOnnxParams& params = {});

/// The names of a file's inputs, for who has to give their extents; constants that are listed among them are none.
/// Nothing else of the file is looked at. Throws Error where it is no ONNX model.
PORTOPS_EXPORT std::vector<std::string> onnx_inputs(const std::filesystem::path& path);

/// Writes a program as an ONNX model of operator set 22: nodes of ONNX' operators where the meaning is the same, others
/// of the domain "portops", whose version is onnx_schema_version(); some of these have a body of ONNX' operators for
/// other readers. What read_onnx makes of it computes the same bits. The file is written beside its target and then
/// becomes it.
///
/// Throws Error, which names the file, where the model would take more than 2 GB, the format's limit, where a constant
/// is in no memory that the host reads, or the system refuses something.
PORTOPS_EXPORT void write_onnx(const Program& program, const std::filesystem::path& path);

/// The same in memory.
PORTOPS_EXPORT std::string onnx_model(const Program& program);

}  // namespace portops::graph
