// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pool2d_reference.hpp"

// pool2d of constants, of Inf and NaN, and of more pixels than ints count.

namespace portops::test {
namespace {

class Pool2dEdgesTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(Pool2dEdgesTest);

TEST_P(Pool2dEdgesTest, averages_do_not_drift) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const std::int64_t kernel : {2, 13, 64, 0}) {  // 0: whole images
        TestTensor<T> one(ctx, {1});
        one.fill([&](std::int64_t) { return constant; });
        const Extents extents{1, 1, 200, 200};
        const TensorRef x(static_cast<T*>(one.ref().data()), extents, {0, 0, 0, 0}, one.ref().space());
        Pool2dParams params = global("avg");
        params.global_pooling = kernel == 0;
        params.kernel_size = {std::max<std::int64_t>(kernel, 1)};
        TestTensor<T> out(ctx, Geometry(extents, params).out);
        pool2d(ctx, x, out, {}, params);
        ReferenceSums expected(out.extents());
        for (std::int64_t i = 0; i < out.size(); ++i) expected.add(i, one[0], std::abs(one[0]));
        expect_near(out, expected, "out");

        params.stride = {1};  // an element has kernel² windows
        params.global_pooling = false;
        const Extents windows = Geometry(extents, params).out;
        const TensorRef out_grad(static_cast<T*>(one.ref().data()), windows, {0, 0, 0, 0}, one.ref().space());
        TestTensor<T> x_grad(ctx, extents);
        pool2d_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, extents), out_grad, x_grad, params);
        x_grad.download();
        const double tolerance = (std::is_same_v<T, double> ? 1e-12 : 2e-6) + 1.01 * rounding<T>();
        EXPECT_NEAR(x_grad[100 * 200 + 100], one[0], tolerance * std::abs(one[0])) << kernel;
      }
    }
  });
}

TEST_P(Pool2dEdgesTest, finds_the_first_maximum_and_carries_nan_and_inf) {
  const double elements[] = {5, 5, nan, 1,   -inf, inf, -inf, -inf,  //
                             5, 5, 2,   nan, 7,    inf, -inf, -inf};
  TestTensor<float> x(ctx, {1, 1, 2, 8}), out(ctx, {1, 1, 1, 4});
  TestTensor<std::int64_t> index(ctx, {1, 1, 1, 4});
  x.fill([&](std::int64_t i) { return elements[i]; });
  Pool2dParams params;
  params.kernel_size = {2};
  for (const bool with_index : {true, false}) {
    out.fill([](std::int64_t) { return 3.0; });
    pool2d(ctx, x, out, with_index ? index.ref() : TensorRef(), params);
    out.download();
    EXPECT_EQ(out[0], 5.0);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_EQ(out[2], inf);
    EXPECT_EQ(out[3], -inf);
  }
  index.download();
  EXPECT_EQ(index.element(0), 0);
  EXPECT_EQ(index.element(1), 8 + 3) << "the last NaN";
  EXPECT_EQ(index.element(2), 5);
  EXPECT_EQ(index.element(3), 6);
  params.pooltype = "avg";
  pool2d(ctx, x, out, {}, params);
  out.download();
  EXPECT_EQ(out[0], 5.0);
  for (std::int64_t i : {1, 2}) EXPECT_TRUE(std::isnan(out[i])) << i;
  EXPECT_EQ(out[3], -inf);
}

TEST_P(Pool2dEdgesTest, finds_nan_and_minus_infinity_in_every_kind_of_window) {
  for_each_type([&]<class T>() {
    const Extents extents{2, 16, 7, 32};
    std::vector<Pool2dParams> all = all_params();
    all.push_back(global("max"));
    for (const Pool2dParams& params : all) {
      if (params.pooltype != "max") continue;
      for (const bool channels_last : {false, true}) {
        const Geometry geometry(extents, params);
        Images<T> x(ctx, extents, Layout::contiguous, channels_last);
        Images<T> out(ctx, geometry.out, Layout::contiguous, channels_last);
        Images<std::int64_t> index(ctx, geometry.out, Layout::contiguous, channels_last);
        x.fill([](std::int64_t i) { return i % 41 == 0 ? nan : i % 7 == 0 && i % 3 == 0 ? inf : -inf; });
        pool2d(ctx, x.ref(), out.ref(), index.ref(), params);
        out.tensor.download();
        index.tensor.download();
        std::int64_t k = 0;
        for (std::int64_t plane = 0; plane < extents[0] * extents[1]; ++plane) {
          for (const auto& down : geometry.down.all) {
            for (const auto& across : geometry.across.all) {
              std::int64_t found = down.begin * extents[3] + across.begin;
              double largest = -inf;
              for (std::int64_t h = down.begin; h < down.end; ++h) {
                for (std::int64_t w = across.begin; w < across.end; ++w) {
                  const double value = x[plane * extents[2] * extents[3] + h * extents[3] + w];
                  if (value > largest || std::isnan(value)) largest = value, found = h * extents[3] + w;
                }
              }
              ASSERT_EQ(index.element(k), found) << k << " kernel " << params.kernel_size.front() << channels_last;
              const double value = static_cast<double>(out.element(k));
              ASSERT_TRUE(std::isnan(largest) ? std::isnan(value) : value == largest) << k;
              ++k;
            }
          }
        }
      }
    }
  });
}

TEST_P(Pool2dEdgesTest, counts_more_pixels_than_ints_do) {
  TestTensor<float> one(ctx, {1});
  one.fill([](std::int64_t) { return 2.0; });
  constexpr std::int64_t side = std::int64_t{1} << 16;
  Pool2dParams params;
  params.kernel_size = {3};
  params.stride = {side / 4};
  params.padding = {1};
  for (const Extents& extents : {Extents{1, 1, side, side}, Extents{3, 1, side / 2, side / 2}}) {
    const Extents windows = Geometry(extents, params).out;
    const TensorRef x(static_cast<float*>(one.ref().data()), extents, {0, 0, 0, 0}, one.ref().space());
    TestTensor<float> out(ctx, windows);
    TestTensor<std::int64_t> index(ctx, windows);
    out.fill([](std::int64_t) { return nan; });
    pool2d(ctx, x, out, index, params);
    out.download();
    index.download();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const std::int64_t row = i / windows[3] % windows[2], column = i % windows[3];
      const auto first = [&](std::int64_t window) { return std::max<std::int64_t>(window * side / 4 - 1, 0); };
      EXPECT_EQ(out[i], 2.0) << i;
      EXPECT_EQ(index.element(i), first(row) * extents[3] + first(column)) << i;
    }
  }
}

}  // namespace
}  // namespace portops::test
