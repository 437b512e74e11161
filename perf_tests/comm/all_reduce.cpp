// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// portops_perf_comm [BYTES...]: how long portops::comm::all_reduce of f32 takes between the processes that run it, on
// the first backend, in both modes; started as any program with portops::comm::World is. For each size the median over
// rounds of the mean of a round's calls. GB/s is the bus bandwidth, 2 (P − 1) / P · bytes / time: what each process
// sends, and receives.

#include <portops/comm/world.hpp>
#include <portops/core/runtime.hpp>
#include <portops/core/tensor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// In µs.
double time_of(const portops::Context& ctx, const portops::comm::Communicator& processes, const portops::TensorRef& x) {
  constexpr int rounds = 7, calls = 20;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    portops::comm::all_reduce(ctx, processes, x);
    ctx.fence();
    processes.barrier();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) portops::comm::all_reduce(ctx, processes, x);
    ctx.fence();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

void run(const portops::comm::Communicator& all, int argc, char** argv) {
  const portops::Runtime runtime;
  const portops::Context ctx(portops::devices().front().backend);
  // Processes that agree on each call would be timed with it.
  const portops::comm::Communicator processes = portops::comm::Communicator(all).checks_calls(false);
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {std::int64_t{4} << 10, std::int64_t{4} << 20, std::int64_t{64} << 20};
  for (const std::int64_t bytes : sizes) {
    const portops::Tensor x(portops::ElementType::f32, {bytes / 4}, portops::default_memory_space(ctx.backend()));
    const std::vector<float> zeros(static_cast<std::size_t>(bytes / 4));  // whose sums stay numbers
    portops::copy(ctx, portops::TensorRef(zeros.data(), x.ref().extents()), x);
    for (const bool deterministic : {false, true}) {
      const double time = time_of(portops::Context(ctx).deterministic(deterministic), processes, x);
      const double sent = 2.0 * (all.size() - 1) / all.size() * static_cast<double>(bytes);
      if (all.rank() > 0) continue;
      std::printf("all_reduce %s x %d, %lld bytes%s: %.1f us, %.1f GB/s\n", std::string(all.engine_name(ctx)).c_str(),
                  all.size(), static_cast<long long>(bytes), deterministic ? ", deterministic" : "", time,
                  sent / time / 1e3);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const portops::comm::World world;
    run(world.communicator(), argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
