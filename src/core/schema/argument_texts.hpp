// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/schema/registry.hpp"

#include <string>
#include <string_view>
#include <vector>

// Arguments of a call by name, in the words of its messages.

namespace portops::impl {

/// The number in the shortest form that reads back as the same.
std::string text_of(double number);

/// "x, y, out"
std::string enumerated(const std::vector<std::string>& names);

/// What a value is, in words: "a tensor of extents [3]", "the number 0.5".
std::string describe(const TensorOrNumber& value);
std::string describe(const Attribute& value);
/// What was given under a name that needs something else.
std::string describe(const Arguments& given, std::string_view name);

/// What an attribute takes, in words: "a number or fro".
std::string expected(const AttributeInfo& attribute);

}  // namespace portops::impl
