// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/autograd/variable.hpp"
#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/graph/program.hpp"
#include "portops/nn/module.hpp"

#include <memory>
#include <string_view>

namespace portops::graph {

/// Writes down, as a program, what the calls of portops::autograd do that this host thread makes from here on; they
/// compute as ever. Recorders may be nested: the innermost one hears of the calls.
///
///   Recorder recorder(ctx);
///   recorder.input("x", x);                    // what each run of the program is given
///   recorder.output("scores", model(ctx, x));  // modules and functions of variables
///   Program program = recorder.finish();
///
/// Variables that are read and that neither are inputs nor were made by recorded calls are constants: their elements
/// are copied, as they are then. One that has the elements of an input or of a result, because it was detached or made
/// from tensor(), is that value. What shares only some of their bytes is refused with an Error, and so are values that
/// something else than a recorded call has changed. Tensors of the caller's that are inputs, or that calls write to,
/// live until the recording ends.
///
/// Extents, levels and attributes are those of the recorded calls, also where they follow from the host's decisions:
/// the program does not branch, and dropout without a `step` drops the same elements in every run. An input that is
/// changed in place, such as the running statistics of a batch norm, gets an output of its name that is left in it.
/// Calls of plain operators, and of `backward`, are not seen: a program is differentiated by `differentiate`, whose
/// gradients go through detached variables too.
class Recorder {
 public:
  PORTOPS_EXPORT explicit Recorder(const Context& ctx);
  PORTOPS_EXPORT ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Throws Error as Program::add_input does, and when the variable is empty, or its elements or some of them have been
  /// read or made already.
  PORTOPS_EXPORT ValueId input(std::string_view name, const autograd::Variable& variable);
  /// All parameters and buffers of a network, or some: an input each, by its name.
  PORTOPS_EXPORT void inputs(const nn::State& state);
  /// Throws Error as Program::add_output does, when no recorded call made the variable and it is no input, and when
  /// something else has changed it since.
  PORTOPS_EXPORT ValueId output(std::string_view name, const autograd::Variable& variable);
  /// The value that a variable is by now, or none: for what is to be done with the program. Throws Error when something
  /// else than a recorded call has changed it.
  PORTOPS_EXPORT ValueId value(const autograd::Variable& variable) const;
  /// Ends the recording, and waits for the copies of constants. Throws Error when a constant was changed in place: the
  /// program would not remember it.
  PORTOPS_EXPORT Program finish();

 private:
  class Observer;
  std::unique_ptr<Observer> observer_;
};

}  // namespace portops::graph
