// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace portops::graph {

/// What an execution asks of where it runs, besides calls: instances that wait for each other, captured runs.
class ExecutionDevice {
 public:
  ExecutionDevice() = default;
  virtual ~ExecutionDevice() = default;
  ExecutionDevice(const ExecutionDevice&) = delete;
  ExecutionDevice& operator=(const ExecutionDevice&) = delete;

  virtual const Context& ctx(std::int32_t instance) const = 0;
  /// What is enqueued on an instance from now on waits for a step, or for what the first instance was given before.
  virtual void wait_for_step(std::int32_t instance, std::int32_t step) = 0;
  virtual void wait_for_beginning(std::int32_t instance) = 0;
  /// A step was enqueued that others wait for; all that they must not overtake was enqueued on the first instance.
  virtual void mark_step(std::int32_t instance, std::int32_t step) = 0;
  virtual void mark_beginning() = 0;
  /// Has the first instance wait for whatever the others were given, when a run has failed: a fence of the context then
  /// waits for all of it. What goes wrong here is passed over, because an error is on its way.
  virtual void wait_for_all() = 0;
  /// Sets bytes to 0xff, which is a NaN in every type, on the first instance.
  virtual void poison(void* data, std::size_t bytes) = 0;
  /// Captures what `enqueue` enqueues, in place of what was captured before. Throws Error on hosts.
  virtual void capture(const std::function<void()>& enqueue) = 0;
  virtual void drop_captured() = 0;
  virtual bool is_captured() const = 0;
  virtual void launch() = 0;
};

/// `steps`: how many there are to be waited for.
std::unique_ptr<ExecutionDevice> make_execution_device(const Context& ctx, std::int32_t instances, std::size_t steps);

}  // namespace portops::graph
