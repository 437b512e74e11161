// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// portops_perf: the benchmarks of all operators on all backends, with Google Benchmark's options:
//   portops_perf --benchmark_filter='cuda/lerp.*f16' --benchmark_format=json
// and one more:
//   --gemm_rates  prints the rates of matrix products at the end, as the rates of copies are always printed

#include "harness.hpp"
#include "perf_deform_conv2d.hpp"
#include "perf_launch.hpp"
#include "perf_lerp.hpp"
#include "perf_p_norm.hpp"

#include <portops/core/config.hpp>
#include <portops/core/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using portops::ElementType;
using portops::Math;

/// Takes the flag out of the arguments; says whether it was there.
bool take_flag(int& argc, char** argv, std::string_view flag) {
  char** const end = std::remove_if(argv + 1, argv + argc, [&](const char* argument) { return argument == flag; });
  const bool found = end != argv + argc;
  argc = static_cast<int>(end - argv);
  return found;
}

void print_gemm_rate(portops::Backend backend, ElementType type, Math math) {
  std::fprintf(stderr, "gemm on %s, %s%s: %.2f TFLOP/s\n", std::string(portops::name_of(backend)).c_str(),
               std::string(portops::name_of(type)).c_str(), math == Math::tf32 ? " as tf32" : "",
               portops::perf::gemm_rate(backend, type, math) * 1e-12);
}

}  // namespace

int main(int argc, char** argv) {
  const bool with_gemm_rates = take_flag(argc, argv, "--gemm_rates");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    const portops::Runtime runtime;
    benchmark::AddCustomContext("portops", PORTOPS_VERSION);
    for (const char* variable : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES"}) {
      if (const char* value = std::getenv(variable)) benchmark::AddCustomContext(variable, value);
    }
    for (const portops::Device& device : portops::devices()) {
      const std::string backend(portops::name_of(device.backend));
      benchmark::AddCustomContext(backend, device.name + ", concurrency " + std::to_string(device.concurrency));
      portops::perf::register_launch(device.backend);
      portops::perf::register_lerp(device.backend);
      portops::perf::register_p_norm(device.backend);
      portops::perf::register_deform_conv2d(device.backend);
    }
    benchmark::RunSpecifiedBenchmarks();
    for (const portops::Device& device : portops::devices()) {
      std::fprintf(stderr, "copy on %s: %.0f GB/s\n", std::string(portops::name_of(device.backend)).c_str(),
                   portops::perf::copy_rate(device.backend) * 1e-9);
      if (!with_gemm_rates) continue;
      for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
        print_gemm_rate(device.backend, type, Math::ieee);
        if (type == ElementType::f32 && device.backend == portops::Backend::cuda) {
          print_gemm_rate(device.backend, type, Math::tf32);
        }
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
