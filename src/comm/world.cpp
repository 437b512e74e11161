// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/world.hpp"

#include "comm/mpi_world.hpp"
#include "comm/nccl.hpp"
#include "core/types/fail.hpp"

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace portops::comm {
namespace {

/// The environment is read once, at the start.
const char* read_environment(const char* variable) {
  return std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
}

bool is_set(const char* variable) { return read_environment(variable) != nullptr; }

bool is_started_by_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"}) {
    if (is_set(variable)) return true;
  }
  const char* tasks = read_environment("SLURM_NTASKS");
  return is_set("SLURM_PROCID") && tasks != nullptr && std::atoi(tasks) > 1;
}

/// A launcher may start several processes that MPI does not bring together: each is then the only one of its own.
void check_size(int size) {
  if (size > 1) return;
  // Those of the nearest launcher first: mpirun may run in a job step of srun.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* started = read_environment(variable);
    if (started == nullptr) continue;
    if (std::atoi(started) <= 1) return;
    impl::fail(
        "portops::comm::World: ", variable, " says that ", started,
        " processes were started, and MPI knows of this one alone: start them by the mpirun of the MPI that "
        "portops was built with, or by srun with the --mpi that it needs, or set PORTOPS_COMM=none for processes "
        "that each work alone");
  }
}

std::string choice() {
  if (const char* given = read_environment("PORTOPS_COMM")) {
    const std::string_view text(given);
    if (text == "mpi" || text == "nccl" || text == "none") return given;
    impl::fail("portops::comm::World: PORTOPS_COMM is '", text, "', expected mpi, nccl or none");
  }
  if (is_started_by_launcher()) return "mpi";
  return is_set("PORTOPS_RENDEZVOUS") ? "nccl" : "none";
}

}  // namespace

World::World() : exceptions_(std::uncaught_exceptions()) {
  const std::string chosen = choice();
  if (chosen == "mpi") {
    mpi_ = impl::begin_mpi();
    communicator_ = impl::mpi_world();
    check_size(communicator_.size());
  } else if (chosen == "nccl") {
    communicator_ = nccl_communicator(nccl_params());
  }
}

World::~World() {
  if (communicator_.size() > 1 && std::uncaught_exceptions() > exceptions_) {
    communicator_.end_job("ends by an exception, and the job with it");
  }
}

}  // namespace portops::comm
