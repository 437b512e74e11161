// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/schema/named_call.hpp"

#include "core/check/check.hpp"
#include "core/check/check_list.hpp"
#include "core/schema/argument_texts.hpp"

#include <algorithm>
#include <optional>

// Whether the arguments of a call fit the schema.

namespace portops::impl {
namespace {

bool has(const Arguments& given, std::string_view name) {
  return given.tensor(name) != nullptr || given.list(name) != nullptr || given.attribute(name) != nullptr;
}

/// Integers count as numbers.
std::optional<double> number_in(const Attribute& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const double* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

/// So do texts that the schema names.
std::optional<double> number_in(const Attribute& value, const AttributeInfo& attribute) {
  if (const std::string* text = std::get_if<std::string>(&value)) {
    for (const auto& [name, number] : attribute.names) {
      if (*text == name) return number;
    }
  }
  return number_in(value);
}

}  // namespace

NamedCall::NamedCall(const OperatorInfo& info, const Arguments& arguments) : info_(info), given_(arguments) {
  check_names(arguments);
  for (const InputInfo& input : info.inputs) {
    take_input(input, arguments);
    take_levels(input, arguments);
  }
  for (const AttributeInfo& attribute : info.attributes) take_attribute(attribute, arguments);
  take_outputs();
  check_types();
}

void NamedCall::take_outputs() {
  for (const OutputInfo& output : info_.outputs) take_output(output, given_);
}

void NamedCall::check_name(const std::string& name) const {
  const auto is_it = [&](const auto& info) { return info.name == name; };
  const auto have_it = [&](const auto& infos) { return std::any_of(infos.begin(), infos.end(), is_it); };
  if (have_it(info_.inputs) || have_it(info_.outputs) || have_it(info_.attributes)) return;
  std::vector<std::string> takes;
  const auto add = [&](const auto& infos) {
    for (const auto& info : infos) takes.push_back(info.name);
  };
  add(info_.inputs), add(info_.outputs), add(info_.attributes);
  fail("portops::", info_.name, ": no argument is named '", name, "'; it takes ", enumerated(takes));
}

void NamedCall::check_names(const Arguments& given) const {
  for (const auto& [name, value] : given.tensors()) check_name(name);
  for (const auto& [name, value] : given.lists()) check_name(name);
  for (const auto& [name, value] : given.attributes()) check_name(name);
  for (const auto& [name, levels] : given.levels()) check_name(name);
  if (given.levels().empty() && !given.has_list_levels()) return;
  const auto refuse_levels = [&](const std::string& name) {
    if (given.levels(name) || given.list_levels(name) != nullptr)
      fail("portops::", info_.name, ": ", name, " has levels, expected no ragged tensor");
  };
  for (const InputInfo& input : info_.inputs) {
    if (input.ragged == Ragged::no) refuse_levels(input.name);
  }
  for (const OutputInfo& output : info_.outputs) refuse_levels(output.name);
  for (const AttributeInfo& attribute : info_.attributes) refuse_levels(attribute.name);
}

void NamedCall::take_list_levels(const InputInfo& input, const Arguments& given) const {
  if (input.ragged != Ragged::always) return;
  const std::vector<Levels>* levels = given.list_levels(input.name);
  if (levels == nullptr) fail("portops::", info_.name, ": ", input.name, " is a list, expected one of ragged tensors");
  for (std::size_t i = 0; i < levels->size(); ++i) {
    impl::check_levels(info_.name, name_in_list(input.name, i), {list(input.name)[i], (*levels)[i]});
  }
}

void NamedCall::take_levels(const InputInfo& input, const Arguments& given) {
  if (input.list) return take_list_levels(input, given);
  const Levels levels = given.levels(input.name);
  const bool alone = input.ragged == Ragged::levels;
  if (!levels && alone) fail("portops::", info_.name, ": ", input.name, " has no levels, expected levels");
  if (!levels && input.ragged == Ragged::always) {
    fail("portops::", info_.name, ": ", input.name, " has no levels, expected a ragged tensor");
  }
  if (alone && has(given, input.name)) {
    fail("portops::", info_.name, ": ", input.name, " is ", describe(given, input.name), ", expected levels alone");
  }
  if (!levels) return;
  arguments_.set(input.name, levels);
  if (alone) return;
  const TensorRef& values = tensor(input.name);
  if (!values) fail("portops::", info_.name, ": ", input.name, " has levels, but is no tensor");
  impl::check_levels(info_.name, input.name, {values, levels});
}

void NamedCall::take_list(std::string_view name, bool optional, const Arguments& given) const {
  if (given.list(name) != nullptr || (optional && !has(given, name))) return;
  const std::string found = has(given, name) ? describe(given, name) : "missing";
  fail("portops::", info_.name, ": ", name, " is ", found, ", expected a list of tensors");
}

void NamedCall::take_input(const InputInfo& input, const Arguments& given) {
  if (input.ragged == Ragged::levels) return;
  if (input.list) return take_list(input.name, input.optional, given);
  const std::string_view expected = input.or_number ? "a tensor or a number" : "a tensor";
  if (!has(given, input.name)) {
    if (input.default_number) {
      arguments_.set(input.name, TensorOrNumber(*input.default_number));
    } else if (!input.optional) {
      fail("portops::", info_.name, ": ", input.name, " is missing, expected ", expected);
    }
    return;
  }
  if (const TensorOrNumber* value = given.tensor(input.name)) {
    if (value->is_tensor() || input.or_number) {
      arguments_.set(input.name, *value);
      return;
    }
  } else if (const Attribute* other = given.attribute(input.name); other != nullptr && input.or_number) {
    if (const auto number = number_in(*other)) {
      arguments_.set(input.name, TensorOrNumber(*number));
      return;
    }
  }
  fail("portops::", info_.name, ": ", input.name, " is ", describe(given, input.name), ", expected ", expected);
}

void NamedCall::take_attribute(const AttributeInfo& attribute, const Arguments& given) {
  if (!has(given, attribute.name)) {
    if (!attribute.default_value) {
      fail("portops::", info_.name, ": ", attribute.name, " is missing, expected ", expected(attribute));
    }
    arguments_.set(attribute.name, *attribute.default_value);
    return;
  }
  const Attribute* value = given.attribute(attribute.name);
  if (value != nullptr && value->index() == static_cast<std::size_t>(attribute.type)) {
    arguments_.set(attribute.name, *value);
  } else if (attribute.type == AttributeType::number && value != nullptr && number_in(*value, attribute)) {
    arguments_.set(attribute.name, *number_in(*value, attribute));
  } else if (const TensorOrNumber* number = given.tensor(attribute.name);
             attribute.type == AttributeType::number && number != nullptr && !number->is_tensor()) {
    arguments_.set(attribute.name, number->number());
  } else {
    fail("portops::", info_.name, ": ", attribute.name, " is ", describe(given, attribute.name), ", expected ",
         expected(attribute));
  }
}

void NamedCall::take_output(const OutputInfo& output, const Arguments& given) {
  if (output.list) return take_list(output.name, true, given);
  if (!has(given, output.name)) return;
  const TensorOrNumber* value = given.tensor(output.name);
  if (value == nullptr || !value->is_tensor()) {
    fail("portops::", info_.name, ": ", output.name, " is ", describe(given, output.name),
         ", expected a tensor to write to");
  }
  if (!output.needs_tensor.empty() && !tensor(output.needs_tensor)) {
    const TensorOrNumber* operand = arguments_.tensor(output.needs_tensor);
    fail("portops::", info_.name, ": ", output.name, " cannot be computed: ", output.needs_tensor, " is ",
         operand != nullptr ? describe(*operand) : "missing", ", expected a tensor");
  }
  arguments_.set(output.name, *value);
}

void NamedCall::check_types() const {
  for (const InputInfo& input : info_.inputs) {
    if (!input.list) {
      check_type(input, input.name, tensor(input.name));
      continue;
    }
    const std::span<const TensorRef> tensors = list(input.name);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (i > 0 && tensors[i].type() == type()) continue;
      check_type(input, name_in_list(input.name, i), tensors[i]);
    }
  }
}

void NamedCall::check_type(const InputInfo& input, std::string_view name, const TensorRef& given) const {
  const bool is_own = input.type || input.type_of_sums || input.type_of_parameters;
  if (!given || (is_own && given.type() == type_of(input))) return;
  const auto expected = [&](const auto&... parts) {
    fail("portops::", info_.name, ": ", name, " has element type ", name_of(given.type()), ", expected ", parts...);
  };
  if (is_own) expected(name_of(type_of(input)));  // of parameters, that of the first one
  const InputInfo& typed = typed_input();
  if (&input == &typed && given.type() == ElementType::i64) expected("f64, f32, f16 or bf16");
  if (given.type() == type()) return;
  expected(name_of(type()), " (the element type of ", typed.list ? name_in_list(typed.name, 0) : typed.name, ")");
}

void NamedCall::check_outputs() const {
  for (const OutputInfo& output : info_.outputs) {
    if (output.optional) continue;
    if (output.list && list(output.name).empty()) {
      fail("portops::", info_.name, ": ", output.name, " is missing, expected a list of tensors to write to");
    }
    if (!output.list && !tensor(output.name)) {
      fail("portops::", info_.name, ": ", output.name, " is missing, expected a tensor to write to");
    }
  }
}

}  // namespace portops::impl
