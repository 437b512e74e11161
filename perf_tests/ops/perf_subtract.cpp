// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/subtract.hpp>

#include "ops/binary_cases.hpp"

namespace portops::perf {
namespace {

void register_cases(Backend backend) {
  register_binary_cases(backend,
                        {.name = "subtract", .call = subtract, .grad = subtract_grad, .reads_operands = false});
}

const Benchmarks benchmarks("subtract", register_cases);

}  // namespace
}  // namespace portops::perf
