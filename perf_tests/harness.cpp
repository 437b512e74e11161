// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include "blas/gemm.hpp"

#include <portops/core/config.hpp>
#include <portops/core/error.hpp>
#include <portops/core/kokkos.hpp>
#include <portops/core/runtime.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <tuple>

namespace portops::perf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Several times the last-level cache of any machine that this runs on.
constexpr std::int64_t rotated_bytes = std::int64_t{256} << 20;

/// Of many calls each, so that the fence at the end does not count: Google Benchmark would go by the time of one call,
/// and take a thousand times too long.
constexpr int iterations = 10;
constexpr double iteration_seconds = 0.005;

/// Registers a benchmark that sets its own times. One that throws becomes a row that says why, and others follow.
template <class Run>
void register_run(Backend backend, const std::string& name, const Run& run) {
  const auto run_or_say_why = [=](benchmark::State& state) {
    try {
      run(state);
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  };
  benchmark::RegisterBenchmark((std::string(name_of(backend)) + "/" + name).c_str(), run_or_say_why)
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMicrosecond);
}

/// What registers the benchmarks of a file, by its name.
std::map<std::string, void (*)(Backend), std::less<>>& files() {
  static std::map<std::string, void (*)(Backend), std::less<>> files;
  return files;
}

std::vector<Call> make_calls(const Context& ctx, const Case& benchmark_case) {
  const std::int64_t fewest = benchmark_case.bytes < 8 * rotated_bytes ? 2 : 1;
  const std::int64_t sets =
      std::clamp<std::int64_t>(rotated_bytes / std::max<std::int64_t>(benchmark_case.bytes, 1), fewest, 64);
  std::vector<Call> calls;
  for (std::int64_t k = 0; k < sets; ++k) calls.push_back(benchmark_case.make_call(ctx));
  for (const Call& call : calls) call();
  ctx.fence();
  return calls;
}

/// The calls of the case that is measured, kept for its next repetition: their tensors take longer to make than to use.
struct Prepared {
  std::string name;
  std::vector<Call> calls;
};
Prepared prepared;

const std::vector<Call>& prepare_calls(const Context& ctx, const Case& benchmark_case) {
  const std::string name = std::string(name_of(ctx.backend())) + "/" + benchmark_case.name;
  if (prepared.name != name) {
    forget_calls();
    prepared.calls = make_calls(ctx, benchmark_case);
    prepared.name = name;
  }
  return prepared.calls;
}

int calls_an_iteration(const Context& ctx, const Call& call) {
  const auto start = Clock::now();
  call();
  ctx.fence();
  return static_cast<int>(std::clamp(iteration_seconds / seconds_since(start), 1.0, 1000.0));
}

template <class T, class Distribution>
void draw(std::vector<char>& bytes, Distribution distribution) {
  static std::mt19937 engine(1);
  auto* elements = reinterpret_cast<T*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) elements[i] = static_cast<T>(distribution(engine));
}

template <class T>
void fill(std::vector<char>& bytes, Random kind) {
  switch (kind) {
    case Random::around_zero: return draw<T>(bytes, std::uniform_real_distribution<float>(-1.0f, 1.0f));
    case Random::positive: return draw<T>(bytes, std::uniform_real_distribution<float>(0.0f, 1.0f));
    case Random::normal: return draw<T>(bytes, std::normal_distribution<float>(0.0f, 1.5f));
  }
}

/// The same few megabytes of random numbers over and over: making gigabytes of them would take longer than the runs.
std::vector<char> random_piece(ElementType type, Random kind) {
  std::vector<char> piece(std::size_t{8} << 20);
  switch (type) {
    case ElementType::f64: fill<double>(piece, kind); break;
    case ElementType::f32: fill<float>(piece, kind); break;
    case ElementType::f16: fill<f16>(piece, kind); break;
    case ElementType::bf16: fill<bf16>(piece, kind); break;
    case ElementType::i64: throw Error("random numbers have no element type i64");
  }
  return piece;
}

Case copy_case(const std::string& name, std::int64_t count) {
  const Extents extents{count};
  return {name, 2 * 4 * count, [=](const Context& ctx) -> Call {
            const Tensor from = random_tensor(ctx, ElementType::f32, extents);
            const Tensor to = random_tensor(ctx, ElementType::f32, extents);
            return [=] { copy(ctx, from, to); };
          }};
}

/// Too large for any cache.
Case large_copy_case(Backend backend) {
  return copy_case("ceiling/copy", std::int64_t{1} << (backend == Backend::cuda ? 28 : 26));
}

