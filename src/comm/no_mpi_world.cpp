// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_world.hpp"

#include "core/types/fail.hpp"

namespace portops::impl {

std::shared_ptr<void> begin_mpi() {
  fail(
      "portops::comm::World: the program was started as one of several processes (or PORTOPS_COMM is mpi), and this "
      "build has no MPI: configure portops where CMake finds one, or set PORTOPS_COMM=none for processes that each "
      "work alone");
}

comm::Communicator mpi_world() { return {}; }

}  // namespace portops::impl
