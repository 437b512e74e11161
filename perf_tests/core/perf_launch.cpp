// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/dispatch.hpp"
#include "core/exec/launch.hpp"
#include "harness.hpp"

namespace portops::perf {
namespace {

struct Nothing {
  KOKKOS_FUNCTION void operator()(std::int64_t) const {}
};

void launch_nothing(const Context& ctx) {
  static const std::string label = "portops::perf::nothing";
  impl::dispatch_backend(ctx.backend(), [&]<Backend B>() { impl::launch_items<B, 0>(ctx, label, Nothing{}, 1024); });
}

/// A kernel that does nothing: what the host pays for every call at least.
void register_cases(Backend backend) {
  register_host_time(backend, {"launch", 0, [](const Context& ctx) -> Call { return [=] { launch_nothing(ctx); }; }});
}

const Benchmarks benchmarks("launch", register_cases);

}  // namespace
}  // namespace portops::perf
