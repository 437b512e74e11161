// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_trial.hpp"

#include "comm/share.hpp"
#include "core/types/fail.hpp"
#include "portops/autograd/variable.hpp"
#include "portops/core/tensor.hpp"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace portops::impl {
namespace {

/// What MPI says of itself; that it may reach a GPU's memory where it says nothing.
bool may_reach_gpus() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int can = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &can) == MPI_SUCCESS && can != 0;
#else
  return true;
#endif
}

/// Small messages go other ways through MPI than those of buckets.
constexpr std::int64_t count = std::int64_t{1} << 20;

using Elements = std::vector<std::int64_t>;

/// Element i of what a process has.
std::int64_t element(std::int64_t i, int process) { return i + count * process; }

Elements elements_of_process(int process) {
  Elements elements;
  for (std::int64_t i = 0; i < count; ++i) elements.push_back(element(i, process));
  return elements;
}

bool has(const Context& ctx, const autograd::Variable& x, const Elements& expected) {
  Elements found(expected.size());
  copy(ctx, x.tensor(), TensorRef(found.data(), x.tensor().extents()));
  ctx.fence();
  return found == expected;
}

/// Whether this process was sent what the others have.
bool are_right(Engine& engine, const Context& ctx) {
  const Elements own = elements_of_process(engine.rank);
  const autograd::Variable x(ctx, ElementType::i64, {count}), y(ctx, ElementType::i64, {count});
  for (const autograd::Variable& each : {x, y}) copy(ctx, TensorRef(own.data(), {count}), each.tensor());
  Elements of_shares, of_all;
  std::vector<std::int64_t> counts;
  const comm::Range mine = comm::share_of(count, engine.rank, engine.size);
  for (int process = 0; process < engine.size; ++process) {
    const comm::Range share = comm::share_of(count, process, engine.size);
    counts.push_back(share.count);
    for (std::int64_t i = 0; i < share.count; ++i) of_all.push_back(element(share.first + i, process));
    for (std::int64_t i = 0; i < mine.count; ++i) of_shares.push_back(element(mine.first + i, process));
  }
  const autograd::Variable received(ctx, ElementType::i64, {static_cast<std::int64_t>(of_shares.size())});
  const std::vector<bool> senders(static_cast<std::size_t>(engine.size), true);
  engine.exchange(ctx, {.send = x.tensor(), .receive = received.tensor(), .is_sender = senders})->wait();
  engine.all_gather(ctx, x.tensor(), counts)->wait();
  engine.broadcast(ctx, y.tensor(), engine.size - 1)->wait();
  return has(ctx, received, of_shares) && has(ctx, x, of_all) && has(ctx, y, elements_of_process(engine.size - 1));
}

}  // namespace

void try_memory(Engine& engine, const Context& ctx) {
  constexpr const char* advice = "expected one that does: choose MpiMemory::automatic for this one";
  if (ctx.backend() == Backend::cuda && !may_reach_gpus()) {
    fail("portops::comm: MPI says that it does not reach the memory of GPUs, ", advice);
  }
  const std::int64_t own[] = {are_right(engine, ctx) ? 1 : 0};
  std::vector<std::int64_t> all(static_cast<std::size_t>(engine.size));
  engine.gather_numbers(own, all);
  for (int process = 0; process < engine.size; ++process) {
    if (all[static_cast<std::size_t>(process)] == 1) continue;
    fail("portops::comm: MPI does not reach the memory of the backend ", name_of(ctx.backend()), ": process ", process,
         " of ", engine.size, " was sent other elements than the others have, ", advice);
  }
}

}  // namespace portops::impl
