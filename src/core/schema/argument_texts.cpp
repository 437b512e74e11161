// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/schema/argument_texts.hpp"

#include <array>
#include <charconv>

namespace portops::impl {
namespace {

std::string_view expected(AttributeType type) {
  switch (type) {
    case AttributeType::boolean: return "true or false";
    case AttributeType::integer: return "an integer";
    case AttributeType::number: return "a number";
    case AttributeType::integers: return "a list of integers";
    case AttributeType::text: return "a text";
  }
  return "?";
}

}  // namespace

std::string text_of(double number) {
  std::array<char, 32> digits{};  // the shortest form that reads back as the same number takes 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

std::string enumerated(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += (result.empty() ? "" : ", ") + name;
  return result;
}

std::string describe(const TensorOrNumber& value) {
  return value.is_tensor() ? "a tensor of extents " + value.tensor().extents().to_string()
                           : "the number " + text_of(value.number());
}

std::string describe(const Attribute& value) {
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean ? "the boolean true" : "the boolean false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return "the integer " + std::to_string(*integer);
  if (const double* number = std::get_if<double>(&value)) return "the number " + text_of(*number);
  if (const std::string* text = std::get_if<std::string>(&value)) return "the text '" + *text + "'";
  std::vector<std::string> items;
  for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value)) items.push_back(std::to_string(item));
  return "the list [" + enumerated(items) + "]";
}

std::string describe(const Arguments& given, std::string_view name) {
  if (const auto* list = given.list(name)) return "a list of " + std::to_string(list->size()) + " tensors";
  const TensorOrNumber* tensor = given.tensor(name);
  return tensor != nullptr ? describe(*tensor) : describe(*given.attribute(name));
}

std::string expected(const AttributeInfo& attribute) {
  std::string text(expected(attribute.type));
  for (const auto& [name, number] : attribute.names) text += " or " + name;
  return text;
}

}  // namespace portops::impl
