// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/comm/communicator.hpp"
#include "portops/core/macros.hpp"

#include <cstdint>

#include <mpi.h>

namespace portops::comm {

/// How MPI is given the elements of tensors.
enum class MpiMemory : std::uint8_t {
  automatic,  ///< as they lie in the host's memory; those of a GPU by way of page-locked memory of the host
  copied,     ///< always by way of other memory of the host
  gpu_aware   ///< as they lie, also in a GPU's memory, but for sums that MPI itself adds up: for an MPI that can send
              ///< and receive such memory; the first call tries it, and throws Error where it cannot
};

/// Who carries the tensors of GPUs.
enum class GpuEngine : std::uint8_t {
  automatic,  ///< NCCL in a build with it, else MPI
  nccl,
  mpi
};

struct MpiParams {
  MpiMemory memory = MpiMemory::automatic;
  GpuEngine gpu_engine = GpuEngine::automatic;
};

/// The processes of an MPI communicator, of which duplicates are made: MPI calls of the application do not meet those
/// of the library. All its processes call this. MPI is initialised by the application (or by World), with
/// MPI_THREAD_SERIALIZED or more where several threads call MPI, and finalised after the last copy has gone.
///
/// Throws Error where MPI is not initialised or a call of it fails, and where NCCL is asked for in a build without it.
PORTOPS_EXPORT Communicator mpi_communicator(MPI_Comm communicator, const MpiParams& params = {});

}  // namespace portops::comm
