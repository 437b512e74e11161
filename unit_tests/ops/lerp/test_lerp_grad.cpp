// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lerp_reference.hpp"
#include "support/central_differences.hpp"

#include <portops/ops/lerp.hpp>

namespace portops::test {
namespace {

class LerpGradTest : public OnEveryBackend {
 protected:
  template <class T>
  void check(const Extents& x_shape, const Extents& y_shape, const Extents& weight_shape, const Extents& shape,
             Layout layout = Layout::contiguous, Layout gradient_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, x_shape, layout), y(ctx, y_shape), weight(ctx, weight_shape, layout),
        out_grad(ctx, shape, layout);
    TestTensor<T> x_grad(ctx, x_shape, gradient_layout), y_grad(ctx, y_shape, gradient_layout);
    TestTensor<T> weight_grad(ctx, weight_shape, gradient_layout);
    x.fill_randomly(1);
    y.fill_randomly(2);
    weight.fill_randomly(3, 0.0, 1.0);
    out_grad.fill_randomly(4);
    lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref(), weight_grad.ref());
    const LerpGradReference<T> expected(x, y, weight, out_grad);
    expect_near(x_grad, expected.x, "x_grad");
    expect_near(y_grad, expected.y, "y_grad");
    expect_near(weight_grad, expected.weight, "weight_grad");
  }
};

PORTOPS_ON_EVERY_BACKEND(LerpGradTest);

TEST_P(LerpGradTest, equals_the_reference_for_the_shapes_of_models) {
  for_each_type([&]<class T>() {
    check<T>({4, 16, 1, 64}, {4, 16, 1, 64}, {4, 16, 1, 64}, {4, 16, 1, 64});
    check<T>({3, 5, 197, 175}, {175}, {5, 1, 1}, {3, 5, 197, 175});
    check<T>({1024, 256}, {256}, {1024, 256}, {1024, 256});
    check<T>({1024, 256}, {1024, 1}, {}, {1024, 256});
    check<T>({8, 64, 16, 16}, {8, 64, 16, 16}, {64, 1, 1}, {8, 64, 16, 16});
    check<T>({20000, 3}, {3}, {20000, 1}, {20000, 3});
    check<T>({1}, {100001}, {100001}, {100001});
  });
}

TEST_P(LerpGradTest, sums_in_both_directions_at_once) {
  for_each_type([&]<class T>() {
    check<T>({130, 512}, {512}, {130, 1}, {130, 512});
    check<T>({130, 512}, {130, 1}, {512}, {130, 512});
    check<T>({130, 256}, {256}, {130, 1}, {130, 256});
    check<T>({130, 513}, {513}, {130, 1}, {130, 513});
    check<T>({3, 70, 512}, {3, 1, 512}, {70, 1}, {3, 70, 512});
  });
}

TEST_P(LerpGradTest, does_not_drift_over_constant_data) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const auto& [y_shape, weight_shape, shape] :
           {std::tuple{Extents{}, Extents{}, Extents{50001}}, std::tuple{Extents{7}, Extents{}, Extents{9000, 7}},
            std::tuple{Extents{64, 1}, Extents{1000}, Extents{64, 1000}}}) {
        TestTensor<T> x(ctx, shape), y(ctx, y_shape), weight(ctx, weight_shape), out_grad(ctx, shape);
        TestTensor<T> x_grad(ctx, shape), y_grad(ctx, y_shape), weight_grad(ctx, weight_shape);
        for (TestTensor<T>* const tensor : {&x, &y, &weight, &out_grad}) {
          tensor->fill([&](std::int64_t) { return tensor == &y ? 0.3 : 0.5 * constant; });
        }
        lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref(), weight_grad.ref());
        const LerpGradReference<T> expected(x, y, weight, out_grad);
        expect_near(x_grad, expected.x, "x_grad of " + shape.to_string());
        expect_near(y_grad, expected.y, "y_grad of " + shape.to_string());
        expect_near(weight_grad, expected.weight, "weight_grad of " + shape.to_string());
      }
    }
  });
}

TEST_P(LerpGradTest, reads_and_writes_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout gradient_layout : all_layouts) {
        check<T>({3, 40, 37}, {40, 1}, {3, 1, 37}, {3, 40, 37}, layout, gradient_layout);
      }
    }
  });
}

TEST_P(LerpGradTest, agrees_with_central_differences) {
  const Extents shape{3, 4, 5};
  TestTensor<double> x(ctx, {4, 1}), y(ctx, {3, 1, 5}), weight(ctx, {5}), out(ctx, shape), out_grad(ctx, shape);
  TestTensor<double> x_grad(ctx, {4, 1}), y_grad(ctx, {3, 1, 5}), weight_grad(ctx, {5});
  x.fill_randomly(1);
  y.fill_randomly(2);
  weight.fill_randomly(3);
  out_grad.fill_randomly(4);
  lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref(), weight_grad.ref());

  const auto objective = [&] {
    lerp(ctx, x.ref(), y.ref(), weight.ref(), out.ref());
    return weighted_sum(out, out_grad);
  };
  expect_slopes(x, x_grad, objective);
  expect_slopes(y, y_grad, objective);
  expect_slopes(weight, weight_grad, objective);
}

