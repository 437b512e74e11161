// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"

#include <stdexcept>
#include <string>

namespace portops {

/// Every wrong call throws this, before anything is enqueued. The message starts with the function's name and says
/// what was found and what was expected: `portops::lerp: out has extents [3, 4], expected [3, 1]`.
class PORTOPS_EXPORT Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace portops
