// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/nccl_engine.hpp"
#include "core/types/fail.hpp"

namespace portops::impl {

bool has_nccl() { return false; }

// NOLINTNEXTLINE(performance-unnecessary-value-param): the one that there is keeps them
std::shared_ptr<Engine> make_nccl_engine(int, int, Rendezvous, std::shared_ptr<Engine>) {
  fail("portops::comm: this build has no NCCL: configure portops with CUDA where CMake finds nccl.h");
}

}  // namespace portops::impl
