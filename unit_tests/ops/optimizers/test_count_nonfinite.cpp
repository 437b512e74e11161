// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/ops/count_nonfinite.hpp>
#include <portops/ops/sgd.hpp>

#include <limits>

namespace portops::test {
namespace {

class CountNonfiniteTest : public OnEveryBackend {
 protected:
  template <class T>
  std::int64_t counted(const std::vector<TestTensor<T>>& tensors) {
    TestTensor<std::int64_t> count(ctx, {});
    count_nonfinite(ctx, std::vector<TensorRef>(tensors.begin(), tensors.end()), count);
    count.download();
    return count.element(0);
  }

  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
};
PORTOPS_ON_EVERY_BACKEND(CountNonfiniteTest);

TEST_P(CountNonfiniteTest, counts_every_inf_and_nan) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      std::vector<TestTensor<T>> tensors;
      std::int64_t expected = 0, salt = 0;
      for (const Extents& extents :
           {Extents{8192}, Extents{3, 5}, Extents{0, 2}, Extents{}, Extents{20001}, Extents{97, 31}}) {
        tensors.emplace_back(ctx, extents, layout).fill([&](std::int64_t i) {
          // Among ordinary numbers the largest ones, and the smallest.
          const std::int64_t kind = (i * 31 + ++salt) % 97;
          expected += kind < 3 ? 1 : 0;
          if (kind == 3) return static_cast<double>(std::numeric_limits<float>::min());
          if (kind == 4) return 65504.0;
          return kind == 0 ? inf : kind == 1 ? -inf : kind == 2 ? nan : static_cast<double>(kind);
        });
      }
      EXPECT_EQ(counted(tensors), expected) << name_of(ElementTypeOf<T>::value);
    }
  });
}

TEST_P(CountNonfiniteTest, of_finite_numbers_is_0) {
  for_each_type([&]<class T>() {
    std::vector<TestTensor<T>> tensors;
    for (std::int64_t i = 0; i < 700; ++i)
      tensors.emplace_back(ctx, Extents{i % 40}).fill_randomly(static_cast<unsigned>(i));
    EXPECT_EQ(counted(tensors), 0);
  });
}

TEST_P(CountNonfiniteTest, of_nothing_is_0) {
  std::vector<TestTensor<float>> tensors;
  tensors.emplace_back(ctx, Extents{0, 3});
  EXPECT_EQ(counted(tensors), 0);
}

// What it is for: a gradient that overflowed stops the step, without the host knowing.
TEST_P(CountNonfiniteTest, skips_a_step) {
  for (const bool overflows : {false, true}) {
    TestTensor<float> param(ctx, {1000}), grad(ctx, {1000});
    TestTensor<std::int64_t> count(ctx, {});
    param.fill([](std::int64_t) { return 1.0; });
    grad.fill([&](std::int64_t i) { return overflows && i == 700 ? inf : 1.0; });
    const std::vector<TensorRef> p{param}, g{grad};
    count_nonfinite(ctx, g, count);
    sgd(ctx, p, g, 0.25, p, {}, {.skip = count});
    param.download();
    for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(param[i], overflows ? 1.0 : 0.75);
  }
}

TEST_P(CountNonfiniteTest, refuses_what_does_not_fit) {
  TestTensor<float> x(ctx, {4});
  TestTensor<std::int64_t> counts(ctx, {1}), count(ctx, {});
  const std::vector<TensorRef> list{x};
  expect_error([&] { count_nonfinite(ctx, {}, count); },
               "portops::count_nonfinite: x is an empty list, expected one tensor or more");
  expect_error([&] { count_nonfinite(ctx, list, counts); },
               "portops::count_nonfinite: count has extents [1], expected [] (those of a scalar)");
  expect_error([&] { count_nonfinite(ctx, list, x); },
               "portops::count_nonfinite: count has element type f32, expected i64");
}

}  // namespace
}  // namespace portops::test
