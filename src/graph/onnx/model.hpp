// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/onnx.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Between the public functions and what knows ONNX' own classes.

namespace portops::impl {

/// Reads a model of at most 2 GB. Messages begin with `where`; elements outside of it lie in `folder`, or are refused.
graph::Program read_model(const std::string& where, std::string_view bytes, const graph::ReadOnnxParams& params,
                          const std::filesystem::path& folder);

/// The names of its inputs.
std::vector<std::string> inputs_of_model(const std::string& where, std::string_view bytes);

/// The bytes of a program's model. Messages begin with `where`.
std::string write_model(const std::string& where, const graph::Program& program);

}  // namespace portops::impl
