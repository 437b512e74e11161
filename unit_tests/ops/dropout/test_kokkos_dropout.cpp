// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/dropout.hpp>

// dropout on Views: how it runs, on several instances at a time, and in CUDA graphs.

namespace portops::test {
namespace {

/// Values, what dropout leaves of them, and the same of that: the second call must drop nothing more.
template <class Memory>
class DropoutProblem {
 public:
  void fill(int salt) {
    const auto x = Kokkos::create_mirror(Kokkos::HostSpace(), x_);
    for (std::size_t i = 0; i < x.extent(0); ++i) x(i) = pattern(static_cast<std::int64_t>(i), salt) + 0.03f;
    Kokkos::deep_copy(x_, x);
    for (const View& view : {out_, grad_}) Kokkos::deep_copy(view, -99.0f);
    Kokkos::fence();
  }

  void call(const Context& ctx) const {
    dropout(ctx, x_, out_, {.step = step_, .p = 0.5, .seed = 4});
    dropout_grad(ctx, out_, grad_, {.step = step_, .p = 0.5, .seed = 4});
  }

  void expect_right(int salt) const {
    const auto out = host(out_), grad = host(grad_);
    int dropped = 0;
    for (std::size_t i = 0; i < out.extent(0); ++i) {
      const float x = pattern(static_cast<std::int64_t>(i), salt) + 0.03f;
      dropped += out(i) == 0.0f ? 1 : 0;
      ASSERT_TRUE(out(i) == 0.0f || out(i) == 2.0f * x) << i;
      ASSERT_EQ(grad(i), 2.0f * out(i)) << i;
    }
    EXPECT_NEAR(dropped, 5000, 500);
  }

  std::vector<float> results() const {
    const auto out = host(out_);
    return {out.data(), out.data() + out.size()};
  }

 private:
  using View = Kokkos::View<float*, Memory>;

  template <class Any>
  static auto host(const Any& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  }

  View x_{"x", 10001}, out_{"out", 10001}, grad_{"grad", 10001};
  Kokkos::View<std::int64_t, Memory> step_{"step"};
};

template <class Space>
class DropoutInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(DropoutInstancesTest, Spaces);

TYPED_TEST(DropoutInstancesTest, do_not_disturb_each_other) {
  check_instances_do_not_disturb_each_other<TypeParam, DropoutProblem<typename TypeParam::memory_space>>();
}

TYPED_TEST(DropoutInstancesTest, give_the_same_bits_as_one) {
  check_instances_give_the_same_bits<TypeParam, DropoutProblem<typename TypeParam::memory_space>>();
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(CudaDropoutTest, is_captured) {
  const Stream stream;
  check_capture(stream, Kokkos::Cuda(stream), DropoutProblem<Kokkos::CudaSpace>());
}
#endif

TYPED_TEST(DropoutInstancesTest, run_under_labels_of_their_own_and_never_wait_or_allocate) {
  const TypeParam space = new_instance<TypeParam>();
  const Context ctx = space;
  DropoutProblem<typename TypeParam::memory_space> problem;
  problem.fill(3);
  problem.call(ctx);  // what Kokkos allocates for itself at the first kernels of an instance is not the call's
  ctx.fence();
  const auto events = events_of([&] { problem.call(ctx); });
  EXPECT_EQ(events.front().name, "portops::dropout");
  const auto kernels = of_kind(events, Kind::kernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(is_label(kernels[0].name, "dropout", true)) << kernels[0].name;
  EXPECT_TRUE(is_label(kernels[1].name, "dropout_grad", true)) << kernels[1].name;
  for (const Event& kernel : kernels) EXPECT_EQ(kernel.device, tools::device_id(space)) << kernel.name;
  for (const Kind kind : {Kind::allocation, Kind::fence, Kind::copy}) {
    for (const Event& event : of_kind(events, kind)) ADD_FAILURE() << event.name;
  }
}

}  // namespace
}  // namespace portops::test
