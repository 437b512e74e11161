// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>

#include <optional>
#include <string>
#include <string_view>

// What users write on a command line, and how values are shown to them. Every function that reads throws
// portops::Error, which says what was found and what was expected.

namespace portops::apps {

/// The number that `text` is from its first to its last character: decimal, `inf` or `nan`, with or without a sign.
/// None when it is something else. Throws when it is a number that no double holds.
std::optional<double> parse_number(std::string_view text);

/// An attribute as the schema types it: `true`, `3`, `0.5` or `inf` or a name that the schema gives a number, a list,
/// or any text. A list is `1,2` or `[1,2]`, one without items `[]`.
Attribute parse_attribute(const AttributeInfo& attribute, std::string_view text);

/// The name of a backend that is compiled in.
Backend parse_backend(std::string_view text);
ElementType parse_element_type(std::string_view text);
Math parse_math(std::string_view text);
Products parse_products(std::string_view text);

/// The device of that backend, or, when none is asked for, of the first backend whose device is present. Needs an
/// initialised runtime.
Device choose_device(std::optional<Backend> backend);

/// Appends to a list that is to be read: "a, b, c".
void append_item(std::string& list, std::string_view item, std::string_view separator = ", ");

std::string to_string(const Attribute& value);
/// The shortest decimal number that reads back as `value`.
std::string to_string(double value);
std::string_view name_of(AttributeType type);
/// " or fro" for each text that stands for a number.
std::string or_names(const AttributeInfo& attribute);

}  // namespace portops::apps
