// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph/execution_device.hpp"

namespace portops::graph {

std::unique_ptr<ExecutionDevice> make_cuda_execution_device(const Context& ctx, std::int32_t instances,
                                                            std::size_t steps);

}  // namespace portops::graph
