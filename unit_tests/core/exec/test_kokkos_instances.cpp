// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_families.hpp"
#include "support/kokkos_support.hpp"

#include <portops/ops/lerp.hpp>

// Calls on several instances at a time, and on instances of any number of threads.

namespace portops::test {
namespace {

/// lerp and lerp_grad over a matrix, with all operands broadcast in some way, and what they must give.
template <class Space>
class Work {
 public:
  explicit Work(int salt) : salt_(salt) {
    fill(x_, 1);
    fill(row_, 2);
    fill(weight_, 3);
    fill(out_grad_, 4);
  }

  void call(const Context& ctx) {
    lerp(ctx, x_, row_, weight_, out_);
    lerp_grad(ctx, x_, row_, weight_, out_grad_, x_grad_, row_grad_, weight_grad_);
  }

  void expect_right() const {
    const auto out = host(out_), row_grad = host(row_grad_), weight_grad = host(weight_grad_);
    std::vector<double> weight_sum(rows), row_sum(columns);
    for (int i = 0; i < rows; ++i) {
      const float weight = pattern(i, salt_ + 3);
      for (int j = 0; j < columns; ++j) {
        const float x = pattern(i * columns + j, salt_ + 1);
        const float y = pattern(j, salt_ + 2);
        const double gradient = pattern(i * columns + j, salt_ + 4);
        ASSERT_EQ(out(i, j), std::fma(weight, y - x, x)) << i << ", " << j;
        row_sum[static_cast<std::size_t>(j)] += static_cast<double>(weight) * gradient;
        weight_sum[static_cast<std::size_t>(i)] += gradient * (static_cast<double>(y) - x);
      }
    }
    for (int i = 0; i < rows; ++i) ASSERT_NEAR(weight_grad(i, 0), weight_sum[static_cast<std::size_t>(i)], 0.05) << i;
    for (int j = 0; j < columns; ++j) ASSERT_NEAR(row_grad(0, j), row_sum[static_cast<std::size_t>(j)], 0.05) << j;
  }

 private:
  using View = Kokkos::View<float**, Kokkos::LayoutRight, typename Space::memory_space>;
  static constexpr int rows = 257;
  static constexpr int columns = 701;

  static auto host(const View& view) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view); }

  void fill(const View& view, int salt) {
    const auto values = Kokkos::create_mirror_view(view);
    for (std::size_t i = 0; i < view.extent(0); ++i) {
      for (std::size_t j = 0; j < view.extent(1); ++j) {
        values(i, j) = pattern(static_cast<std::int64_t>(i * view.extent(1) + j), salt_ + salt);
      }
    }
    Kokkos::deep_copy(view, values);
  }

  int salt_;
  View x_{"x", rows, columns}, out_{"out", rows, columns}, out_grad_{"g", rows, columns}, x_grad_{"xg", rows, columns};
  View row_{"row", 1, columns}, row_grad_{"rg", 1, columns}, weight_{"weight", rows, 1}, weight_grad_{"wg", rows, 1};
};

template <class Space>
class ConcurrentInstancesTest : public testing::Test {};
TYPED_TEST_SUITE(ConcurrentInstancesTest, Spaces);

TYPED_TEST(ConcurrentInstancesTest, do_not_disturb_each_other) {
  Work<TypeParam> a(10), b(20);
  Kokkos::fence();
  const auto call_a = [&](const Context& ctx) { a.call(ctx); };
  const auto call_b = [&](const Context& ctx) { b.call(ctx); };
  if (!call_in_turns<TypeParam>(20, call_a, call_b)) GTEST_SKIP() << "one thread cannot be shared out";
  a.expect_right();
  b.expect_right();
}

TYPED_TEST(ConcurrentInstancesTest, give_the_same_bits_as_one) {
  Work<TypeParam> a(10);
  const Context whole = TypeParam(), part = new_instance<TypeParam>();
  a.call(whole);
  whole.fence();
  a.expect_right();
  a.call(part);
  part.fence();
  a.expect_right();
}

#if defined(KOKKOS_ENABLE_OPENMP)
TEST(NumberOfThreadsTest, changes_no_bit_of_any_operator_in_deterministic_mode) {
  const auto results_on = [](const Kokkos::OpenMP& space) {
    const Context ctx = Context(space).deterministic(true);
    const AllFamilies families(ctx, 3);
    families.call(ctx, AllFamilies::make_levels());
    return families.results(ctx);
  };
  const std::vector<std::byte> expected = results_on(Kokkos::OpenMP());
  for (const int threads : {1, 2, 3, 5}) {
    EXPECT_TRUE(results_on(Kokkos::OpenMP(threads)) == expected) << threads << " threads";
  }
}
#endif

}  // namespace
}  // namespace portops::test
