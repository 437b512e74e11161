// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/comm/communicator.hpp"
#include "portops/core/macros.hpp"

#include <memory>

namespace portops::comm {

/// The processes that a program was started as: by mpirun or mpiexec, or by srun, with MPI; with NCCL alone where the
/// environment says so (NcclParams in <portops/comm/nccl.hpp>); else this process alone. Initialises MPI, unless the
/// application has, and then finalises it. To be made first thing in main, before Runtime or Kokkos is initialised:
///
///     int main() {
///       portops::comm::World world;
///       try {
///         const portops::Runtime runtime;
///         train(world.communicator());
///       } catch (const std::exception& error) {
///         world.communicator().end_job(error.what());
///       }
///     }
///
/// Where it is destroyed by an exception that passes through, it ends the job as Communicator::end_job does, because
/// other processes wait for this one.
///
/// The environment:
///
///   PORTOPS_COMM    mpi, nccl or none; without it mpi, where a launcher's variables are found (OMPI_COMM_WORLD_SIZE,
///                   PMI_SIZE, PMI_RANK, PMIX_RANK, or SLURM_PROCID with a SLURM_NTASKS above 1), then nccl, where
///                   PORTOPS_RENDEZVOUS is set, else none
class World {
 public:
  /// Throws Error where the program was started as several processes and this build has not what they need, or MPI was
  /// not started by what started them, and so knows of one: no process is to work alone without being told so.
  PORTOPS_EXPORT World();
  PORTOPS_EXPORT ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Communicator& communicator() const { return communicator_; }

 private:
  std::shared_ptr<void> mpi_;  ///< finalises it in the end
  Communicator communicator_;
  int exceptions_;
};

}  // namespace portops::comm
