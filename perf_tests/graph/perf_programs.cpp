// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/core/kokkos.hpp>
#include <portops/graph/execution.hpp>
#include <portops/ops/gelu.hpp>

#include <memory>
#include <string>
#include <vector>

namespace portops::perf {
namespace {

/// A chain of calls: what is measured is the host's time for a run. Small tensors, so that it is not the device's.
const Extents extents{64};

std::string name_of(const char* way, int calls) { return "graph/gelu/calls:" + std::to_string(calls) + "/" + way; }

/// The default stream cannot be captured: one that can.
Context capturable(const Context& ctx) {
#if defined(KOKKOS_ENABLE_CUDA)
  if (ctx.backend() == Backend::cuda) {
    return Kokkos::Experimental::partition_space(Kokkos::Cuda(), std::vector<int>{1}).front();
  }
#endif
  return ctx;
}

Case tape(int calls) {
  return {name_of("calls", calls), 0, [calls](const Context& ctx) -> Call {
            const autograd::Variable x(random_tensor(ctx, ElementType::f32, extents));
            return [=] {
              autograd::Variable y = x;
              for (int i = 0; i < calls; ++i) y = autograd::gelu(ctx, y);
            };
          }};
}

Case program(const char* way, int calls, bool is_captured) {
  return {name_of(way, calls), 0, [calls, is_captured](const Context& ctx) -> Call {
            graph::Program made;
            graph::ValueId y = made.add_input("x", ElementType::f32, extents);
            for (int i = 0; i < calls; ++i) y = made.call("gelu", {{"x", y}});
            made.add_output("y", y);
            const Context own = is_captured ? capturable(ctx) : ctx;
            const auto execution = std::make_shared<graph::Execution>(own, graph::CompiledProgram(own, made));
            execution->run();
            if (is_captured) execution->capture();
            return [execution] { execution->run(); };
          }};
}

void register_cases(Backend backend) {
  for (const int calls : {32, 512}) {
    register_host_time(backend, tape(calls));
    register_host_time(backend, program("run", calls, false));
    if (backend == Backend::cuda) register_host_time(backend, program("launch", calls, true));
  }
}

const Benchmarks benchmarks("graph", register_cases);

}  // namespace
}  // namespace portops::perf
