// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/core/error.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>
#include <portops/ops/lerp.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

// Usage: portops_runtime_life WAY
//
// Computes on the first backend, and ends in one of the ways in which programs end.

namespace {

using portops::Runtime;

/// Never destroyed. Volatile, so that it stays where sanitizers look for it.
Runtime* volatile kept = nullptr;

/// Made before main, and so destroyed after everything that main makes.
std::unique_ptr<Runtime> static_before;

void compute() {
  const portops::Backend backend = portops::enabled_backends().front();
  const portops::Context ctx(backend);
  const portops::Tensor x(portops::ElementType::f32, {1000}, portops::default_memory_space(backend));
  const portops::Tensor out(portops::ElementType::f32, {1000}, portops::default_memory_space(backend));
  portops::lerp(ctx, x, x, 0.5, out);
  ctx.fence();
}

int fail(const char* what) {
  std::printf("unexpected: %s\n", what);
  return 1;
}

int run_again() {
  {
    const Runtime runtime;
    compute();
  }
  try {
    const Runtime runtime;
  } catch (const portops::Error& error) {
    const std::string expected =
        "portops::Runtime: Kokkos has been finalised, which cannot be undone: keep one Runtime for as long as the "
        "process computes";
    return error.what() == expected ? 0 : fail(error.what());
  }
  return fail("a second start");
}

int run_twice() {
  std::optional<Runtime> first(std::in_place);
  const Runtime second;
  first.reset();
  compute();
  return 0;
}

int run(const std::string& way) {
  if (way == "again") return run_again();
  if (way == "twice") return run_twice();
  if (way == "destroyed") {
    const Runtime runtime;
    compute();
    return 0;
  }
  if (way == "kept") {
    kept = new Runtime;
    compute();
    return 0;
  }
  if (way == "exits") {
    const Runtime runtime;
    compute();
    std::exit(0);
  }
  if (way == "forks") {
    const Runtime runtime;
    compute();
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : fail("the end of a fork");
  }
  if (way == "static") {
    static const Runtime runtime;
    compute();
    return 0;
  }
  if (way == "static_before") {
    static_before = std::make_unique<Runtime>();
    compute();
    return 0;
  }
  return fail(way.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return fail("expected a way");
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
