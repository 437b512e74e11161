// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/context.hpp"
#include "portops/core/macros.hpp"
#include "portops/core/tensor_ref.hpp"
#include "portops/graph/compile.hpp"
#include "portops/graph/program.hpp"

#include <memory>
#include <string_view>

namespace portops::graph {

struct ExecutionParams {
  /// Before each call, all memory of the arena that holds nothing which is still to be read is filled with NaN; calls
  /// run one after the other then. Slow: for tests.
  bool poison = false;
};

/// A compiled program with an arena and with tensors for its inputs and outputs, to be run any number of times. One
/// host thread may use it at a time; another one has an execution of its own.
class Execution {
 public:
  /// Runs on the context's instance, with its options. Allocates the arena, which on a GPU waits for the device. A
  /// stream of CUDA must live longer than this. Throws Error when the context has another backend than the program was
  /// compiled for, and when there is no memory.
  PORTOPS_EXPORT Execution(const Context& ctx, const CompiledProgram& program, const ExecutionParams& params = {});
  PORTOPS_EXPORT ~Execution();
  PORTOPS_EXPORT Execution(Execution&& other) noexcept;
  PORTOPS_EXPORT Execution& operator=(Execution&& other) noexcept;

  /// What it runs: what CompiledProgram::program() gives.
  PORTOPS_EXPORT const Program& program() const;

  /// The caller's tensor for an input or an output, contiguous, from the next run on: it lives as long as runs use it.
  /// Those without one have memory of the execution's own. What was captured is dropped. Throws Error when there is no
  /// such input or output, when the tensor has another element type or other extents, is empty, has gaps or, where it
  /// is written, is read-only, and for an output that is left in an input.
  PORTOPS_EXPORT void bind_input(std::string_view name, const TensorRef& tensor);
  PORTOPS_EXPORT void bind_output(std::string_view name, const TensorRef& tensor);
  /// The tensor of an input or an output, the caller's or the execution's own. Throws Error when there is none of that
  /// name.
  PORTOPS_EXPORT TensorRef input(std::string_view name);
  PORTOPS_EXPORT TensorRef output(std::string_view name);

  /// Enqueues all calls, or launches what was captured, and returns. Throws Error, before anything is enqueued, when a
  /// tensor that is written shares bytes with another one of this execution; and what the calls throw.
  PORTOPS_EXPORT void run();
  /// Captures a run in a CUDA graph, without running it: from now on a run is one launch, in which the tensors and the
  /// options of the context are those of now. Run once before: the first calls of a process load kernels. Throws Error
  /// when the backend is not cuda, and what `run` throws.
  PORTOPS_EXPORT void capture();
  PORTOPS_EXPORT bool is_captured() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace portops::graph
