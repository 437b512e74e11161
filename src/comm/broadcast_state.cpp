// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/agree.hpp"
#include "comm/gradient_sum.hpp"
#include "portops/core/tensor.hpp"

#include <string>

namespace portops::comm {

void broadcast(const Context& ctx, const Communicator& communicator, const nn::State& state, int root) {
  constexpr const char* name = "portops::comm::broadcast";
  std::string text = "root " + std::to_string(root) + "\n";
  for (const nn::NamedVariable& each : state) {
    const TensorRef& tensor = each.variable.tensor();
    text += each.name + " " + std::string(name_of(tensor.type())) + " " + tensor.extents().to_string() + "\n";
  }
  impl::agree(communicator.engine(), name, text);
  const Communicator agreed = Communicator(communicator).checks_calls(false);
  for (const nn::NamedVariable& each : state) {
    const TensorRef& tensor = each.variable.tensor();
    if (ctx.backend() == Backend::cuda && tensor.space() == MemorySpace::host) {
      const autograd::Variable moved(ctx, tensor.type(), tensor.extents());
      copy(ctx, tensor, moved.tensor());
      broadcast(ctx, agreed, moved.tensor(), root);
      copy(ctx, moved.tensor(), tensor);
      ctx.fence();
    } else {
      broadcast(ctx, agreed, tensor, root);
    }
    each.variable.mark_changed(name);
  }
}

}  // namespace portops::comm
