// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/comm/mpi.hpp>
#include <portops/comm/world.hpp>
#include <portops/core/memory_use.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <cstdio>
#include <cstdlib>

// Processes that end as programs do: the world, which was made before Kokkos, ends after it. By then communicators have
// given back what they keep for the next transfer, because Kokkos frees what is page-locked.

namespace {

using namespace portops;

std::size_t kept_bytes() { return memory_use(MemorySpace::host).bytes + memory_use(MemorySpace::cuda_pinned).bytes; }

void send(const comm::Communicator& all) {
  const Context ctx(enabled_backends().front());
  const Tensor x(ElementType::f32, {1000}, default_memory_space(ctx.backend()));
  comm::broadcast(ctx, all, x);
  ctx.fence();
}

int fail(const char* what) {
  std::printf("unexpected: %s\n", what);
  return EXIT_FAILURE;
}

}  // namespace

int main() {
  const comm::World world;
  const comm::Communicator all = comm::mpi_communicator(MPI_COMM_WORLD, {.memory = comm::MpiMemory::copied});
  {
    const Runtime runtime;
    send(all);
    if (kept_bytes() == 0) return fail("nothing is kept for the next transfer");
  }
  if (kept_bytes() > 0) return fail("memory is kept that Kokkos has to free");
  std::printf("process %d of %d has ended well\n", all.rank(), all.size());
}
