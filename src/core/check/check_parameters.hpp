// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"

#include <span>
#include <string_view>

namespace portops::impl {

/// The element type of a call's parameters, and the argument that says so.
struct ParameterType {
  ElementType type;
  std::string_view like;
};

/// That of the first parameter that is given, which must be the call's type, that of the argument `leader`, or the type
/// of sums; the call's type where none is given.
ParameterType parameter_type(std::string_view op, ElementType type, std::string_view leader,
                             std::span<const Named> parameters);

}  // namespace portops::impl
