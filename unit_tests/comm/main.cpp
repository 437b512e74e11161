// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"

#include <cstdio>
#include <optional>

namespace portops::test {
namespace {

std::optional<comm::World> world;

/// What a process other than the first one has to say: that something failed.
class Failures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "process %d: %s:%d: %s\n", processes().rank(), result.file_name(), result.line_number(),
                 result.message());
  }
};

}  // namespace

const comm::Communicator& processes() { return world->communicator(); }

}  // namespace portops::test

int main(int argc, char** argv) {
  using namespace portops::test;
  try {
    // First of all: which backends tests are made for depends on what carries their tensors.
    world.emplace();
    const portops::Runtime runtime;
    testing::InitGoogleTest(&argc, argv);
    if (processes().rank() > 0) {
      auto& listeners = testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new Failures);
    }
    const int status = RUN_ALL_TESTS();
    world.reset();
    return status;
  } catch (const std::exception& error) {
    if (world) processes().end_job(error.what());
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