TEST_P(LerpGradTest, element_wise_gradients_are_exact) {
  for_each_type([&]<class T>() {
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    TestTensor<T> x(ctx, {999}), y(ctx, {999}), weight(ctx, {999}), out_grad(ctx, {999});
    TestTensor<T> x_grad(ctx, {999}), y_grad(ctx, {999}), weight_grad(ctx, {999});
    x.fill_randomly(1);
    y.fill_randomly(2);
    weight.fill_randomly(3);
    out_grad.fill_randomly(4);
    lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref(), weight_grad.ref());
    x_grad.download();
    y_grad.download();
    weight_grad.download();
    for (std::int64_t i = 0; i < 999; ++i) {
      const A w = static_cast<A>(weight.element(i));
      const A g = static_cast<A>(out_grad.element(i));
      ASSERT_EQ(x_grad[i], static_cast<double>(static_cast<T>(std::fma(-w, g, g))));
      ASSERT_EQ(y_grad[i], static_cast<double>(static_cast<T>(w * g)));
      ASSERT_EQ(weight_grad[i],
                static_cast<double>(static_cast<T>(g * (static_cast<A>(y.element(i)) - static_cast<A>(x.element(i))))));
    }
  });
}

TEST_P(LerpGradTest, computes_only_what_is_wanted) {
  TestTensor<float> x(ctx, {40, 50}), y(ctx, {50}), weight(ctx, {40, 1}), out_grad(ctx, {40, 50});
  x.fill_randomly(1);
  y.fill_randomly(2);
  weight.fill_randomly(3);
  out_grad.fill_randomly(4);
  const LerpGradReference<float> expected(x, y, weight, out_grad);
  for (int wanted = 0; wanted < 8; ++wanted) {
    TestTensor<float> x_grad(ctx, {40, 50}), y_grad(ctx, {50}), weight_grad(ctx, {40, 1});
    lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), (wanted & 1) != 0 ? x_grad.ref() : TensorRef(),
              (wanted & 2) != 0 ? y_grad.ref() : TensorRef(), (wanted & 4) != 0 ? weight_grad.ref() : TensorRef());
    if ((wanted & 1) != 0) expect_near(x_grad, expected.x, "x_grad");
    if ((wanted & 2) != 0) expect_near(y_grad, expected.y, "y_grad");
    if ((wanted & 4) != 0) expect_near(weight_grad, expected.weight, "weight_grad");
  }
}

TEST_P(LerpGradTest, needs_no_elements_of_x_and_y_for_their_gradients) {
  TestTensor<float> x(ctx, {40, 50}), y(ctx, {50}), out_grad(ctx, {40, 50}), x_grad(ctx, {40, 50}), y_grad(ctx, {50});
  TestTensor<float> weight(ctx, {});
  weight.fill([](std::int64_t) { return 0.25; });
  out_grad.fill_randomly(4);
  lerp_grad(ctx, TensorRef::without_data(ElementType::f32, {40, 50}), TensorRef::without_data(ElementType::f32, {50}),
            0.25, out_grad.ref(), x_grad.ref(), y_grad.ref());
  const LerpGradReference<float> expected(x, y, weight, out_grad);
  expect_near(x_grad, expected.x, "x_grad");
  expect_near(y_grad, expected.y, "y_grad");
}

TEST_P(LerpGradTest, fills_with_zeros_where_nothing_is_summed) {
  TestTensor<float> x(ctx, {3, 1}), y(ctx, {3, 0}), weight(ctx, {1}), out_grad(ctx, {3, 0});
  TestTensor<float> x_grad(ctx, {3, 1}, Layout::every_other), y_grad(ctx, {3, 0}), weight_grad(ctx, {1});
  lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref(), weight_grad.ref());
  x_grad.download();
  y_grad.download();
  weight_grad.download();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(x_grad[i], 0.0);
  EXPECT_EQ(weight_grad[0], 0.0);
}

TEST_P(LerpGradTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  const Extents shape{700, 333};
  TestTensor<float> x(ctx, shape), y(ctx, {333}), weight(ctx, {700, 1}), out_grad(ctx, shape);
  x.fill_randomly(1);
  y.fill_randomly(2);
  weight.fill_randomly(3);
  out_grad.fill_randomly(4);
  std::vector<float> first;
  for (int run = 0; run < 6; ++run) {
    TestTensor<float> y_grad(ctx, {333}), weight_grad(ctx, {700, 1});
    lerp_grad(Context(ctx).deterministic(run % 2 == 1), x.ref(), y.ref(), weight.ref(), out_grad.ref(), {},
              y_grad.ref(), weight_grad.ref());
    y_grad.download();
    weight_grad.download();
    std::vector<float> found;
    for (std::int64_t i = 0; i < 333; ++i) found.push_back(y_grad.element(i));
    for (std::int64_t i = 0; i < 700; ++i) found.push_back(weight_grad.element(i));
    if (run == 0) first = found;
    ASSERT_EQ(std::memcmp(found.data(), first.data(), found.size() * sizeof(float)), 0) << "run " << run;
  }
}

TEST_P(LerpGradTest, does_not_stagnate_over_long_sums) {
  // A chain of float additions would stop at 2^24.
  const std::int64_t size = (std::int64_t{1} << 25) + 12345;
  TestTensor<float> out_grad(ctx, {size}), y_grad(ctx, {});
  out_grad.fill([](std::int64_t) { return 1.0; });
  lerp_grad(ctx, TensorRef::without_data(ElementType::f32, {size}), TensorRef::without_data(ElementType::f32, {}), 1.0,
            out_grad.ref(), {}, y_grad.ref());
  y_grad.download();
  EXPECT_EQ(y_grad[0], static_cast<double>(static_cast<float>(size)));
}

}  // namespace
}  // namespace portops::test
