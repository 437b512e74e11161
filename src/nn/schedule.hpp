// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"

#include <cstdint>
#include <functional>

namespace portops::nn {

/// The learning rate of a step, which is counted from 0: optimizer.set_learning_rate(ctx, schedule(step)). It has no
/// state: where training is taken up again, the step says all.
using Schedule = std::function<double(std::int64_t step)>;

/// rate
PORTOPS_EXPORT Schedule constant_schedule(double rate);
/// rate · factor^⌊step / interval⌋: torch.optim.lr_scheduler.StepLR. Throws Error unless interval > 0.
PORTOPS_EXPORT Schedule step_schedule(double rate, std::int64_t interval, double factor);
/// lowest + (rate − lowest) · (1 + cos(π · step / steps)) / 2 for step < steps, then lowest: CosineAnnealingLR, which
/// would rise again. Throws Error unless steps > 0.
PORTOPS_EXPORT Schedule cosine_schedule(double rate, std::int64_t steps, double lowest = 0.0);
/// then(0) · (step + 1) / (steps + 1) for step < steps, after which comes then(step − steps). Throws Error unless
/// steps >= 0.
PORTOPS_EXPORT Schedule warm_up(std::int64_t steps, Schedule then);

}  // namespace portops::nn
