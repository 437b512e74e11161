// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_families.hpp"
#include "support/kokkos_cuda_support.hpp"

#include <atomic>
#include <list>
#include <string>
#include <thread>

// Several host threads at a time, each with an instance of its own: all operators, while levels come and go.

namespace portops::test {
namespace {

using Bytes = std::vector<std::byte>;

/// What a host thread works with.
template <class Space>
struct Worker {
  explicit Worker(int salt) : ctx(own_instance<Space>()), work(ctx.deterministic(true), salt) {}

  Context ctx;
  AllFamilies work;
  Bytes expected;
  int wrong = 0;
  std::string error;  ///< of the first call that threw

  /// Calls with levels of its own, which end before the calls do, and with those that all threads share.
  void take_a_turn(const Levels& shared) {
    try_to([&] {
      work.forget(ctx);
      work.call(ctx, shared);
      work.call(ctx, AllFamilies::make_levels());
      if (work.results(ctx) != expected) ++wrong;
    });
  }

  /// A host thread has nobody above it to throw to.
  template <class Action>
  void try_to(const Action& action) {
    try {
      action();
    } catch (const std::exception& thrown) {
      if (error.empty()) error = thrown.what();
    }
  }

  void expect_right() const {
    EXPECT_EQ(error, "");
    EXPECT_EQ(wrong, 0);
  }
};

template <class Space>
std::list<Worker<Space>> make_workers(int count) {
  std::list<Worker<Space>> workers;
  for (int i = 0; i < count; ++i) {
    Worker<Space>& worker = workers.emplace_back(i);
    worker.work.call(worker.ctx, AllFamilies::make_levels());
    worker.expected = worker.work.results(worker.ctx);
  }
  return workers;
}

template <class Space>
void run_together(std::list<Worker<Space>>& workers, int turns) {
  const Levels shared = AllFamilies::make_levels();
  std::vector<std::thread> threads;
  for (Worker<Space>& worker : workers) {
    threads.emplace_back([&worker, &shared, turns] {
      for (int turn = 0; turn < turns; ++turn) worker.take_a_turn(shared);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Worker<Space>& worker : workers) worker.expect_right();
}

template <class Space>
class HostThreadsTest : public testing::Test {};
TYPED_TEST_SUITE(HostThreadsTest, Spaces);

TYPED_TEST(HostThreadsTest, give_the_bits_of_one) {
#if !defined(KOKKOS_ENABLE_OPENMP) && !defined(KOKKOS_ENABLE_CUDA)
  GTEST_SKIP() << "Kokkos may be built without locks where Serial is its only backend";
#endif
  auto workers = make_workers<TypeParam>(8);
  run_together(workers, 3);
}

#if defined(KOKKOS_ENABLE_CUDA)

struct Graph {
  cudaGraphExec_t executable = nullptr;

  ~Graph() {
    if (executable != nullptr) EXPECT_CUDA(cudaGraphExecDestroy(executable));
  }
};

/// Captures on one host thread while others call, make and destroy levels, and capture too.
TEST(CudaHostThreadsTest, capture_while_others_call) {
  constexpr int count = 4;
  auto callers = make_workers<Kokkos::Cuda>(count);
  std::list<Stream> streams;
  std::list<Worker<Kokkos::Cuda>> capturers;
  for (int i = 0; i < count; ++i) {
    Worker<Kokkos::Cuda>& worker = capturers.emplace_back(100 + i);
    const Stream& stream = streams.emplace_back();
    worker.ctx = Context(Backend::cuda, static_cast<cudaStream_t>(stream)).deterministic(true);
    worker.work.call(worker.ctx, AllFamilies::make_levels());
    worker.expected = worker.work.results(worker.ctx);
  }
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (auto& worker : callers) {
    threads.emplace_back([&] {
      const Levels shared = AllFamilies::make_levels();
      while (!done) worker.take_a_turn(shared);
    });
  }
  std::vector<std::thread> capturing;
  auto stream = streams.begin();
  for (auto& worker : capturers) {
    capturing.emplace_back([&worker, &own = *stream++] {
      // What this thread itself does with its graph is to leave the captures of the others alone.
      auto mode = cudaStreamCaptureModeRelaxed;
      EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
      for (int turn = 0; turn < 5; ++turn) {
        const Levels levels = AllFamilies::make_levels();
        worker.try_to([&] {
          worker.work.forget(worker.ctx);
          const Graph graph{capture(own, [&] { worker.try_to([&] { worker.work.call(worker.ctx, levels); }); })};
          ASSERT_NE(graph.executable, nullptr);
          EXPECT_CUDA(cudaGraphLaunch(graph.executable, own));
          worker.ctx.fence();
          if (worker.work.results(worker.ctx) != worker.expected) ++worker.wrong;
        });
      }
    });
  }
  for (std::thread& thread : capturing) thread.join();
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (const auto& worker : callers) worker.expect_right();
  for (const auto& worker : capturers) worker.expect_right();
}

/// The first calls of a process make streams, pools and handles of cuBLAS: the capture of another thread goes on.
TEST(CudaHostThreadsTest, may_call_for_the_first_time_while_another_captures) {
  const Stream captured, other;
  Worker<Kokkos::Cuda> worker(1);
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
  std::thread([&] {
    worker.try_to([&] {
      const Context ctx = Context(Backend::cuda, static_cast<cudaStream_t>(other)).deterministic(true);
      worker.work.call(ctx, AllFamilies::make_levels());
      ctx.fence();
    });
  }).join();
  EXPECT_EQ(worker.error, "");
  EXPECT_CUDA(cudaStreamEndCapture(captured, &graph));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

#endif

}  // namespace
}  // namespace portops::test
