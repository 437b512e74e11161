// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/tensor.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace portops::perf {

/// Between −1 and 1; between 0 and 1; normally distributed around 0, with a deviation of 1.5.
enum class Random : std::uint8_t { around_zero, positive, normal };

/// Random numbers in the backend's memory: zeros would run faster than real data.
Tensor random_tensor(const Context& ctx, ElementType type, const Extents& extents, Random kind = Random::around_zero);

/// Bytes read and written a second by a copy on this backend, measured once, when first asked for.
double copy_rate(Backend backend);

/// Floating-point operations a second of a large matrix product of this backend: what operators with a product inside
/// can be held against. Measured once, when first asked for; takes seconds on hosts.
double gemm_rate(Backend backend, ElementType type, Math math);

/// Extents in a benchmark's name: 4x16x64, or scalar.
std::string text(const Extents& extents);

/// One operator call on its own set of tensors.
using Call = std::function<void()>;

/// The matrix products inside a call.
struct Products {
  double flops = 0.0;
  ElementType type = ElementType::f32;
  Math math = Math::ieee;
};

/// A case: how many bytes a call must move (each input read once, each output written once), how to make a call on a
/// fresh set of tensors, and what the call multiplies.
struct Case {
  std::string name;
  std::int64_t bytes;
  std::function<Call(const Context&)> make_call;
  Products products = {};
};

/// Registers BACKEND/NAME: the time of a call once it is enqueued often enough to hide its launch, rotating through
/// sets of tensors that together exceed the caches. Reports bytes a second, and their share of the copy rate; for a
/// case with products also floating-point operations a second, and `of_floor`, the share of the time that is taken by
/// the bytes at the copy rate or, where that is longer, the products at the rate of a large one.
void register_case(Backend backend, const Case& benchmark_case);

/// What a perf_*.cpp measures: one at namespace scope in each, by name.
class Benchmarks {
 public:
  Benchmarks(std::string_view name, void (*register_on)(Backend));
};

/// Registers those of all files, by their names' order.
void register_benchmarks(Backend backend);

/// Frees what the last case keeps for its next repetition.
void forget_calls();

/// Registers BACKEND/NAME/host: the host's time to enqueue a call.
void register_host_time(Backend backend, const Case& benchmark_case);

/// Registers BACKEND/ceiling/copy, the same with sizes, and BACKEND/ceiling/gemm/TYPE: what the machine does at best.
void register_ceilings(Backend backend);

/// Registers BACKEND/NAME/instances:N for 1, 2, 4 and 8 execution-space instances of a GPU that work at the same time:
/// the time a call of them all together. Nothing on hosts, where instances would share the threads.
void register_concurrency(Backend backend, const Case& benchmark_case);

/// Numbers of elements from 100 to 10^9, two in each decade, as long as a call's tensors, in all of which an element
/// takes so many bytes, fit a third of the backend's memory.
std::vector<std::int64_t> sweep_sizes(Backend backend, std::int64_t bytes_of_element);

}  // namespace portops::perf
