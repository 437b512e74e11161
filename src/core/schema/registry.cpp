// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/schema/registry.hpp"

#include "core/check/check.hpp"
#include "core/check/check_list.hpp"
#include "core/loop/axes.hpp"
#include "core/schema/registry_table.hpp"
#include "core/types/levels_data.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace portops {
namespace impl {
namespace {

constexpr std::size_t suggestions = 3;

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

/// What was given under a name that needs something else.
std::string describe(const Arguments& given, std::string_view name) {
  if (const auto* list = given.list(name)) return "a list of " + std::to_string(list->size()) + " tensors";
  const TensorOrNumber* tensor = given.tensor(name);
  return tensor != nullptr ? describe(*tensor) : describe(*given.attribute(name));
}

bool has(const Arguments& given, std::string_view name) {
  return given.tensor(name) != nullptr || given.list(name) != nullptr || given.attribute(name) != nullptr;
}

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

std::string expected(const AttributeInfo& attribute) {
  std::string text(expected(attribute.type));
  for (const auto& [name, number] : attribute.names) text += " or " + name;
  return text;
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

/// The insertions, removals and replacements of characters that make one text the other (Levenshtein's distance).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::size_t index_of(std::string_view name) {
  const auto& infos = operator_table().infos;
  for (std::size_t index = 0; index < infos.size(); ++index) {
    if (infos[index].name == name) return index;
  }
  const auto& left_out = operator_table().left_out;
  if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
    fail("portops::find_operator: no operator is named '", name,
         "' in this build, which leaves it out (PORTOPS_OPERATORS)");
  }
  std::vector<std::string> names;
  for (const OperatorInfo& info : infos) names.push_back(info.name);
  std::stable_sort(names.begin(), names.end(), [name](const std::string& a, const std::string& b) {
    return edit_distance(a, name) < edit_distance(b, name);
  });
  names.resize(std::min(names.size(), suggestions));
  fail("portops::find_operator: no operator is named '", name, "'; the closest are ", enumerated(names));
}

}  // namespace

Call::Call(const OperatorInfo& info, const Arguments& arguments) : info_(info), given_(arguments) {
  check_names(arguments);
  for (const InputInfo& input : info.inputs) {
    take_input(input, arguments);
    take_levels(input, arguments);
  }
  for (const AttributeInfo& attribute : info.attributes) take_attribute(attribute, arguments);
  for (const OutputInfo& output : info.outputs) take_output(output, arguments);
  check_types();
}

