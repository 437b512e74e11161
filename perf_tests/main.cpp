// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// portops_perf: the benchmarks of all operators on all backends, with Google Benchmark's options:
//   portops_perf --benchmark_filter='cuda/lerp.*f16' --benchmark_format=json

#include "harness.hpp"

#include <portops/core/config.hpp>
#include <portops/core/runtime.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>
#include <sstream>

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    const portops::Runtime runtime;
    benchmark::AddCustomContext("portops", PORTOPS_VERSION);
    benchmark::AddCustomContext("compiler", __VERSION__);
    std::ostringstream kokkos;
    Kokkos::print_configuration(kokkos);
    benchmark::AddCustomContext("kokkos", kokkos.str());
    for (const char* variable : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES"}) {
      if (const char* value = std::getenv(variable)) benchmark::AddCustomContext(variable, value);
    }
    for (const portops::Device& device : portops::devices()) {
      const std::string backend(portops::name_of(device.backend));
      benchmark::AddCustomContext(backend, device.name + ", concurrency " + std::to_string(device.concurrency));
      portops::perf::register_ceilings(device.backend);
      portops::perf::register_benchmarks(device.backend);
    }
    benchmark::RunSpecifiedBenchmarks();
    portops::perf::forget_calls();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
