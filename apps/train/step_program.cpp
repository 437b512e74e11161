// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_program.hpp"

#include "common/transfer.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/graph/compile.hpp>
#include <portops/graph/record.hpp>
#include <portops/graph/training_step.hpp>
#include <portops/nn/generator.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>

namespace portops::apps {

namespace ag = autograd;

namespace {

/// Recorded from a network of its own, because a recording is a forward pass, which changes the running statistics.
graph::CompiledProgram step_program(const Context& ctx, const NetworkOptions& options, const Extents& images,
                                    const nn::Optimizer& optimizer, const nn::LossScale* scale) {
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
  graph::add_training_step(program, loss, optimizer, scale);
  graph::CompileParams params = graph::CompileParams::same_bits();
  if (!ctx.deterministic()) {
    params.channels_last = true;
    params.views = graph::Views::all;
  }
  return {ctx, program, params};
}

}  // namespace

StepProgram::StepProgram(const Context& ctx, Network& network, const NetworkOptions& options, const Extents& images,
                         nn::Optimizer& optimizer, const nn::LossScale* scale)
    : is_on_gpu_(ctx.backend() == Backend::cuda),
      execution_(ctx, step_program(ctx, options, images, optimizer, scale)),
      optimizer_(optimizer) {
  for (const nn::NamedVariable& each : network.state()) execution_.bind_input(each.name, each.variable.tensor());
  graph::bind_training_step(execution_, optimizer, scale);
}

void StepProgram::run(const Context& ctx) {
  optimizer_.prepare_step(ctx);
  if (is_on_gpu_ && has_run_ && !execution_.is_captured()) execution_.capture();
  execution_.run();
  has_run_ = true;
  optimizer_.count_step();
}

}  // namespace portops::apps
