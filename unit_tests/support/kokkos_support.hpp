// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/kokkos.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// What the tests with Kokkos share: suites over the execution spaces of the build.

namespace portops::test {

template <class... T>
testing::Types<T...> types_of(const std::tuple<T...>&);

/// The execution spaces that portops serves.
using Spaces = decltype(types_of(std::tuple_cat(
#if defined(KOKKOS_ENABLE_CUDA)
    std::declval<std::tuple<Kokkos::Cuda>>(),
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    std::declval<std::tuple<Kokkos::OpenMP>>(),
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
    std::declval<std::tuple<Kokkos::Serial>>(),
#endif
    std::declval<std::tuple<>>())));

/// An instance of its own, other than the default one.
template <class Space>
Space new_instance() {
  return Kokkos::Experimental::partition_space(Space(), 1)[0];
}

/// One that a host thread can have for itself: with OpenMP one thread of OpenMP's beside the host's own.
template <class Space>
Space own_instance() {
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) return Kokkos::OpenMP(2);
#endif
  return new_instance<Space>();
}

/// A number for element i, the same on every run.
inline float pattern(std::int64_t i, int salt = 0) {
  return static_cast<float>((i * 37 + salt * 11) % 101) / 16.0f - 3.0f;
}

/// Calls a(first) and b(second) so many times in turn, on two instances that share out what `Space` has, and waits for
/// both. False, and nothing is called, where there is one thread only.
template <class Space, class A, class B>
[[nodiscard]] bool call_in_turns(int turns, const A& a, const B& b) {
  const Space whole;
  if (ExecutionSpaceAdapter<Space>::backend == Backend::openmp && whole.concurrency() < 2) return false;
  const auto instances = Kokkos::Experimental::partition_space(whole, 1, 1);
  const Context first = instances[0], second = instances[1];
  for (int turn = 0; turn < turns; ++turn) {
    a(first);
    b(second);
  }
  first.fence();
  second.fence();
  return true;
}

/// That two problems on two instances at a time both come out right. `Problem` has fill(salt), call(ctx) and
/// expect_right(salt).
template <class Space, class Problem>
void check_instances_do_not_disturb_each_other() {
  Problem a, b;
  a.fill(10);
  b.fill(20);
  const auto call_a = [&](const Context& ctx) { a.call(ctx); };
  const auto call_b = [&](const Context& ctx) { b.call(ctx); };
  if (!call_in_turns<Space>(10, call_a, call_b)) GTEST_SKIP() << "one thread cannot be shared out";
  a.expect_right(10);
  b.expect_right(20);
}

/// That another instance gives the bits that the default one gives. `Problem` has results() besides.
template <class Space, class Problem>
void check_instances_give_the_same_bits() {
  Problem problem;
  std::vector<std::vector<float>> results;
  for (const Context& ctx : {Context(Space()), Context(new_instance<Space>())}) {
    problem.fill(10);
    problem.call(ctx);
    ctx.fence();
    problem.expect_right(10);
    results.push_back(problem.results());
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(float)), 0);
}

}  // namespace portops::test
