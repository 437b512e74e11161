// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/comm/communicator.hpp"
#include "portops/core/macros.hpp"

#include <string>

namespace portops::comm {

/// Which process of a job this is, where there is no MPI to say it. Before the first call of NCCL the processes meet by
/// a file that all of them see, which must not be there before: process 0 writes it, and removes it when all have read
/// it. Under Slurm they are the processes of one job step, and read no file of another one.
struct NcclParams {
  int rank = 0;
  int size = 1;
  std::string rendezvous;  ///< the path of the file
  double timeout = 300;    ///< seconds that the others wait for it
};

/// From the environment: PORTOPS_RANK, PORTOPS_SIZE, PORTOPS_RENDEZVOUS, and PORTOPS_TIMEOUT. Throws Error where one of
/// the first three is missing, or a number is none.
PORTOPS_EXPORT NcclParams nccl_params();

/// Processes with a GPU each, and NCCL between these. All processes call this; NCCL is started by the first call, which
/// all of them make, with the GPU that is the current one then: Kokkos', where the application chooses no other.
/// Tensors of other backends' contexts cannot be sent.
///
/// Throws Error in a build without NCCL, where rank and size do not fit, where the file is there already or cannot be
/// written (process 0), and where it has not come in time or is not one of ours (the others).
PORTOPS_EXPORT Communicator nccl_communicator(const NcclParams& params);

}  // namespace portops::comm
