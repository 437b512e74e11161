// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_program.hpp"

#include "common/element_cast.hpp"
#include "common/transfer.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/graph/compile.hpp>
#include <portops/graph/differentiate.hpp>
#include <portops/graph/record.hpp>
#include <portops/nn/generator.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>

namespace portops::apps {

namespace ag = autograd;

namespace {

std::string gradient_of(const std::string& parameter) { return parameter + ".grad"; }

/// Recorded from a network of its own, because a recording is a forward pass, which changes the running statistics.
graph::Program step_program(const Context& ctx, const NetworkOptions& options, const Extents& images) {
  nn::Generator random(0);
  Network network(ctx, random, options);
  const nn::Variable x(zeros(ctx, options.type, images)), label(zeros(ctx, ElementType::i64, {images[0]}));
  graph::Recorder recorder(ctx);
  recorder.input("images", x);
  recorder.input("labels", label);
  recorder.inputs(network.state());
  const nn::Variable logits = network(ctx, x);
  recorder.output("logits", logits);
  const graph::ValueId loss = recorder.output("loss", ag::cross_entropy_with_softmax(ctx, logits, label));
  graph::Program program = recorder.finish();
  ctx.fence();

  const graph::ValueId loss_grad =
      program.add_input("loss_grad", program.value(loss).type, program.value(loss).extents);
  const nn::State parameters = network.parameters();
  std::vector<graph::ValueId> values;
  for (const nn::NamedVariable& each : parameters) values.push_back(program.find(each.name));
  const std::vector<graph::ValueId> gradients = graph::differentiate(program, loss, values, loss_grad);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    program.add_output(gradient_of(parameters[i].name), gradients[i]);
  }
  return program;
}

}  // namespace

StepProgram::StepProgram(const Context& ctx, Network& network, const NetworkOptions& options, const Extents& images)
    : StepProgram(ctx, step_program(ctx, options, images), network) {}

StepProgram::StepProgram(const Context& ctx, const graph::Program& program, Network& network)
    : is_on_gpu_(ctx.backend() == Backend::cuda),
      execution_(ctx, graph::CompiledProgram(ctx, program, graph::CompileParams::same_bits())) {
  for (const nn::NamedVariable& each : network.state()) execution_.bind_input(each.name, each.variable.tensor());
  for (const nn::NamedVariable& each : network.parameters()) {
    gradients_.push_back({each.variable, execution_.output(gradient_of(each.name))});
  }
  const Tensor one(loss_grad().type(), {});
  with_type(one.ref().type(), [&]<class T>(std::type_identity<T>) { *one.data<T>() = element_cast<T>(1.0); });
  copy(ctx, one, loss_grad());
  ctx.fence();
}

void StepProgram::run() {
  if (is_on_gpu_ && has_run_ && !execution_.is_captured()) execution_.capture();
  execution_.run();
  has_run_ = true;
  for (Gradient& each : gradients_) each.parameter.set_grad(each.gradient);
}

}  // namespace portops::apps