Case gemm_case(Backend backend, ElementType type, Math math) {
  const std::int64_t size = backend == Backend::cuda ? 4096 : 1024;
  const double flops = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  const std::string name = math == Math::tf32 ? "tf32" : std::string(name_of(type));
  return {"ceiling/gemm/" + name, 3 * size * size * static_cast<std::int64_t>(size_of(type)),
          [=](const Context& given) -> Call {
            const Context ctx = Context(given).math(math);
            const Tensor a = random_tensor(ctx, type, {size, size});
            const Tensor b = random_tensor(ctx, type, {size, size});
            const Tensor c(type, {size, size}, a.ref().space());
            return [=] { blas::gemm(ctx, blas::Transpose::no, blas::Transpose::no, 1.0, a, b, 0.0, c); };
          },
          Products{flops, type, math}};
}

/// Calls a second, at best.
double best_rate(Backend backend, const Case& benchmark_case, int rounds, int calls) {
  const Context ctx(backend);
  const Call call = benchmark_case.make_call(ctx);
  double best = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    for (int k = 0; k < calls; ++k) call();
    ctx.fence();
    best = std::max(best, calls / seconds_since(start));
  }
  return best;
}

double measure_copy_rate(Backend backend) {
  const Case copying = large_copy_case(backend);
  return static_cast<double>(copying.bytes) * best_rate(backend, copying, 10, 1);
}

double measure_gemm_rate(Backend backend, ElementType type, Math math) {
  const Case product = gemm_case(backend, type, math);
  return product.products.flops * best_rate(backend, product, 5, backend == Backend::cuda ? 20 : 1);
}

std::int64_t total_memory([[maybe_unused]] Backend backend) {
#if defined(PORTOPS_HAS_CUDA)
  if (std::size_t free = 0, total = 0; backend == Backend::cuda && cudaMemGetInfo(&free, &total) == cudaSuccess) {
    return static_cast<std::int64_t>(total);
  }
#endif
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

void count_products(benchmark::State& state, Backend backend, const Case& benchmark_case) {
  const Products& products = benchmark_case.products;
  const double floor = std::max(static_cast<double>(benchmark_case.bytes) / copy_rate(backend),
                                products.flops / gemm_rate(backend, products.type, products.math));
  const auto calls = static_cast<double>(state.iterations());
  state.counters["flops_per_second"] = benchmark::Counter(products.flops * calls, benchmark::Counter::kIsRate);
  state.counters["of_floor"] = benchmark::Counter(floor * calls, benchmark::Counter::kIsRate);
}

void count_bytes(benchmark::State& state, Backend backend, const Case& benchmark_case) {
  const double bytes = static_cast<double>(benchmark_case.bytes) * static_cast<double>(state.iterations());
  state.counters["bytes_per_second"] = benchmark::Counter(bytes, benchmark::Counter::kIsRate);
  state.counters["of_copy"] = benchmark::Counter(bytes / copy_rate(backend), benchmark::Counter::kIsRate);
}

void run_case(benchmark::State& state, Backend backend, const Case& benchmark_case) {
  const Context ctx(backend);
  const std::vector<Call>& calls = prepare_calls(ctx, benchmark_case);
  const int count = calls_an_iteration(ctx, calls.front());
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto start = Clock::now();
    for (int k = 0; k < count; ++k) calls[next++ % calls.size()]();
    ctx.fence();
    state.SetIterationTime(seconds_since(start) / count);
  }
  count_bytes(state, backend, benchmark_case);
  if (benchmark_case.products.flops > 0.0) count_products(state, backend, benchmark_case);
}

#if defined(PORTOPS_HAS_CUDA)
void run_concurrently(benchmark::State& state, const Case& benchmark_case, int count) {
  const std::vector instances = Kokkos::Experimental::partition_space(Kokkos::Cuda(), std::vector<int>(count, 1));
  std::vector<std::vector<Call>> calls;
  for (const Kokkos::Cuda& instance : instances) calls.push_back(make_calls(Context(instance), benchmark_case));
  constexpr int rounds = 50;
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto start = Clock::now();
    for (int k = 0; k < rounds; ++k, ++next) {
      for (const std::vector<Call>& own : calls) own[next % own.size()]();
    }
    for (const Kokkos::Cuda& instance : instances) instance.fence();
    state.SetIterationTime(seconds_since(start) / (rounds * count));
  }
  count_bytes(state, Backend::cuda, benchmark_case);
}
#endif

