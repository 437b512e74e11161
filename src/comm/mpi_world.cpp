// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_world.hpp"

#include "comm/mpi.hpp"
#include "comm/mpi_calls.hpp"

namespace portops::impl {

std::shared_ptr<void> begin_mpi() {
  int is_initialized = 0, level = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized != 0) return nullptr;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  static int token = 0;
  return {&token, [](void*) {
            int is_finalized = 0;
            MPI_Finalized(&is_finalized);
            if (is_finalized == 0) MPI_Finalize();
          }};
}

comm::Communicator mpi_world() { return comm::mpi_communicator(MPI_COMM_WORLD); }

}  // namespace portops::impl
