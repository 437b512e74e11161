// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/memory_use.hpp"

#include "core/exec/memory_counters.hpp"

#include <array>
#include <atomic>

namespace portops {
namespace {

struct Counters {
  std::atomic<std::size_t> bytes = 0;
  std::atomic<std::size_t> peak_bytes = 0;

  void raise_peak(std::size_t to) noexcept {
    std::size_t peak = peak_bytes.load(std::memory_order_relaxed);
    while (peak < to && !peak_bytes.compare_exchange_weak(peak, to, std::memory_order_relaxed)) {
    }
  }
};

Counters& counters_of(MemorySpace space) noexcept {
  static constexpr std::size_t spaces = 4;
  static std::array<Counters, spaces> counters;
  static_assert(static_cast<std::size_t>(MemorySpace::cuda_managed) < spaces);
  return counters[static_cast<std::size_t>(space)];
}

}  // namespace

namespace impl {

void count_taken(MemorySpace space, std::size_t bytes) noexcept {
  Counters& counters = counters_of(space);
  counters.raise_peak(counters.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void count_returned(MemorySpace space, std::size_t bytes) noexcept {
  counters_of(space).bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace impl

MemoryUse memory_use(MemorySpace space) {
  const Counters& counters = counters_of(space);
  return {counters.bytes.load(std::memory_order_relaxed), counters.peak_bytes.load(std::memory_order_relaxed)};
}

void reset_memory_peak(MemorySpace space) {
  Counters& counters = counters_of(space);
  counters.peak_bytes.store(counters.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace portops
