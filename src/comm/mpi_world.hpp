// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/communicator.hpp"

#include <memory>

namespace portops::impl {

/// Initialises MPI, unless that has been done. What it gives finalises it. Throws Error in a build without MPI.
std::shared_ptr<void> begin_mpi();
/// Of all processes.
comm::Communicator mpi_world();

}  // namespace portops::impl
