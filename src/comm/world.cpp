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
