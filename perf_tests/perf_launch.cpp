// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "perf_launch.hpp"

#include "core/dispatch.hpp"
#include "core/launch.hpp"
#include "harness.hpp"

namespace portops::perf {
namespace {

struct Nothing {
  KOKKOS_FUNCTION void operator()(std::int64_t) const {}
};

void launch_nothing(const Context& ctx) {
  static const std::string label = "portops::perf::nothing";
  impl::dispatch(ctx.backend(), ElementType::f32,
                 [&]<Backend B, class>() { impl::launch_items<B, 0>(ctx, label, Nothing{}, 1024); });
}

}  // namespace

void register_launch(Backend backend) {
  register_host_time(backend, {"launch", 0, [](const Context& ctx) -> Call { return [=] { launch_nothing(ctx); }; }});
}

}  // namespace portops::perf
