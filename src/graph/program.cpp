// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/program.hpp"

#include "core/schema/argument_texts.hpp"
#include "core/schema/named_call.hpp"
#include "core/types/fail.hpp"
#include "graph/arguments.hpp"

#include <algorithm>

namespace portops::graph {

using impl::fail;

namespace {

constexpr std::string_view who = "portops::graph::Program";

/// "call 3 (node 'conv1')"
std::string text_of_call(std::size_t number, const std::string& place) {
  std::string text = "call " + std::to_string(number);
  if (!place.empty()) text += " (" + place + ")";
  return text;
}

/// An input that is not given.
bool is_none(const Operand& operand) { return operand.is_value() && !operand.value(); }

/// The attribute as the schema has it, with its default.
Attribute attribute_of(const impl::NamedCall& call, const AttributeInfo& info) {
  switch (info.type) {
    case AttributeType::boolean: return call.attribute<bool>(info.name);
    case AttributeType::integer: return call.attribute<std::int64_t>(info.name);
    case AttributeType::number: return call.attribute<double>(info.name);
    case AttributeType::integers: return call.attribute<std::vector<std::int64_t>>(info.name);
    case AttributeType::text: break;
  }
  return call.attribute<std::string>(info.name);
}

const OutputInfo& find_output(const OperatorInfo& info, const std::string& name) {
  const auto at = std::find_if(info.outputs.begin(), info.outputs.end(),
                               [&](const OutputInfo& output) { return output.name == name; });
  if (at == info.outputs.end()) fail("portops::", info.name, ": no output is named '", name, "'");
  return *at;
}

/// Throws Error where an optional output cannot be computed.
void check_wanted(const OperatorInfo& info, const impl::NamedCall& call, const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    const OutputInfo& output = find_output(info, name);
    if (output.needs_tensor.empty()) continue;
    const auto input = std::find_if(info.inputs.begin(), info.inputs.end(),
                                    [&](const InputInfo& each) { return each.name == output.needs_tensor; });
    const bool is_given = input->list ? !call.list(input->name).empty() : static_cast<bool>(call.tensor(input->name));
    if (!is_given) {
      fail("portops::", info.name, ": ", name, " cannot be computed: ", input->name, " is no tensor");
    }
  }
}

/// The inputs that are given, and the numbers that stand for those that are not.
std::vector<NamedOperand> inputs_of(const OperatorInfo& info, const CallRequest& request) {
  std::vector<NamedOperand> inputs;
  for (const InputInfo& input : info.inputs) {
    if (const auto given = request.inputs.find(input.name); given != request.inputs.end() && !is_none(given->second)) {
      inputs.push_back({input.name, given->second});
    } else if (input.default_number) {
      inputs.push_back({input.name, *input.default_number});
    }
  }
  return inputs;
}

}  // namespace

std::vector<ValueId> Operand::values() const {
  if (is_value()) return {value()};
  return is_list() ? list() : std::vector<ValueId>();
}

namespace {

const Operand* find_operand(const std::vector<NamedOperand>& operands, std::string_view name) {
  const auto at =
      std::find_if(operands.begin(), operands.end(), [&](const NamedOperand& each) { return each.name == name; });
  return at != operands.end() ? &at->operand : nullptr;
}

}  // namespace

const Operand* Call::input(std::string_view name) const { return find_operand(inputs, name); }
const Operand* Call::output(std::string_view name) const { return find_operand(outputs, name); }

ValueId Call::result(std::string_view name) const {
  const Operand* found = output(name);
  if (found == nullptr || !found->is_value()) fail(who, ": ", op, " computes no single tensor '", name, "'");
  return found->value();
}

const std::vector<ValueId>& Call::results(std::string_view name) const {
  const Operand* found = output(name);
  if (found == nullptr || !found->is_list()) fail(who, ": ", op, " computes no list '", name, "'");
  return found->list();
}

Arguments arguments_of(const Program& program, const CallRequest& request) {
  const OperatorInfo& info = find_operator(request.op);
  const auto shape_of = [&](ValueId id) {
    const ValueInfo& value = program.value(id);
    return TensorRef::without_data(value.type, value.extents);
  };
  Arguments arguments;
  for (const auto& [name, operand] : request.inputs) {
    if (is_none(operand)) continue;
    const auto input =
        std::find_if(info.inputs.begin(), info.inputs.end(), [&](const InputInfo& each) { return each.name == name; });
    if (input == info.inputs.end()) fail("portops::", info.name, ": no input is named '", name, "'");
    set_input(arguments, program, *input, operand, shape_of);
  }
  for (const auto& [name, value] : request.attributes) {
    const bool is_known = std::any_of(info.attributes.begin(), info.attributes.end(),
                                      [&](const AttributeInfo& each) { return each.name == name; });
    if (!is_known) fail("portops::", info.name, ": no attribute is named '", name, "'");
    arguments.set(name, value);
  }
  return arguments;
}

