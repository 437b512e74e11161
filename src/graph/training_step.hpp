// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"
#include "portops/graph/execution.hpp"
#include "portops/graph/program.hpp"
#include "portops/nn/loss_scale.hpp"
#include "portops/nn/optimizer.hpp"

namespace portops::graph {

/// Makes a step of training of a program that computes a loss: the gradients of the loss with respect to the
/// optimizer's parameters (differentiate), and the step that the optimizer takes by them; with a scale, also what
/// Optimizer::step does with it. Compiled with CompileParams::same_bits(), in a deterministic context, it has the bits
/// of the tape and of Optimizer::step.
///
///   recorder.inputs(network.state());
///   const ValueId loss = recorder.output("loss", cross_entropy_with_softmax(ctx, network(ctx, x), label));
///   Program program = recorder.finish();
///   add_training_step(program, loss, optimizer);
///   Execution execution(ctx, CompiledProgram(ctx, program));
///   for (const nn::NamedVariable& each : network.state()) execution.bind_input(each.name, each.variable.tensor());
///   bind_training_step(execution, optimizer);
///   for (;;) {
///     optimizer.set_learning_rate(ctx, rate);  // as ever
///     optimizer.prepare_step(ctx);
///     execution.run();
///     optimizer.count_step();
///   }
///
/// Parameters are the program's inputs of the optimizer's names for them; each is left in its place, as are the
/// optimizer's own numbers, which become inputs `optimizer.NAME`, and the scale's, `loss_scale.NAME`. A parameter that
/// the loss was not made from takes no step.
///
/// Throws Error, and leaves the program as it was, when an input of such a name is missing, has another element type or
/// other extents than the parameter, or one of the new names is taken, when a parameter is left in place already or
/// wants a sparse gradient, when none takes a step, when there is a scale and parameters or the loss are of f64, and
/// what differentiate throws.
PORTOPS_EXPORT void add_training_step(Program& program, ValueId loss, const nn::Optimizer& optimizer,
                                      const nn::LossScale* scale = nullptr);

/// Has runs of such a program read and change the numbers of that optimizer, and of that scale, where they lie: both
/// outlive the execution. Parameters are bound by the caller. Throws Error, and binds nothing, when the program was
/// made for another optimizer, or with a scale where none is given.
PORTOPS_EXPORT void bind_training_step(Execution& execution, const nn::Optimizer& optimizer,
                                       const nn::LossScale* scale = nullptr);

}  // namespace portops::graph
