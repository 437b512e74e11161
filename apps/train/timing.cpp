// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timing.hpp"

#include "inference_program.hpp"

#include <portops/core/memory_use.hpp>
#include <portops/core/runtime.hpp>
#include <portops/graph/compile.hpp>
#include <portops/graph/execution.hpp>

#include <algorithm>
#include <chrono>

namespace portops::apps {

namespace {

/// `call(i)` makes the call of number i. The first ones are not counted.
template <class Call>
TimedCalls time_calls(const Context& ctx, const Trainer& trainer, std::int64_t count, Call&& call) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t warming_up = 20;
  const MemorySpace space = default_memory_space(ctx.backend());
  for (std::int64_t i = 0; i < std::min(warming_up, count); ++i) call(i);
  ctx.fence();
  reset_memory_peak(space);
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) call(i);
  const std::chrono::duration<double> enqueued = Clock::now() - start;
  ctx.fence();
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return {elapsed.count() / static_cast<double>(count), enqueued.count() / static_cast<double>(count),
          memory_use(space).peak_bytes - trainer.image_bytes()};
}

}  // namespace

TimedCalls time_steps(const Context& ctx, Trainer& trainer, std::int64_t steps) {
  const std::int64_t whole = std::max<std::int64_t>(trainer.steps_per_epoch() - 1, 1);  // the last one may be smaller
  trainer.begin_epoch();
  return time_calls(ctx, trainer, steps, [&](std::int64_t i) {
    if (i % whole == 0) trainer.rewind_epoch();
    trainer.step();
  });
}

TimedCalls time_inference(const Context& ctx, Trainer& trainer, std::int64_t items, std::int64_t batches) {
  return time_calls(ctx, trainer, batches, [&](std::int64_t) { trainer.infer(0, items); });
}

TimedCalls time_program(const Context& ctx, Trainer& trainer, const NetworkOptions& options, std::int64_t items,
                        std::int64_t batches) {
  const ImageBatch batch = trainer.test_batch(0, items);
  const TensorRef& images = batch.images.tensor();
  graph::Execution execution(
      ctx, graph::CompiledProgram(ctx, inference_program(ctx, trainer.network(), options, images.extents())));
  copy(ctx, images, execution.input("images"));
  execution.run();
  if (ctx.backend() == Backend::cuda) execution.capture();
  return time_calls(ctx, trainer, batches, [&](std::int64_t) { execution.run(); });
}

}  // namespace portops::apps
