// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/autograd_support.hpp"

#include <portops/comm/world.hpp>

// Tests that several processes run together: each of them runs all tests, in the same order.

namespace portops::test {

/// All processes of this run.
const comm::Communicator& processes();

/// The backends whose tensors the processes can send: NCCL carries those of GPUs alone.
inline std::vector<Backend> sent_backends() {
  std::vector<Backend> backends;
  for (const Backend each : enabled_backends()) {
    if (processes().engine_name(Context(each)) != "NCCL" || each == Backend::cuda) backends.push_back(each);
  }
  return backends;
}

#define PORTOPS_ON_SENT_BACKENDS(Suite) \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(portops::test::sent_backends()), portops::test::backend_test_name)

}  // namespace portops::test
