// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/comm/gradient_sum.hpp>
#include <portops/comm/world.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>
#if __has_include(<portops/comm/mpi.hpp>)
#include <portops/comm/mpi.hpp>
#endif

#include <cstdint>
#include <cstdio>

/// Adds up a number of each process, of which there is one where no launcher starts this.
int main() {
  const portops::comm::World world;
  const portops::comm::Communicator& all = world.communicator();
  const portops::Runtime runtime;
  const portops::Context ctx(portops::enabled_backends().back());
  std::int64_t number = all.rank() + 1;
  const portops::Tensor sum(portops::ElementType::i64, {1}, portops::default_memory_space(ctx.backend()));
  portops::copy(ctx, portops::TensorRef(&number, {1}), sum);
  portops::comm::all_reduce(ctx, all, sum);
  portops::copy(ctx, sum, portops::TensorRef(&number, {1}));
  ctx.fence();
  std::printf("process %d of %d, the sum is %d\n", all.rank(), all.size(), static_cast<int>(number));
}
