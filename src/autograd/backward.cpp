// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/backward.hpp"

#include "autograd/fill.hpp"
#include "autograd/pass.hpp"
#include "core/exec/region.hpp"
#include "core/types/fail.hpp"

#include <string>
#include <utility>

namespace portops::autograd {
namespace {

constexpr const char* backward_name = "portops::autograd::backward";
constexpr const char* gradients_name = "portops::autograd::gradients";

std::string name_of(std::size_t loss, std::size_t count) {
  return count == 1 ? "loss" : "loss[" + std::to_string(loss) + "]";
}

/// Where the pass begins. Throws Error, as `function`, where losses and gradients do not fit.
std::vector<impl::Start> make_starts(const char* function, const std::vector<Variable>& losses,
                                     const BackwardParams& params) {
  if (losses.empty()) impl::fail(function, ": there is no loss");
  if (!params.loss_grads.empty() && params.loss_grads.size() != losses.size()) {
    impl::fail(function, ": loss_grads has ", params.loss_grads.size(), " tensors, expected ", losses.size(),
               " (one for each loss)");
  }
  std::vector<impl::Start> starts;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const TensorRef& loss = losses[i].tensor();
    const std::string name = name_of(i, losses.size());
    if (!loss) impl::fail(function, ": ", name, " is empty, expected a tensor");
    if (!losses[i].wants_gradient()) {
      impl::fail(function, ": ", name, " was made from nothing whose gradient is wanted");
    }
    impl::Start& start = starts.emplace_back(impl::Start{losses[i].data()->edge, {}, {}});
    if (params.loss_grads.empty()) {
      if (loss.size() != 1) {
        impl::fail(function, ": ", name, " has extents ", loss.extents().to_string(),
                   ", expected one element, or loss_grads");
      }
    } else {
      const TensorRef& grad = params.loss_grads[i].tensor();
      if (!grad || grad.type() != loss.type() || grad.extents() != loss.extents()) {
        impl::fail(function, ": the gradient of ", name, " is ",
                   grad ? std::string(portops::name_of(grad.type())) + " " + grad.extents().to_string() : "empty",
                   ", expected ", portops::name_of(loss.type()), " ", loss.extents().to_string(), " (as ", name, ")");
      }
      start.gradient = params.loss_grads[i].data()->value;
      start.gradient_edge = params.loss_grads[i].data()->edge;
    }
  }
  return starts;
}

/// The gradient of a loss of one element.
void seed(const Context& ctx, const char* label, std::vector<impl::Start>& starts,
          const std::vector<Variable>& losses) {
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i].gradient) continue;
    starts[i].gradient = impl::make_value(ctx, label, losses[i].tensor().type(), losses[i].tensor().extents());
    impl::fill(ctx, starts[i].gradient.tensor, 1.0);
  }
}

}  // namespace

void backward(const Context& ctx, const Variable& loss, const BackwardParams& params) {
  const impl::Region region(backward_name);
  if (params.create_graph) impl::fail(backward_name, ": create_graph is of gradients, in portops::autograd, alone");
  std::vector<impl::Start> starts = make_starts(backward_name, {loss}, params);
  impl::Pass pass(ctx, backward_name, starts, params.keep_graph);
  pass.prepare();
  seed(ctx, backward_name, starts, {loss});
  pass.run(std::move(starts));
}

std::vector<Variable> gradients(const Context& ctx, const std::vector<Variable>& losses,
                                const std::vector<Variable>& variables, const BackwardParams& params) {
  const impl::Region region(gradients_name);
  std::vector<impl::Start> starts = make_starts(gradients_name, losses, params);
  std::vector<impl::Edge> targets;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!variables[i].wants_gradient()) {
      impl::fail(gradients_name, ": variables[", i, "] ",
                 variables[i] ? "was made from nothing whose gradient is wanted" : "is empty, expected a tensor");
    }
    targets.push_back(variables[i].data()->edge);
  }
  impl::Pass pass(ctx, gradients_name, starts, params.keep_graph || params.create_graph, params.create_graph);
  pass.prepare(targets);
  seed(ctx, gradients_name, starts, losses);
  return pass.run(std::move(starts));
}

}  // namespace portops::autograd
