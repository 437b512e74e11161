// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/rewrite.hpp"

#include "core/types/fail.hpp"

#include <string>
#include <utility>

namespace portops::graph {

Rewrite::Rewrite(const Program& from) : from_(from), values_(from.values().size()) {
  for (std::size_t i = 0; i < from.values().size(); ++i) {
    const ValueInfo& value = from.values()[i];
    if (value.origin == Origin::input) values_[i] = to_.add_input(value.name, value.type, value.extents, value.levels);
    if (value.origin == Origin::constant) values_[i] = to_.add_constant(value.name, value.elements, value.levels);
  }
}

ValueId Rewrite::operator[](ValueId old) const {
  const ValueId value = values_[static_cast<std::size_t>(old.index)];
  if (!value) impl::fail("portops::graph: ", from_.value(old).name, " is read, but nothing makes it any more");
  return value;
}

std::string Rewrite::free_name(std::string name) const {
  while (to_.find(name) || from_.find(name)) name += "_";
  return name;
}

Operand Rewrite::operand_of(const Operand& operand) const {
  if (operand.is_value()) return (*this)[operand.value()];
  if (!operand.is_list()) return operand;
  std::vector<ValueId> list;
  for (const ValueId each : operand.list()) list.push_back((*this)[each]);
  return list;
}

CallRequest Rewrite::request_of(const Call& call) const {
  CallRequest request{.op = call.op, .inputs = {}, .attributes = call.attributes, .place = call.place};
  for (const NamedOperand& input : call.inputs) request.inputs.emplace(input.name, operand_of(input.operand));
  for (const NamedOperand& output : call.outputs) request.wanted.push_back(output.name);
  return request;
}

void Rewrite::take(const Call& call, const CallRequest& request) {
  const Call made = to_.add_call(request);
  std::vector<std::pair<ValueId, ValueId>> pairs;
  for (const NamedOperand& output : call.outputs) {
    const Operand* its = made.output(output.name);
    if (its == nullptr) continue;
    const std::vector<ValueId> before = output.operand.values(), after = its->values();
    for (std::size_t i = 0; i < before.size(); ++i) {
      values_[static_cast<std::size_t>(before[i].index)] = after[i];
      pairs.emplace_back(before[i], after[i]);
    }
  }
  // By way of names that nobody has: two results may have each other's.
  for (const auto& [before, after] : pairs) to_.rename(after, "\n" + std::to_string(after.index));
  for (const auto& [before, after] : pairs) to_.rename(after, from_.value(before).name);
}

void Rewrite::replace(ValueId old, ValueId value) {
  values_[static_cast<std::size_t>(old.index)] = value;
  if (to_.value(value).origin == Origin::call) to_.rename(value, from_.value(old).name);
}

Program Rewrite::finish() {
  for (const ProgramOutput& output : from_.outputs()) {
    to_.add_output(output.name, (*this)[output.value], output.over ? (*this)[output.over] : ValueId());
  }
  return std::move(to_);
}

}  // namespace portops::graph
