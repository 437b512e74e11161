// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/comm/communicator.hpp>
#include <portops/core/context.hpp>

#include <cstdint>
#include <vector>

namespace portops::apps {

/// The numbers of every process, of which each may have as many as it likes, by ranks. Waits.
std::vector<std::vector<std::int64_t>> gathered(const Context& ctx, const comm::Communicator& processes,
                                                const std::vector<std::int64_t>& own);

}  // namespace portops::apps
