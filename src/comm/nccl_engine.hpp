// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comm/engine.hpp"

#include <functional>
#include <memory>
#include <span>

namespace portops::impl {

/// Whether this build has NCCL.
bool has_nccl();

/// How the processes find each other before NCCL is there.
struct Rendezvous {
  std::function<void(std::span<char>)> share;  ///< gives the bytes that process 0 has to all processes
  std::function<void()> end;                   ///< called when all have them
};

/// The engine for GPUs. NCCL itself is started by the first call, with the current GPU.
/// `host` ends jobs and carries the numbers by which processes agree; null where there is no other way than NCCL.
/// Throws Error in a build without NCCL.
std::shared_ptr<Engine> make_nccl_engine(int rank, int size, Rendezvous rendezvous, std::shared_ptr<Engine> host);

}  // namespace portops::impl