ValueId Program::add_value(ValueInfo info) {
  if (info.name.empty()) fail(who, ": a value's name is empty");
  if (names_.contains(info.name)) fail(who, ": two values are named '", info.name, "'");
  for (const std::int64_t extent : info.extents) {
    if (extent < 0) fail(who, ": ", info.name, " has extents ", info.extents.to_string());
  }
  // So that its bytes can be counted. Whoever adds up those of many values sees to the sum.
  constexpr std::int64_t most = std::int64_t{1} << 44;
  if (info.extents.product() > most) {
    fail(who, ": ", info.name, " has extents ", info.extents.to_string(), ", more elements than memory can hold");
  }
  if (info.levels && (info.extents.rank() == 0 || info.extents[0] != info.levels.rows())) {
    fail(who, ": ", info.name, " has extents ", info.extents.to_string(), ", but levels of ", info.levels.rows(),
         " rows");
  }
  const ValueId id{static_cast<std::int32_t>(values_.size())};
  names_.emplace(info.name, id);
  values_.push_back(std::move(info));
  return id;
}

ValueId Program::add_input(std::string_view name, ElementType type, const Extents& extents, const Levels& levels) {
  const ValueId id = add_value(
      {.name = std::string(name), .type = type, .extents = extents, .levels = levels, .origin = Origin::input});
  inputs_.push_back(id);
  return id;
}

ValueId Program::add_constant(std::string_view name, const Tensor& elements, const Levels& levels) {
  if (!elements.ref()) fail(who, ": the constant ", name, " is empty, expected a tensor");
  return add_value({.name = std::string(name),
                    .type = elements.ref().type(),
                    .extents = elements.ref().extents(),
                    .levels = levels,
                    .origin = Origin::constant,
                    .elements = elements});
}

std::string Program::free_name(const std::string& wished) const {
  std::string name = wished;
  for (int count = 2; names_.contains(name); ++count) name = wished + "_" + std::to_string(count);
  return name;
}

const Call& Program::add_call(const CallRequest& request) {
  const std::size_t number = calls_.size();
  try {
    const OperatorInfo& info = find_operator(request.op);
    const Arguments arguments = arguments_of(*this, request);
    const impl::NamedCall named(info, arguments);
    check_wanted(info, named, request.wanted);
    const auto specs = infer(request.op, arguments);

    Call call{.op = request.op, .place = request.place, .inputs = inputs_of(info, request)};
    for (const AttributeInfo& attribute : info.attributes) {
      call.attributes.emplace(attribute.name, attribute_of(named, attribute));
    }
    std::vector<ValueInfo> made;
    const auto make = [&](const std::string& name, ElementType type, const Extents& extents, const Levels& levels) {
      made.push_back({.name = name,
                      .type = type,
                      .extents = extents,
                      .levels = levels,
                      .origin = Origin::call,
                      .call = static_cast<std::int32_t>(number)});
      return ValueId{static_cast<std::int32_t>(values_.size() + made.size() - 1)};
    };
    for (const OutputInfo& output : info.outputs) {
      const bool is_wanted =
          std::find(request.wanted.begin(), request.wanted.end(), output.name) != request.wanted.end();
      if (output.optional && !is_wanted) continue;
      const TensorSpec& spec = specs.at(output.name);
      if (!output.list) {
        call.outputs.push_back({output.name, make(output.name, spec.type, spec.extents, spec.levels)});
        continue;
      }
      std::vector<ValueId> list;
      for (std::size_t i = 0; i < spec.list.size(); ++i) {
        list.push_back(make(output.name + "." + std::to_string(i), spec.type, spec.list[i],
                            i < spec.list_levels.size() ? spec.list_levels[i] : Levels()));
      }
      call.outputs.push_back({output.name, std::move(list)});
    }
    const std::string stem = request.op + "_" + std::to_string(number);
    const std::size_t before = values_.size();
    try {
      for (ValueInfo& value : made) {
        value.name = free_name(made.size() == 1 ? stem : stem + "." + value.name);
        add_value(std::move(value));
      }
    } catch (const Error&) {
      for (std::size_t i = before; i < values_.size(); ++i) names_.erase(values_[i].name);
      values_.resize(before);
      throw;
    }
    return calls_.emplace_back(std::move(call));
  } catch (const Error& error) {
    fail(who, ": ", text_of_call(number, request.place), ": ", error.what());
  }
}

