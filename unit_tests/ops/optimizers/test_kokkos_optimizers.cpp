// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/kokkos_cuda_support.hpp"
#include "support/kokkos_events.hpp"

#include <portops/ops/adam.hpp>
#include <portops/ops/count_nonfinite.hpp>

#include <cmath>

// Steps on lists of Views: how they run, on several instances at a time, and in CUDA graphs.

namespace portops::test {
namespace {

/// A step of adam on three parameters, and what it must give.
template <class Memory>
class AdamProblem {
 public:
  void fill(int salt) {
    for (std::size_t k = 0; k < sizes; ++k) {
      const auto grad = Kokkos::create_mirror(Kokkos::HostSpace(), grad_[k]);
      for (std::size_t i = 0; i < grad.extent(0); ++i) grad(i) = pattern(static_cast<std::int64_t>(i), salt) + 0.03f;
      Kokkos::deep_copy(grad_[k], grad);
      Kokkos::deep_copy(out_[k], -99.0f);
    }
    Kokkos::deep_copy(nonfinite_, -99);
    Kokkos::fence();
  }

  void call(const Context& ctx) const {
    const auto grads = refs(grad_);
    count_nonfinite(ctx, grads, nonfinite_);
    adam(ctx, refs(param_), grads, refs(zero_), refs(zero_), rate_, power1_, power2_, refs(out_), refs(moment1_),
         refs(moment2_), next1_, next2_, {}, {.skip = nonfinite_});
  }

  void expect_right(int salt) const {
    for (std::size_t k = 0; k < sizes; ++k) {
      const auto out = host(out_[k]);
      for (std::size_t i = 0; i < out.extent(0); ++i) {
        const double g = pattern(static_cast<std::int64_t>(i), salt) + 0.03f;
        // In a first step the moments are the gradient and its square.
        ASSERT_NEAR(out(i), 1.0 - 0.1 * g / (std::abs(g) + 1e-8), 1e-5) << k << ", " << i;
      }
    }
    EXPECT_EQ(host(next1_)(), 0.9 * 0.9);
    EXPECT_EQ(host(next2_)(), 0.999 * 0.999);
    EXPECT_EQ(host(nonfinite_)(), 0);
  }

  std::vector<float> results() const {
    std::vector<float> values;
    for (const auto* list : {&out_, &moment1_, &moment2_}) {
      for (const View& view : *list) {
        const auto elements = host(view);
        values.insert(values.end(), elements.data(), elements.data() + elements.size());
      }
    }
    return values;
  }

 private:
  using View = Kokkos::View<float*, Memory>;
  static constexpr std::size_t sizes = 3;
  using List = std::vector<View>;

  static List made(float value) {
    List list;
    for (const std::size_t size : {std::size_t{5000}, std::size_t{3}, std::size_t{2048}}) {
      list.emplace_back("list", size);
      Kokkos::deep_copy(list.back(), value);
    }
    return list;
  }
  template <class Number>
  static Kokkos::View<Number, Memory> number(Number value) {
    const Kokkos::View<Number, Memory> view("number");
    Kokkos::deep_copy(view, value);
    return view;
  }
  static std::vector<TensorRef> refs(const List& list) { return {list.begin(), list.end()}; }
  template <class Any>
  static auto host(const Any& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  }

  List param_ = made(1.0f), grad_ = made(0.0f), zero_ = made(0.0f), out_ = made(0.0f);
  List moment1_ = made(0.0f), moment2_ = made(0.0f);
  Kokkos::View<float, Memory> rate_ = number(0.1f);
  Kokkos::View<double, Memory> power1_ = number(0.9), power2_ = number(0.999);
  Kokkos::View<double, Memory> next1_ = number(0.0), next2_ = number(0.0);
  Kokkos::View<std::int64_t, Memory> nonfinite_ = number(std::int64_t{0});
};

template <class Space>
class OptimizersInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(OptimizersInstancesTest, Spaces);

TYPED_TEST(OptimizersInstancesTest, do_not_disturb_each_other) {
  check_instances_do_not_disturb_each_other<TypeParam, AdamProblem<typename TypeParam::memory_space>>();
}

TYPED_TEST(OptimizersInstancesTest, give_the_same_bits_as_one) {
  check_instances_give_the_same_bits<TypeParam, AdamProblem<typename TypeParam::memory_space>>();
}

#if defined(KOKKOS_ENABLE_CUDA)
TEST(CudaOptimizersTest, are_captured) {
  const Stream stream;
  check_capture(stream, Kokkos::Cuda(stream), AdamProblem<Kokkos::CudaSpace>());
}
#endif

TYPED_TEST(OptimizersInstancesTest, run_under_labels_of_their_own_and_never_wait_or_allocate) {
  const TypeParam space = new_instance<TypeParam>();
  const Context ctx = space;
  AdamProblem<typename TypeParam::memory_space> problem;
  problem.fill(3);
  problem.call(ctx);  // what Kokkos allocates for itself at the first kernels of an instance is not the call's
  ctx.fence();
  const auto events = events_of([&] { problem.call(ctx); });
  EXPECT_EQ(events.front().name, "portops::count_nonfinite");
  EXPECT_EQ(of_kind(events, Kind::push).size(), 2u);
  const auto kernels = of_kind(events, Kind::kernel);
  EXPECT_EQ(kernels.size(), 4u) << "zero, count, step, powers";
  for (const Event& kernel : kernels) {
    EXPECT_EQ(kernel.device, tools::device_id(space)) << kernel.name;
    EXPECT_TRUE(is_label(kernel.name, "adam", true) || is_label(kernel.name, "count_nonfinite", true) ||
                kernel.name == "portops::adam::powers" || kernel.name == "portops::count_nonfinite::zero")
        << kernel.name;
  }
  for (const Kind kind : {Kind::allocation, Kind::fence, Kind::copy}) {
    for (const Event& event : of_kind(events, kind)) ADD_FAILURE() << event.name;
  }
}

}  // namespace
}  // namespace portops::test
