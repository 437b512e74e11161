// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph/graph_support.hpp"

#include "graph/arguments.hpp"

namespace portops::test {

Results plain_results(const Context& ctx, const graph::Program& program, const std::map<std::string, Tensor>& inputs) {
  std::vector<Tensor> tensors;
  for (const graph::ValueInfo& value : program.values()) {
    Tensor tensor(value.type, value.extents, default_memory_space(ctx.backend()));
    if (value.origin == graph::Origin::input) tensor = inputs.at(value.name);
    if (value.origin == graph::Origin::constant) copy(ctx, value.elements, tensor);
    tensors.push_back(tensor);
  }
  const auto tensor_of = [&](graph::ValueId value) { return tensors[static_cast<std::size_t>(value.index)].ref(); };
  for (const graph::Call& call : program.calls()) {
    run(call.op, ctx,
        graph::make_arguments(
            program, call, [&](const InputInfo&, graph::ValueId value) { return tensor_of(value); }, tensor_of));
  }
  Results results;
  for (const graph::ProgramOutput& output : program.outputs()) {
    results.emplace(output.name, bytes_of(ctx, tensor_of(output.value)));
  }
  return results;
}

Results run_results(const Context& ctx, graph::Execution& execution, const graph::Program& program,
                    const std::map<std::string, Tensor>& inputs) {
  for (const auto& [name, tensor] : inputs) {
    if (tensor.ref().size() > 0) copy(ctx, tensor, execution.input(name));
  }
  execution.run();
  Results results;
  for (const graph::ProgramOutput& output : program.outputs()) {
    results.emplace(output.name, bytes_of(ctx, execution.output(output.name)));
  }
  return results;
}

}  // namespace portops::test