ValueId Program::call(std::string_view op, std::map<std::string, Operand, std::less<>> inputs,
                      std::map<std::string, Attribute, std::less<>> attributes) {
  const OperatorInfo& info = find_operator(op);
  const OutputInfo* single = nullptr;
  for (const OutputInfo& output : info.outputs) {
    if (output.optional) continue;
    if (single != nullptr || output.list) fail(who, ": ", op, " has more than one output");
    single = &output;
  }
  if (single == nullptr) fail(who, ": ", op, " has no output that is always computed");
  return add_call({.op = std::string(op), .inputs = std::move(inputs), .attributes = std::move(attributes)})
      .result(single->name);
}

ValueId Program::also_compute(std::int32_t number, std::string_view output) {
  if (number < 0 || static_cast<std::size_t>(number) >= calls_.size()) fail(who, ": there is no call ", number);
  Call& call = calls_[static_cast<std::size_t>(number)];
  if (call.output(output) != nullptr) return call.result(output);
  const OperatorInfo& info = find_operator(call.op);
  const std::string name(output);
  if (find_output(info, name).list) fail("portops::", info.name, ": ", name, " is a list");
  CallRequest request{.op = call.op, .inputs = {}, .attributes = call.attributes};
  for (const NamedOperand& input : call.inputs) request.inputs.emplace(input.name, input.operand);
  const Arguments arguments = arguments_of(*this, request);
  check_wanted(info, impl::NamedCall(info, arguments), {name});
  const TensorSpec spec = infer(call.op, arguments).at(name);
  const ValueId value = add_value({.name = free_name(call.op + "_" + std::to_string(number) + "." + name),
                                   .type = spec.type,
                                   .extents = spec.extents,
                                   .levels = spec.levels,
                                   .origin = Origin::call,
                                   .call = number});
  std::vector<NamedOperand> outputs;
  for (const OutputInfo& each : info.outputs) {
    if (each.name == name) {
      outputs.push_back({name, value});
    } else if (const Operand* computed = call.output(each.name)) {
      outputs.push_back({each.name, *computed});
    }
  }
  call.outputs = std::move(outputs);
  return value;
}

void Program::add_output(std::string_view name, ValueId value, ValueId over) {
  const ValueInfo& info = this->value(value);
  if (name.empty()) fail(who, ": the name of a result is empty");
  if (output_names_.contains(name)) fail(who, ": two results are named '", name, "'");
  if (over) {
    const ValueInfo& input = this->value(over);
    if (const auto other = left_in_.find(over.index); other != left_in_.end()) {
      fail(who, ": the results ", outputs_[other->second].name, " and ", name, " are both left in ", input.name);
    }
    if (input.origin != Origin::input) fail(who, ": ", input.name, ", in which ", name, " is left, is no input");
    if (input.type != info.type || input.extents != info.extents) {
      fail(who, ": ", name, " is ", name_of(info.type), " ", info.extents.to_string(), ", but ", input.name,
           ", in which it is left, ", name_of(input.type), " ", input.extents.to_string());
    }
  }
  output_names_.emplace(name);
  if (over) left_in_.emplace(over.index, outputs_.size());
  outputs_.push_back({std::string(name), value, over});
}

void Program::rename(ValueId value, std::string_view name) {
  const ValueInfo& info = this->value(value);
  if (info.name == name) return;
  if (name.empty()) fail(who, ": a value's name is empty");
  if (names_.contains(name)) fail(who, ": two values are named '", name, "'");
  names_.erase(info.name);
  names_.emplace(name, value);
  values_[static_cast<std::size_t>(value.index)].name = name;
}

const ValueInfo& Program::value(ValueId value) const {
  if (value.index < 0 || static_cast<std::size_t>(value.index) >= values_.size()) {
    fail(who, ": there is no value ", value.index);
  }
  return values_[static_cast<std::size_t>(value.index)];
}

ValueId Program::find(std::string_view name) const {
  const auto at = names_.find(name);
  return at != names_.end() ? at->second : ValueId();
}

}  // namespace portops::graph
