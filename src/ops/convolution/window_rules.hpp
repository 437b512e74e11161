// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "ops/convolution/windows.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace portops::impl {

/// The attributes that say where windows lie.
struct WindowAttributes {
  const std::vector<std::int64_t>& stride;
  const std::vector<std::int64_t>& padding;  ///< two or four numbers
  const std::vector<std::int64_t>& dilation;
  std::int64_t groups;
  std::int64_t deformable_groups = 1;
};

/// The geometry that x, weight and the attributes give. Throws Error, as that of the operator `op`, where ranks or
/// attributes are wrong or x and weight do not fit together.
Windows make_windows(std::string_view op, const TensorRef& x, const TensorRef& weight, const WindowAttributes& params);

/// Throws Error unless the attribute of that name is positive.
void check_positive(std::string_view op, const char* name, std::int64_t number);

}  // namespace portops::impl
