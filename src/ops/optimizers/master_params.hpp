// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/fail.hpp"
#include "core/types/tensor_ref.hpp"

#include <span>
#include <string_view>

namespace portops::impl {

/// Whether a step has master parameters. Throws Error where it has them without their results.
inline bool has_master_params(std::string_view op, std::span<const TensorRef> before,
                              std::span<const TensorRef> after) {
  if (!before.empty() && after.empty()) {
    fail("portops::", op, ": master_param is given, but no master_param_out, expected both or neither");
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!after[i]) fail("portops::", op, ": master_param_out[", i, "] is empty, expected a tensor");
  }
  return !before.empty();
}

}  // namespace portops::impl
