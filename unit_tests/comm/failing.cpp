// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/comm/gradient_sum.hpp>
#include <portops/comm/world.hpp>
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

// A process fails while the others wait for it: the job has to end, with a message that names it. One way to fail for
// each name, and "lone": started by itself where a launcher seems to have started several, it has to refuse its work.

namespace {

using namespace portops;

void work(const comm::Communicator& all, const char* way) {
  const Runtime runtime;
  const Context ctx(enabled_backends().back());
  const Tensor x(ElementType::f32, {4}, default_memory_space(ctx.backend()));
  if (all.rank() == 1) {
    if (std::strcmp(way, "killed") == 0) {
      std::fputs("process 1 of 3 aborts now\n", stderr);
      std::abort();
    }
    throw std::runtime_error("no more data");
  }
  comm::all_reduce(ctx, all, x);
}

}  // namespace

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "caught";
  try {
    comm::World world;
    if (std::strcmp(way, "caught") == 0) {
      try {
        work(world.communicator(), way);
      } catch (const std::exception& error) {
        world.communicator().end_job(error.what());
      }
    } else {
      work(world.communicator(), way);
    }
    std::puts("unexpected: all went well");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unexpected: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
