// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/full_like.hpp>

#include <limits>

namespace portops::test {
namespace {

template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

class FullLikeTest : public OnEveryBackend {
 protected:
  template <class T>
  void expect_filled(const Extents& extents, double number, Layout layout = Layout::contiguous) {
    TestTensor<T> x(ctx, extents, Layout::reversed), by_number(ctx, extents, layout), by_tensor(ctx, extents, layout);
    TestTensor<SumOf<T>> fill_value(ctx, {});
    fill_value.fill([&](std::int64_t) { return number; });
    full_like(ctx, x, number, by_number);
    full_like(ctx, x, fill_value, by_tensor);
    by_number.download();
    by_tensor.download();
    const T expected = static_cast<T>(static_cast<SumOf<T>>(number));
    for (std::int64_t i = 0; i < by_number.size(); ++i) {
      ASSERT_TRUE(same_bits(by_number.element(i), expected)) << extents.to_string() << ", " << i;
      ASSERT_TRUE(same_bits(by_tensor.element(i), expected)) << extents.to_string() << ", " << i;
    }
  }
};
PORTOPS_ON_EVERY_BACKEND(FullLikeTest);

TEST_P(FullLikeTest, fills_every_size_around_packs_and_runs) {
  for_each_type([&]<class T>() {
    for (const std::int64_t size : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 2047, 2049, 4100, 70001}) {
      expect_filled<T>({size}, 0.1);
    }
  });
}

TEST_P(FullLikeTest, fills_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Extents& extents : {Extents{}, Extents{5, 7, 33}, Extents{2, 1, 3, 1, 2, 3, 1, 5}, Extents{3, 0, 2}}) {
        expect_filled<T>(extents, -3.3, layout);
      }
    }
  });
}

TEST_P(FullLikeTest, rounds_the_number_to_the_element_type) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for_each_type([&]<class T>() {
    for (const double number : {0.0, -0.0, inf, -inf, nan, 65519.0, 65520.0, 0x1p-24, 0x1p-149, 3e38, 1.0 / 3}) {
      expect_filled<T>({37}, number);
    }
  });
}

TEST_P(FullLikeTest, fills_in_place_and_reads_no_element) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {3, 11});
    x.fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
    full_like(ctx, x, 2.0, x);
    x.download();
    for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], 2.0);
    // There may be none.
    TestTensor<T> out(ctx, {4});
    full_like(ctx, TensorRef::without_data(ElementTypeOf<T>::value, {4}), 3.0, out);
    out.download();
    EXPECT_EQ(out[3], 3.0);
  });
}

// What it is for: the scale of a loss in f32 is its gradient in f16.
TEST_P(FullLikeTest, reads_a_tensor_when_its_turn_comes) {
  need_type<float>();
  need_type<f16>();
  TestTensor<f16> loss(ctx, {}), grad(ctx, {});
  TestTensor<float> scale(ctx, {});
  full_like(ctx, scale, 1024.0, scale);
  full_like(ctx, loss, scale, grad);
  full_like(ctx, scale, 512.0, scale);
  grad.download();
  EXPECT_EQ(grad[0], 1024.0);
}

TEST_P(FullLikeTest, is_called_by_name) {
  need_type<float>();
  TestTensor<float> x(ctx, {2, 3}), out(ctx, {2, 3});
  Arguments arguments;
  arguments.set("x", x.ref()).set("fill_value", 2.5);
  EXPECT_EQ(infer("full_like", arguments).at("out").extents, (Extents{2, 3}));
  run("full_like", ctx, arguments.set("out", out.ref()));
  out.download();
  EXPECT_EQ(out[5], 2.5);
}

TEST_P(FullLikeTest, refuses_what_does_not_fit) {
  need_type<float>();
  need_type<f16>();
  TestTensor<f16> x(ctx, {3}), out(ctx, {3}), short_out(ctx, {2});
  TestTensor<float> one(ctx, {}), more(ctx, {1}), wide(ctx, {3});
  expect_error([&] { full_like(ctx, x, 1.0, short_out); },
               "portops::full_like: out has extents [2], expected [3] (the extents of x)");
  expect_error([&] { full_like(ctx, x, 1.0, wide); },
               "portops::full_like: out has element type f32, expected f16 (the element type of x)");
  expect_error([&] { full_like(ctx, x, more, out); },
               "portops::full_like: fill_value has extents [1], expected [] (those of a scalar)");
  expect_error([&] { full_like(ctx, x, TestTensor<f16>(ctx, {}), out); },
               "portops::full_like: fill_value has element type f16, expected f32");
  expect_error([&] { full_like(ctx, one, one, one); },
               "portops::full_like: out overlaps fill_value in memory, expected disjoint tensors");
  expect_error([&] { full_like(ctx, TensorRef(), 1.0, out); }, "portops::full_like: x is empty, expected a tensor");
}

}  // namespace
}  // namespace portops::test
