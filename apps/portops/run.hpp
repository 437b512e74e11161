// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>

#include <optional>
#include <string>
#include <vector>

namespace portops::apps {

/// What `portops run` was told.
struct RunRequest {
  std::string op;
  std::vector<std::string> arguments;  ///< NAME=VALUE
  std::optional<Backend> backend;      ///< none: the first whose device is present
  std::optional<ElementType> type;     ///< none: the inputs' own
  bool deterministic = false;          ///< whatever the environment says
  std::optional<Math> math;            ///< the environment's where it is not given
  std::optional<Products> products;    ///< likewise
};

/// Reads the inputs, runs the operator, writes the outputs. Throws Error on a wrong request and on every failure; no
/// output file is there then.
void run_request(const RunRequest& request);

}  // namespace portops::apps
