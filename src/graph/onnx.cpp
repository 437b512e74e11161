// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/onnx.hpp"

#include "core/types/fail.hpp"
#include "core/types/file.hpp"
#include "graph/onnx/model.hpp"

#include <charconv>
#include <climits>

namespace portops::graph {

std::int64_t onnx_schema_version() {
  constexpr std::string_view version = PORTOPS_VERSION;
  constexpr std::size_t dot = version.find('.');
  const auto number = [](std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  return 1000 * number(version.substr(0, dot)) + number(version.substr(dot + 1));
}

namespace {

std::string bytes_of(const std::string& where, const std::filesystem::path& path) {
  const impl::OldFile file(where, path);
  if (file.bytes() > INT_MAX) {
    impl::fail(where, "it has ", file.bytes(), " bytes, more than the 2 GB that the format allows");
  }
  std::string bytes(file.bytes(), '\0');
  file.read(bytes.data(), bytes.size(), 0);
  return bytes;
}

}  // namespace

Program read_onnx(const std::filesystem::path& path, const ReadOnnxParams& params) {
  const std::string where = "portops::graph::read_onnx: " + path.string() + ": ";
  const std::filesystem::path own = path.has_parent_path() ? path.parent_path() : ".";
  return impl::read_model(where, bytes_of(where, path), params, params.folder.empty() ? own : params.folder);
}

std::vector<std::string> onnx_inputs(const std::filesystem::path& path) {
  const std::string where = "portops::graph::onnx_inputs: " + path.string() + ": ";
  return impl::inputs_of_model(where, bytes_of(where, path));
}

Program parse_onnx(std::string_view model, const ReadOnnxParams& params) {
  return impl::read_model("portops::graph::parse_onnx: model: ", model, params, params.folder);
}

void write_onnx(const Program& program, const std::filesystem::path& path) {
  const std::string where = "portops::graph::write_onnx: " + path.string() + ": ";
  const std::string bytes = impl::write_model(where, program);
  impl::NewFile file(where, path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

std::string onnx_model(const Program& program) { return impl::write_model("portops::graph::onnx_model: ", program); }

}  // namespace portops::graph