void Call::check_names(const Arguments& given) const {
  std::vector<std::string> takes;
  for (const InputInfo& input : info_.inputs) takes.push_back(input.name);
  for (const OutputInfo& output : info_.outputs) takes.push_back(output.name);
  for (const AttributeInfo& attribute : info_.attributes) takes.push_back(attribute.name);
  const auto check = [&](const std::string& name) {
    if (std::find(takes.begin(), takes.end(), name) != takes.end()) return;
    fail("portops::", info_.name, ": no argument is named '", name, "'; it takes ", enumerated(takes));
  };
  for (const auto& [name, value] : given.tensors()) check(name);
  for (const auto& [name, value] : given.lists()) check(name);
  for (const auto& [name, value] : given.attributes()) check(name);
  for (const auto& [name, levels] : given.levels()) check(name);
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

void Call::take_list_levels(const InputInfo& input, const Arguments& given) const {
  if (input.ragged != Ragged::always) return;
  const std::vector<Levels>* levels = given.list_levels(input.name);
  if (levels == nullptr) fail("portops::", info_.name, ": ", input.name, " is a list, expected one of ragged tensors");
  for (std::size_t i = 0; i < levels->size(); ++i) {
    impl::check_levels(info_.name, name_in_list(input.name, i), {list(input.name)[i], (*levels)[i]});
  }
}

void Call::take_levels(const InputInfo& input, const Arguments& given) {
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

void Call::take_list(std::string_view name, bool optional, const Arguments& given) const {
  if (given.list(name) != nullptr || (optional && !has(given, name))) return;
  const std::string found = has(given, name) ? describe(given, name) : "missing";
  fail("portops::", info_.name, ": ", name, " is ", found, ", expected a list of tensors");
}

void Call::take_input(const InputInfo& input, const Arguments& given) {
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

void Call::take_attribute(const AttributeInfo& attribute, const Arguments& given) {
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

void Call::take_output(const OutputInfo& output, const Arguments& given) {
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

void Call::check_types() const {
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

void Call::check_type(const InputInfo& input, std::string_view name, const TensorRef& given) const {
  if (!given || given.type() == input.type) return;
  const auto expected = [&](const auto&... parts) {
    fail("portops::", info_.name, ": ", name, " has element type ", name_of(given.type()), ", expected ", parts...);
  };
  if (input.type) expected(name_of(*input.type));
  const InputInfo& typed = typed_input();
  if (&input == &typed && given.type() == ElementType::i64) expected("f64, f32, f16 or bf16");
  if (given.type() == type()) return;
  expected(name_of(type()), " (the element type of ", typed.list ? name_in_list(typed.name, 0) : typed.name, ")");
}

void Call::check_outputs() const {
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

const TensorRef& Call::tensor(std::string_view name) const {
  static const TensorRef none;
  const TensorOrNumber* value = arguments_.tensor(name);
  return value != nullptr ? value->tensor() : none;
}

std::span<const TensorRef> Call::list(std::string_view name) const {
  const std::vector<TensorRef>* tensors = given_.list(name);
  return tensors != nullptr ? std::span<const TensorRef>(*tensors) : std::span<const TensorRef>();
}

// The schema sees to it that there is one where its type matters, and that it is always a tensor or a list of them.
const InputInfo& Call::typed_input() const {
  return *std::find_if(info_.inputs.begin(), info_.inputs.end(), [](const InputInfo& input) { return !input.type; });
}

ElementType Call::type() const {
  const InputInfo& input = typed_input();
  return input.list ? list(input.name).front().type() : tensor(input.name).type();
}

std::vector<RaggedRef> Call::ragged_list(std::string_view name) const {
  const std::span<const TensorRef> values = list(name);
  const std::vector<Levels>& levels = *given_.list_levels(name);
  std::vector<RaggedRef> result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back({values[i], levels[i]});
  return result;
}

std::vector<Extents> Call::list_extents(std::string_view name) const {
  std::vector<Extents> result;
  result.reserve(list(name).size());
  for (const TensorRef& tensor : list(name)) result.push_back(tensor.extents());
  return result;
}

Extents Call::joined(std::string_view name) const {
  return joined_shapes(info_.name, {name, list(name)}, attribute<std::int64_t>("axis")).whole;
}

std::vector<Extents> Call::divided(std::string_view name) const {
  const PartShapes shapes =
      divided_shapes(info_.name, {name, tensor(name)}, attribute<std::vector<std::int64_t>>("sections"),
                     attribute<std::int64_t>("axis"));
  std::vector<Extents> result;
  result.reserve(shapes.lengths.size());
  for (std::size_t i = 0; i < shapes.lengths.size(); ++i) result.push_back(shapes.part(i));
  return result;
}

Extents Call::broadcast(std::initializer_list<std::string_view> names) const {
  std::vector<Named> tensors;
  for (const std::string_view name : names) {
    if (tensor(name)) tensors.push_back({name, tensor(name)});
  }
  return broadcast_extents(info_.name, tensors);
}

Extents Call::reduced(std::string_view name) const {
  const Extents& whole = extents(name);
  const AxisSet axes =
      reduced_axes(info_.name, whole.rank(), attribute<std::vector<std::int64_t>>("axis"), attribute<bool>("asvector"));
  return reduced_extents(whole, axes, attribute<bool>("keepdim"));
}

Levels Call::shared_levels(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (const Levels found = levels(name)) return found;
  }
  return {};
}

void Call::check_levels(std::string_view output, const Extents& extents, const Levels& levels) const {
  if (!levels || (extents.rank() > 0 && extents[0] == levels.rows())) return;
  fail("portops::", info_.name, ": ", output, " has extents ", extents.to_string(), ", but levels of ", levels.rows(),
       " rows");
}

void Call::check_extents(std::string_view name, const Extents& expected, std::string_view rule) const {
  if (!tensor(name) || extents(name) == expected) return;
  fail("portops::", info_.name, ": ", name, " has extents ", extents(name).to_string(), ", expected ",
       expected.to_string(), " (", rule, ")");
}

namespace {

/// What the schema says of the outputs of a call, in their order. Throws Error where extents or levels do not fit.
struct InferredOutputs {
  std::vector<OutputExtents> extents;
  std::vector<OutputLevels> levels;

  InferredOutputs(std::size_t index, const Call& call)
      : extents(operator_table().adapters[index].extents(call)), levels(operator_table().adapters[index].levels(call)) {
    const std::vector<OutputInfo>& outputs = operator_table().infos[index].outputs;
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      call.check_levels(outputs[output].name, extents[output].extents, levels[output].levels);
    }
  }
};

}  // namespace
}  // namespace impl

std::span<const OperatorInfo> operators() { return impl::operator_table().infos; }

const OperatorInfo& find_operator(std::string_view name) { return impl::operator_table().infos[impl::index_of(name)]; }

std::map<std::string, TensorSpec, std::less<>> infer(std::string_view name, const Arguments& arguments) {
  const std::size_t index = impl::index_of(name);
  const OperatorInfo& info = impl::operator_table().infos[index];
  const impl::Call call(info, arguments);
  auto [extents, levels] = impl::InferredOutputs(index, call);
  std::map<std::string, TensorSpec, std::less<>> specs;
  for (std::size_t output = 0; output < info.outputs.size(); ++output) {
    const OutputInfo& its = info.outputs[output];
    specs.emplace(its.name, TensorSpec{its.type ? *its.type : call.type(), extents[output].extents,
                                       std::move(extents[output].list), std::move(levels[output].levels),
                                       std::move(levels[output].list)});
  }
  return specs;
}

void run(std::string_view name, const Context& ctx, const Arguments& arguments) {
  const std::size_t index = impl::index_of(name);
  const impl::Call call(impl::operator_table().infos[index], arguments);
  call.check_outputs();
  const impl::InferredOutputs inferred(index, call);  // for its errors: what infer refuses is no call
  impl::operator_table().adapters[index].run(ctx, call);
}

}  // namespace portops
