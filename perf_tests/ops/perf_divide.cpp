// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/divide.hpp>

#include "ops/binary_cases.hpp"

namespace portops::perf {
namespace {

void register_cases(Backend backend) {
  register_binary_cases(backend, {.name = "divide", .call = divide, .grad = divide_grad, .reads_operands = true});
}

const Benchmarks benchmarks("divide", register_cases);

}  // namespace
}  // namespace portops::perf
