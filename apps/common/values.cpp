// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <portops/core/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <vector>

namespace portops::apps {

namespace {

std::string quoted(std::string_view text) {
  std::string result(1, '\'');  // g++ 12 sees an overlap in "'" + std::string(text)
  result.append(text).push_back('\'');
  return result;
}

template <class T>
std::optional<T> parse(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);  // from_chars takes no plus
  T value{};
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    throw Error(quoted(text) + " is out of range, expected a number of " + std::to_string(8 * sizeof(T)) + " bits");
  }
  return value;
}

/// "a", "a or b", "a, b or c"
template <class Values>
std::string alternatives(const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += i + 1 == values.size() ? " or " : ", ";
    text += name_of(values[i]);
  }
  return text;
}

constexpr std::array element_types{ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16};

std::optional<double> parse_named_number(const AttributeInfo& attribute, std::string_view text) {
  for (const auto& [name, number] : attribute.names) {
    if (text == name) return number;
  }
  return parse_number(text);
}

std::vector<std::int64_t> parse_integers(const std::string& name, std::string_view text) {
  const bool has_brackets = text.starts_with('[') && text.ends_with(']');
  std::string_view rest = has_brackets ? text.substr(1, text.size() - 2) : text;
  std::vector<std::int64_t> values;
  if (has_brackets && rest.empty()) return values;
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto value = parse<std::int64_t>(rest.substr(0, comma));
    if (!value) {
      throw Error(name + " is " + quoted(text) +
                  ", expected integers separated by commas, such as 1,2, or [] for none");
    }
    values.push_back(*value);
    if (comma == rest.size()) return values;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<double> parse_number(std::string_view text) { return parse<double>(text); }

Attribute parse_attribute(const AttributeInfo& attribute, std::string_view text) {
  const std::string& name = attribute.name;
  switch (attribute.type) {
    case AttributeType::boolean:
      if (text == "true") return true;
      if (text == "false") return false;
      throw Error(name + " is " + quoted(text) + ", expected true or false");
    case AttributeType::integer:
      if (const auto value = parse<std::int64_t>(text)) return *value;
      throw Error(name + " is " + quoted(text) + ", expected an integer");
    case AttributeType::number:
      if (const auto value = parse_named_number(attribute, text)) return *value;
      throw Error(name + " is " + quoted(text) + ", expected a number, such as 0.5 or inf" +
                  (attribute.names.empty() ? "" : "," + or_names(attribute)));
    case AttributeType::integers: return parse_integers(name, text);
    case AttributeType::text: break;
  }
  return std::string(text);
}

Backend parse_backend(std::string_view text) {
  const std::vector<Backend> enabled = enabled_backends();
  for (const Backend backend : enabled) {
    if (text == name_of(backend)) return backend;
  }
  const bool known = text == "cuda" || text == "openmp" || text == "serial";
  throw Error("--backend is " + quoted(text) + (known ? ", which this build does not have" : "") + ", expected " +
              alternatives(enabled));
}

ElementType parse_element_type(std::string_view text) {
  for (const ElementType type : element_types) {
    if (text == name_of(type)) return type;
  }
  throw Error("--dtype is " + quoted(text) + ", expected " + alternatives(element_types));
}

Math parse_math(std::string_view text) {
  if (text == "ieee") return Math::ieee;
  if (text == "tf32") return Math::tf32;
  throw Error("--math is " + quoted(text) + ", expected ieee or tf32");
}

Products parse_products(std::string_view text) {
  constexpr std::array all{Products::automatic, Products::own, Products::kokkos_kernels};
  for (const Products products : all) {
    if (text == name_of(products)) return products;
  }
  throw Error("--products is " + quoted(text) + ", expected " + alternatives(all));
}

Device choose_device(std::optional<Backend> backend) {
  const std::vector<Device> present = devices();
  std::vector<Backend> found;
  for (const Backend candidate : enabled_backends()) {
    const auto device =
        std::find_if(present.begin(), present.end(), [candidate](const Device& d) { return d.backend == candidate; });
    if (device == present.end()) continue;
    if (!backend || candidate == *backend) return *device;
    found.push_back(candidate);
  }
  if (!backend) throw Error("no backend of this build has a device on this machine");
  throw Error("--backend is " + quoted(name_of(*backend)) + ", but no such device was found, expected " +
              alternatives(found));
}

void append_item(std::string& list, std::string_view item, std::string_view separator) {
  if (!list.empty()) list += separator;
  list += item;
}

std::string to_string(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string to_string(const Attribute& value) {
  struct Printer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return to_string(v); }
    std::string operator()(const std::string& v) const { return v.empty() ? "''" : v; }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      std::string text;
      for (const std::int64_t i : v) append_item(text, std::to_string(i), ",");
      return text.empty() ? "[]" : text;
    }
  };
  return std::visit(Printer{}, value);
}

std::string_view name_of(AttributeType type) {
  switch (type) {
    case AttributeType::boolean: return "boolean";
    case AttributeType::integer: return "integer";
    case AttributeType::number: return "number";
    case AttributeType::integers: return "integers";
    case AttributeType::text: return "text";
  }
  return "?";
}

std::string or_names(const AttributeInfo& attribute) {
  std::string text;
  for (const auto& [name, number] : attribute.names) text += " or " + name;
  return text;
}

}  // namespace portops::apps
