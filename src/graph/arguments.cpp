// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/arguments.hpp"

#include <algorithm>

namespace portops::graph {

void set_input(Arguments& arguments, const Program& program, const InputInfo& input, const Operand& operand,
               const TensorOf& tensor_of) {
  // Levels that an operator knows nothing of are dropped, as by the operators on variables.
  const bool takes_levels = input.ragged != Ragged::no;
  if (operand.is_number()) {
    arguments.set(input.name, TensorOrNumber(operand.number()));
  } else if (operand.is_levels()) {
    arguments.set(input.name, operand.levels());
  } else if (operand.is_value()) {
    const Levels& levels = program.value(operand.value()).levels;
    if (takes_levels && levels) arguments.set(input.name, levels);
    if (input.ragged != Ragged::levels) arguments.set(input.name, TensorOrNumber(tensor_of(operand.value())));
  } else if (takes_levels) {
    std::vector<RaggedRef> list;
    for (const ValueId each : operand.list()) list.push_back({tensor_of(each), program.value(each).levels});
    arguments.set(input.name, std::span<const RaggedRef>(list));
  } else {
    std::vector<TensorRef> list;
    for (const ValueId each : operand.list()) list.push_back(tensor_of(each));
    arguments.set(input.name, std::span<const TensorRef>(list));
  }
}

Arguments make_arguments(const Program& program, const Call& call, const InputTensorOf& input_of,
                         const TensorOf& output_of) {
  Arguments arguments;
  for (const InputInfo& input : find_operator(call.op).inputs) {
    if (const Operand* operand = call.input(input.name)) {
      set_input(arguments, program, input, *operand, [&](ValueId value) { return input_of(input, value); });
    }
  }
  for (const auto& [name, value] : call.attributes) arguments.set(name, value);
  for (const NamedOperand& output : call.outputs) {
    if (output.operand.is_value()) {
      if (const TensorRef tensor = output_of(output.operand.value()))
        arguments.set(output.name, TensorOrNumber(tensor));
      continue;
    }
    std::vector<TensorRef> list;
    for (const ValueId each : output.operand.list()) list.push_back(each ? output_of(each) : TensorRef());
    const bool is_any =
        std::any_of(list.begin(), list.end(), [](const TensorRef& each) { return static_cast<bool>(each); });
    if (is_any) arguments.set(output.name, std::span<const TensorRef>(list));
  }
  return arguments;
}

}  // namespace portops::graph
