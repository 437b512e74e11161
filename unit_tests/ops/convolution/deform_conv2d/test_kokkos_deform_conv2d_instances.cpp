// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_deform_conv2d_support.hpp"
#include "support/kokkos_cuda_support.hpp"
#include "support/products.hpp"

#include <cstring>
#include <list>
#include <thread>

// deform_conv2d and deform_conv2d_grad on several instances at a time, and in CUDA graphs.

namespace portops::test {
namespace {

template <class Space>
class DeformConv2dInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(DeformConv2dInstancesTest, Spaces);

TYPED_TEST(DeformConv2dInstancesTest, do_not_disturb_each_other) {
  ConvolutionOfViews<TypeParam> a, b;
  a.fill(10);
  b.fill(20);
  const auto call_a = [&](const Context& ctx) { a.call(ctx); };
  const auto call_b = [&](const Context& ctx) { b.call(ctx); };
  if (!call_in_turns<TypeParam>(10, call_a, call_b)) GTEST_SKIP() << "one thread cannot be shared out";
  a.expect_right();
  b.expect_right();
}

/// The calls by products of Kokkos Kernels.
template <class Space>
struct ConvolutionByKokkosKernels : ConvolutionOfViews<Space> {
  using Base = ConvolutionOfViews<Space>;

  void call(const Context& ctx) const { Base::call(with_kokkos_kernels(ctx)); }
  std::size_t workspace(const Context& ctx) const { return Base::workspace(with_kokkos_kernels(ctx)); }
};

TYPED_TEST(DeformConv2dInstancesTest, do_not_disturb_each_other_by_products_of_kokkos_kernels) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
  check_instances_do_not_disturb_each_other<TypeParam, ConvolutionByKokkosKernels<TypeParam>>();
}

/// Kokkos Kernels has one handle of cuBLAS for all of them.
TYPED_TEST(DeformConv2dInstancesTest, of_several_host_threads_multiply_by_kokkos_kernels) {
  if (!has_kokkos_kernels) GTEST_SKIP() << "a build without Kokkos Kernels";
#if !defined(KOKKOS_ENABLE_OPENMP) && !defined(KOKKOS_ENABLE_CUDA)
  GTEST_SKIP() << "Kokkos may be built without locks where Serial is its only backend";
#endif
  struct Worker {
    TypeParam space = own_instance<TypeParam>();
    ConvolutionByKokkosKernels<TypeParam> convolution;
    std::string error;
  };
  std::list<Worker> workers(4);
  int salt = 0;
  for (Worker& worker : workers) worker.convolution.fill(salt += 10);
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&worker] {
      try {
        for (int turn = 0; turn < 10; ++turn) worker.convolution.call(worker.space);
      } catch (const std::exception& error) {
        worker.error = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Worker& worker : workers) {
    worker.space.fence();
    EXPECT_EQ(worker.error, "");
    worker.convolution.expect_right();
  }
}

/// Instances of other numbers of threads, where there are threads.
TYPED_TEST(DeformConv2dInstancesTest, give_the_same_bits_as_one_with_deterministic_contexts) {
  const TypeParam whole;
  std::vector<TypeParam> spaces{whole, new_instance<TypeParam>()};
  if (whole.concurrency() > 1) {
    const auto parts = Kokkos::Experimental::partition_space(whole, 1, 1);
    spaces.insert(spaces.end(), parts.begin(), parts.end());
  }
  ConvolutionOfViews<TypeParam> convolution;
  std::vector<float> expected;
  for (const TypeParam& space : spaces) {
    convolution.forget_results();
    const Context ctx = Context(space).deterministic(true);
    convolution.call(ctx);
    ctx.fence();
    convolution.expect_right();
    const std::vector<float> found = convolution.results();
    if (expected.empty()) expected = found;
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
        << "with a concurrency of " << space.concurrency();
  }
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(CudaDeformConv2dTest, is_captured_with_temporaries_from_the_pool) {
  check_capture_with_pool<ConvolutionOfViews<Kokkos::Cuda>>();
  if (has_kokkos_kernels) check_capture_with_pool<ConvolutionByKokkosKernels<Kokkos::Cuda>>();
}

TEST(CudaDeformConv2dTest, is_captured_with_a_lent_workspace) {
  check_capture_with_lent_workspace<ConvolutionOfViews<Kokkos::Cuda>>();
  if (has_kokkos_kernels) check_capture_with_lent_workspace<ConvolutionByKokkosKernels<Kokkos::Cuda>>();
}
#endif

}  // namespace
}  // namespace portops::test
