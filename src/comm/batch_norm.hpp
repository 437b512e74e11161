// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/comm/communicator.hpp"
#include "portops/core/macros.hpp"
#include "portops/nn/module.hpp"

namespace portops::comm {

/// From now on BatchNorm2d, in `network`, is trained by the statistics of all processes' items together, and its
/// gradients are exact for the whole batch, however many of the items each process has:
///
///     comm::synchronise_batch_norm(communicator, network);
///     comm::GradientSum sum(ctx, communicator, network.parameters(), {.micro_batches = communicator.size()});
///
/// What is a batch is what the processes compute at one time, one after the other through each module: so each has one
/// micro-batch of a step, in forward and in backward. Running statistics then need not be named to GradientSum: they
/// are equal on all processes.
///
/// The bits depend on how the items are divided, because sums begin on each process: another number of processes gives
/// the same numbers within rounding. The same division gives the same bits on every run, in deterministic mode and
/// without it. One process alone has ordinary batch_norm, the same bits.
///
/// The statistics of a module are gathered by transfers of their own, for which the host waits where MPI carries them,
/// and the counts of items for which it always does: two messages a module forward, one backward. Called by all
/// processes. A communicator of one process ends what another call has begun.
PORTOPS_EXPORT void synchronise_batch_norm(const Communicator& communicator, nn::Module& network);

}  // namespace portops::comm
