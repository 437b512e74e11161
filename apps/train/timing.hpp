// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "trainer.hpp"

#include <portops/core/context.hpp>

#include <cstddef>
#include <cstdint>

namespace portops::apps {

/// On the clock, of one call among many, in seconds; `enqueued` is the host's part of it.
struct TimedCalls {
  double each = 0.0;
  double enqueued = 0.0;
  std::size_t peak_bytes = 0;  ///< of all memory that the library held but for the images, where tensors lie
};

/// Steps of training, on the whole batches of an epoch, after 20 that are not counted.
TimedCalls time_steps(const Context& ctx, Trainer& trainer, std::int64_t steps);
/// Batches of inference, of so many items, likewise.
TimedCalls time_inference(const Context& ctx, Trainer& trainer, std::int64_t items, std::int64_t batches);
/// The same by the program that --program writes, which a GPU captures; the images stay where they are.
TimedCalls time_program(const Context& ctx, Trainer& trainer, const NetworkOptions& options, std::int64_t items,
                        std::int64_t batches);

}  // namespace portops::apps
