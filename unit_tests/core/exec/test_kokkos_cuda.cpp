// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"

#if defined(KOKKOS_ENABLE_CUDA)

#include <portops/ops/lerp.hpp>

#include <atomic>
#include <cmath>
#include <vector>

// What only CUDA has: streams of the application's own, graphs, and memory that both sides reach.

namespace portops::test {
namespace {

/// lerp and lerp_grad over operands in a memory space, with sums that go through a temporary.
template <class Memory>
class Problem {
 public:
  static constexpr int rows = 300;
  static constexpr int columns = 1030;

  void fill(int salt) {
    fill(x, salt + 1);
    fill(row, salt + 2);
    fill(weight, salt + 3);
    fill(out_grad, salt + 4);
    for (const View* view : {&out, &x_grad, &row_grad, &weight_grad}) Kokkos::deep_copy(*view, -99.0f);
    Kokkos::fence();
  }

  void call(const Context& ctx) const {
    lerp(ctx, x, row, weight, out);
    lerp_grad(ctx, x, row, weight, out_grad, x_grad, row_grad, weight_grad);
  }

  void expect_right(int salt) const {
    const auto out_host = host(out), x_grad_host = host(x_grad), row_grad_host = host(row_grad);
    const auto weight_grad_host = host(weight_grad);
    std::vector<double> row_sum(columns), weight_sum(rows);
    for (int i = 0; i < rows; ++i) {
      const float w = pattern(i, salt + 3);
      for (int j = 0; j < columns; ++j) {
        const float a = pattern(i * columns + j, salt + 1), b = pattern(j, salt + 2);
        const float g = pattern(i * columns + j, salt + 4);
        ASSERT_EQ(out_host(i, j), std::fma(w, b - a, a)) << i << ", " << j;
        ASSERT_EQ(x_grad_host(i, j), std::fma(-w, g, g)) << i << ", " << j;
        row_sum[static_cast<std::size_t>(j)] += static_cast<double>(w) * g;
        weight_sum[static_cast<std::size_t>(i)] += static_cast<double>(g) * (b - a);
      }
    }
    for (int j = 0; j < columns; ++j) ASSERT_NEAR(row_grad_host(0, j), row_sum[static_cast<std::size_t>(j)], 0.05) << j;
    for (int i = 0; i < rows; ++i)
      ASSERT_NEAR(weight_grad_host(i, 0), weight_sum[static_cast<std::size_t>(i)], 0.1) << i;
  }

  std::size_t workspace(const Context& ctx) const {
    return lerp_grad_workspace(ctx, x, row, weight, out_grad, x_grad, row_grad, weight_grad);
  }

 private:
  using View = Kokkos::View<float**, Kokkos::LayoutRight, Memory>;

  static auto host(const View& view) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view); }

  static void fill(const View& view, int salt) {
    const auto values = Kokkos::create_mirror(Kokkos::HostSpace(), view);
    for (std::size_t i = 0; i < view.extent(0); ++i) {
      for (std::size_t j = 0; j < view.extent(1); ++j) {
        values(i, j) = pattern(static_cast<std::int64_t>(i * view.extent(1) + j), salt);
      }
    }
    Kokkos::deep_copy(view, values);
  }

  View x{"x", rows, columns}, out{"out", rows, columns}, out_grad{"out_grad", rows, columns};
  View x_grad{"x_grad", rows, columns}, row{"row", 1, columns}, row_grad{"row_grad", 1, columns};
  View weight{"weight", rows, 1}, weight_grad{"weight_grad", rows, 1};
};

TEST(CudaGraphTest, captures_calls_with_temporaries_from_the_pool) {
  check_capture_with_pool<Problem<Kokkos::CudaSpace>>();
}

TEST(CudaGraphTest, captures_calls_with_a_lent_workspace) {
  check_capture_with_lent_workspace<Problem<Kokkos::CudaSpace>>();
}

TEST(CudaStreamTest, of_the_application_carries_the_calls) {
  const Stream stream;
  const Context ctx(Backend::cuda, static_cast<cudaStream_t>(stream));
  Problem<Kokkos::CudaSpace> problem;
  problem.fill(7);
  problem.call(ctx);
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  problem.expect_right(7);
}

template <class Memory>
class CudaMemoryTest : public testing::Test {};
using Memories = testing::Types<Kokkos::CudaSpace, Kokkos::CudaUVMSpace, Kokkos::CudaHostPinnedSpace>;
TYPED_TEST_SUITE(CudaMemoryTest, Memories);

TYPED_TEST(CudaMemoryTest, is_reached_by_the_gpu) {
  const Kokkos::Cuda space;
  Problem<TypeParam> problem;
  problem.fill(3);
  problem.call(space);
  space.fence();
  problem.expect_right(3);
}

template <class Space, class Memory>
void check_on_host() {
  const Space space;
  Problem<Memory> problem;
  problem.fill(4);
  problem.call(space);
  space.fence();
  problem.expect_right(4);
}

TEST(CudaMemoryOnHostTest, pinned_and_managed_is_reached_by_host_backends) {
#if defined(KOKKOS_ENABLE_OPENMP)
  check_on_host<Kokkos::OpenMP, Kokkos::CudaHostPinnedSpace>();
  check_on_host<Kokkos::OpenMP, Kokkos::CudaUVMSpace>();
#endif
#if defined(KOKKOS_ENABLE_SERIAL)
  check_on_host<Kokkos::Serial, Kokkos::CudaHostPinnedSpace>();
  check_on_host<Kokkos::Serial, Kokkos::CudaUVMSpace>();
#endif
}

TEST(CudaMemoryOnHostTest, of_the_other_side_is_refused) {
  const Kokkos::View<float*, Kokkos::HostSpace> on_host("on_host", 4);
  const Kokkos::View<float*, Kokkos::CudaSpace> on_device("on_device", 4);
  EXPECT_ANY_THROW(lerp(Kokkos::Cuda(), on_host, on_host, 0.5, on_host));
  EXPECT_ANY_THROW(lerp(Kokkos::DefaultHostExecutionSpace(), on_device, on_device, 0.5, on_device));
}

/// A call returns before the device is done: the host enqueues many while the first still waits.
TEST(CudaStreamTest, is_not_waited_for) {
  const Stream stream;
  const Context ctx = Kokkos::Cuda(stream);
  Problem<Kokkos::CudaSpace> problem;
  problem.fill(9);
  problem.call(ctx);
  ctx.fence();
  std::atomic<bool> released = false;
  EXPECT_CUDA(cudaLaunchHostFunc(stream, wait_until_released, &released));
  for (int turn = 0; turn < 5; ++turn) problem.call(ctx);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady) << "nothing has run, and the calls have returned";
  released = true;
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  problem.expect_right(9);
}

}  // namespace
}  // namespace portops::test

#endif