void run_host_time(benchmark::State& state, Backend backend, const Case& benchmark_case) {
  const Context ctx(backend);
  const Call call = benchmark_case.make_call(ctx);
  call();
  ctx.fence();
  constexpr int calls = 100;  // few enough to fit the device's queue: a full one would make the host wait
  for ([[maybe_unused]] auto _ : state) {
    const auto start = Clock::now();
    for (int k = 0; k < calls; ++k) call();
    state.SetIterationTime(seconds_since(start) / calls);
    ctx.fence();
  }
}

}  // namespace

Tensor random_tensor(const Context& ctx, ElementType type, const Extents& extents, Random kind) {
  static std::map<std::pair<ElementType, Random>, std::vector<char>> pieces;
  std::vector<char>& piece = pieces[{type, kind}];
  if (piece.empty()) piece = random_piece(type, kind);
  const Tensor result(type, extents, default_memory_space(ctx.backend()));
  const auto element = static_cast<std::int64_t>(size_of(type));
  const std::int64_t elements = extents.product();
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return TensorRef(result.data<char>() + first * element, type, {count}, {1}, result.ref().space());
  };
  // The piece once, then what is there once more, until all is.
  std::int64_t filled = std::min(static_cast<std::int64_t>(piece.size()) / element, elements);
  copy(ctx, TensorRef(piece.data(), type, {filled}, {1}, MemorySpace::host), part(0, filled));
  while (filled < elements) {
    const std::int64_t count = std::min(filled, elements - filled);
    copy(ctx, part(0, count), part(filled, count));
    filled += count;
  }
  ctx.fence();
  return result;
}

std::string text(const Extents& extents) {
  std::string result;
  for (const std::int64_t extent : extents) {
    if (!result.empty()) result += 'x';
    result += std::to_string(extent);
  }
  return result.empty() ? "scalar" : result;
}

double copy_rate(Backend backend) {
  static std::map<Backend, double> rates;
  const auto [entry, is_new] = rates.try_emplace(backend, 0.0);
  if (is_new) entry->second = measure_copy_rate(backend);
  return entry->second;
}

double gemm_rate(Backend backend, ElementType type, Math math) {
  static std::map<std::tuple<Backend, ElementType, Math>, double> rates;
  const auto [entry, is_new] = rates.try_emplace({backend, type, math}, 0.0);
  if (is_new) entry->second = measure_gemm_rate(backend, type, math);
  return entry->second;
}

void forget_calls() { prepared = {}; }

Benchmarks::Benchmarks(std::string_view name, void (*register_on)(Backend)) { files().emplace(name, register_on); }

void register_benchmarks(Backend backend) {
  for (const auto& [name, register_on] : files()) register_on(backend);
}

void register_case(Backend backend, const Case& benchmark_case) {
  register_run(backend, benchmark_case.name,
               [=](benchmark::State& state) { run_case(state, backend, benchmark_case); });
}

void register_host_time(Backend backend, const Case& benchmark_case) {
  register_run(backend, benchmark_case.name + "/host",
               [=](benchmark::State& state) { run_host_time(state, backend, benchmark_case); });
}

void register_ceilings(Backend backend) {
  register_case(backend, large_copy_case(backend));
  for (const std::int64_t size : sweep_sizes(backend, 8)) {
    register_case(backend, copy_case("ceiling/copy/size:" + std::to_string(size), size));
  }
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    register_case(backend, gemm_case(backend, type, Math::ieee));
  }
  if (backend == Backend::cuda) register_case(backend, gemm_case(backend, ElementType::f32, Math::tf32));
}

void register_concurrency([[maybe_unused]] Backend backend, [[maybe_unused]] const Case& benchmark_case) {
#if defined(PORTOPS_HAS_CUDA)
  if (backend != Backend::cuda) return;
  for (const int count : {1, 2, 4, 8}) {
    register_run(backend, benchmark_case.name + "/instances:" + std::to_string(count),
                 [=](benchmark::State& state) { run_concurrently(state, benchmark_case, count); });
  }
#endif
}

std::vector<std::int64_t> sweep_sizes(Backend backend, std::int64_t bytes_of_element) {
  // Small calls rotate through several sets, and others may need memory too.
  const std::int64_t most = std::min<std::int64_t>(1000000000, total_memory(backend) / 3 / bytes_of_element);
  std::vector<std::int64_t> sizes;
  for (std::int64_t decade = 100; decade <= most; decade *= 10) {
    for (const std::int64_t size : {decade, decade * 316 / 100}) {
      if (size <= most) sizes.push_back(size);
    }
  }
  return sizes;
}

}  // namespace portops::perf
