// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>

#include <chrono>

namespace portops::apps {

/// The mean time of `repeats` calls, enqueued one after the other once a first call has warmed everything up.
template <class Call>
double seconds_per_call(const Context& ctx, int repeats, Call&& call) {
  call();
  ctx.fence();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) call();
  ctx.fence();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / repeats;
}

}  // namespace portops::apps
