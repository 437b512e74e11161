// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kokkos_support.hpp"

// Streams and graphs of the application's own.

#if defined(KOKKOS_ENABLE_CUDA)

#include <atomic>
#include <chrono>
#include <thread>

namespace portops::test {

#define EXPECT_CUDA(call) EXPECT_EQ(call, cudaSuccess) << #call

/// A stream of the application's own.
class Stream {
 public:
  Stream() { EXPECT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { EXPECT_CUDA(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT: implicit for brevity

 private:
  cudaStream_t stream_ = nullptr;
};

/// Keeps a stream busy until the host says so, or gives up.
inline void wait_until_released(void* released) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!*static_cast<std::atomic<bool>*>(released) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
}

/// Captures calls on a stream, and gives the graph ready to launch.
template <class Calls>
cudaGraphExec_t capture(const Stream& stream, const Calls& calls) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  calls();
  EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
  EXPECT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  EXPECT_CUDA(cudaGraphDestroy(graph));
  return executable;
}

/// Expects that a captured problem.call(ctx) computes anew at every launch.
template <class Problem>
void check_capture(const Stream& stream, const Context& ctx, const Problem& problem) {
  Problem operands = problem;  // Views are shared
  operands.fill(1);
  // The first call loads the kernels, which cannot be captured.
  operands.call(ctx);
  ctx.fence();
  operands.fill(1);

  const cudaGraphExec_t graph = capture(stream, [&] { operands.call(ctx); });
  ASSERT_NE(graph, nullptr);
  for (const int salt : {30, 50}) {
    operands.fill(salt);
    EXPECT_CUDA(cudaGraphLaunch(graph, stream));
    EXPECT_CUDA(cudaGraphLaunch(graph, stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    operands.expect_right(salt);
  }
  EXPECT_CUDA(cudaGraphExecDestroy(graph));
}

/// The same of a Problem whose calls take temporaries from the library's pool.
template <class Problem>
void check_capture_with_pool() {
  const Stream stream;
  const Context ctx = Kokkos::Cuda(stream);
  const Problem problem;
  ASSERT_GT(problem.workspace(ctx), 0u);
  check_capture(stream, ctx, problem);
}

/// And of one whose temporaries lie in memory that is lent.
template <class Problem>
void check_capture_with_lent_workspace() {
  const Stream stream;
  const Problem problem;
  Context ctx = Kokkos::Cuda(stream);
  const std::size_t bytes = problem.workspace(ctx);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  ctx.workspace({memory, bytes});
  check_capture(stream, ctx, problem);
  EXPECT_CUDA(cudaFree(memory));
}

}  // namespace portops::test

#endif
