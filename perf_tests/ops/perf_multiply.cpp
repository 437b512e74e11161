// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/multiply.hpp>

#include "ops/binary_cases.hpp"

namespace portops::perf {
namespace {

void register_cases(Backend backend) {
  register_binary_cases(backend, {.name = "multiply", .call = multiply, .grad = multiply_grad, .reads_operands = true});
}

const Benchmarks benchmarks("multiply", register_cases);

}  // namespace
}  // namespace portops::perf
