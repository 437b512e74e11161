// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness.hpp"

#include "blas/gemm.hpp"

#include <portops/core/config.hpp>
#include <portops/core/runtime.hpp>

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

/// Of a hundred calls each, fewer where these would take long: Google Benchmark would go by the time of one call, and
/// take a hundred times too long.
constexpr int iterations = 20;
constexpr double iteration_seconds = 0.2;

std::vector<Call> make_calls(const Context& ctx, const Case& benchmark_case) {
  const std::int64_t sets =
      std::clamp<std::int64_t>(rotated_bytes / std::max<std::int64_t>(benchmark_case.bytes, 1), 2, 64);
  std::vector<Call> calls;
  for (std::int64_t k = 0; k < sets; ++k) calls.push_back(benchmark_case.make_call(ctx));
  for (const Call& call : calls) call();
  ctx.fence();
  return calls;
}

int calls_an_iteration(const Context& ctx, const Call& call) {
  const auto start = Clock::now();
  call();
  ctx.fence();
  return static_cast<int>(std::clamp(iteration_seconds / seconds_since(start), 1.0, 100.0));
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
  }
  return piece;
}

double measure_copy_rate(Backend backend) {
  const Context ctx(backend);
  const Extents extents{std::int64_t{1} << (backend == Backend::cuda ? 28 : 26)};
  const Tensor from = random_tensor(ctx, ElementType::f32, extents);
  const Tensor to = random_tensor(ctx, ElementType::f32, extents);
  double best = 0.0;
  for (int round = 0; round < 10; ++round) {
    const auto start = Clock::now();
    copy(ctx, from, to);
    ctx.fence();
    best = std::max(best, 2.0 * 4.0 * static_cast<double>(extents.product()) / seconds_since(start));
  }
  return best;
}

double measure_gemm_rate(Backend backend, ElementType type, Math math) {
  const Context ctx = Context(backend).math(math);
  const std::int64_t size = backend == Backend::cuda ? 4096 : 2048;
  const Tensor a = random_tensor(ctx, type, {size, size});
  const Tensor b = random_tensor(ctx, type, {size, size});
  const Tensor c(type, {size, size}, a.ref().space());
  const int calls = backend == Backend::cuda ? 20 : 1;
  double best = 0.0;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) {
      blas::gemm(ctx, blas::Transpose::no, blas::Transpose::no, 1.0, a, b, 0.0, c);
    }
    ctx.fence();
    const double operations = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
    best = std::max(best, operations * calls / seconds_since(start));
  }
  return best;
}

void count_products(benchmark::State& state, Backend backend, const Case& benchmark_case) {
  const Products& products = benchmark_case.products;
  const double floor = std::max(static_cast<double>(benchmark_case.bytes) / copy_rate(backend),
                                products.flops / gemm_rate(backend, products.type, products.math));
  const auto calls = static_cast<double>(state.iterations());
  state.counters["flops_per_second"] = benchmark::Counter(products.flops * calls, benchmark::Counter::kIsRate);
  state.counters["of_floor"] = benchmark::Counter(floor * calls, benchmark::Counter::kIsRate);
}

void run_case(benchmark::State& state, Backend backend, const Case& benchmark_case) {
  const Context ctx(backend);
  const std::vector<Call> calls = make_calls(ctx, benchmark_case);
  const int count = calls_an_iteration(ctx, calls.front());
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto start = Clock::now();
    for (int k = 0; k < count; ++k) calls[next++ % calls.size()]();
    ctx.fence();
    state.SetIterationTime(seconds_since(start) / count);
  }
  const double bytes = static_cast<double>(benchmark_case.bytes) * static_cast<double>(state.iterations());
  state.counters["bytes_per_second"] = benchmark::Counter(bytes, benchmark::Counter::kIsRate);
  state.counters["of_copy"] = benchmark::Counter(bytes / copy_rate(backend), benchmark::Counter::kIsRate);
  if (benchmark_case.products.flops > 0.0) count_products(state, backend, benchmark_case);
}

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
  const auto piece_elements = static_cast<std::int64_t>(piece.size()) / element;
  for (std::int64_t at = 0; at < elements; at += piece_elements) {
    const Extents count{std::min(piece_elements, elements - at)};
    const TensorRef from(piece.data(), type, count, {1}, MemorySpace::host);
    copy(ctx, from, TensorRef(result.data<char>() + at * element, type, count, {1}, result.ref().space()));
  }
  ctx.fence();
  return result;
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

void register_case(Backend backend, const Case& benchmark_case) {
  const std::string name = std::string(name_of(backend)) + "/" + benchmark_case.name;
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run_case(state, backend, benchmark_case); })
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMicrosecond);
}

void register_host_time(Backend backend, const Case& benchmark_case) {
  const std::string name = std::string(name_of(backend)) + "/" + benchmark_case.name + "/host";
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { run_host_time(state, backend, benchmark_case); })
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace portops::perf
