// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "array.hpp"

#include <portops/core/backend.hpp>
#include <portops/core/context.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>
#include <optional>

namespace portops::python {

/// What `portops.context(…)` says of the calls in it. What it leaves open is said by the context around it or, in the
/// end, by the arrays of a call and the environment.
struct Options {
  std::optional<Backend> backend;
  std::optional<StreamHandle> stream;
  std::optional<bool> deterministic;
  std::optional<Math> math;
  std::optional<Products> products;

  /// These options, and for what they leave open those of `outer`.
  Options within(const Options& outer) const;
};

/// Those of the calling thread.
const Options& current_options();

/// Where a call runs. A context is made once for each backend and stream, and kept.
class Place {
 public:
  /// Where a call with arrays on this device runs, which its library works on with that stream. Starts the runtime.
  /// Throws Error where Python has been forked since that was done.
  Place(const Options& options, DLDevice device, std::optional<StreamHandle> stream);

  const Context& context() const { return context_; }
  StreamHandle stream() const { return stream_; }

 private:
  StreamHandle stream_;
  Context context_;
};

/// Is there for as long as a call, with the interpreter's lock at both ends. A thread that calls when the interpreter
/// is ending waits for the end of the process: it would be ended in the middle of the call, by way of C++ that cannot
/// be.
class Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

/// Lets calls of other threads end, and keeps them from beginning new ones: for the end of the interpreter.
void end_visits();

/// Held during a call: an instance of Serial takes one call at a time.
std::unique_lock<std::mutex> turn_of(const Context& context);

/// Starts the runtime, once a process. It ends with the process.
void ensure_runtime();

/// Lets go of the contexts that were kept, before the interpreter ends.
void forget_contexts();

void bind_options(nb::module_& m);

}  // namespace portops::python
