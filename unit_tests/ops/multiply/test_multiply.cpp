// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/core/registry.hpp>
#include <portops/ops/multiply.hpp>

#include "support/broadcast_patterns.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/reference_sums.hpp"

#include <limits>

namespace portops::test {
namespace {

template <class T>
T product(T x, double y) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  return static_cast<T>(static_cast<A>(x) * static_cast<A>(y));
}

/// Σ out_grad · other over the axes along which the gradient's operand was broadcast.
template <class T>
ReferenceSums sums_of(const TestTensor<T>& gradient, const TestTensor<T>& other, const TestTensor<T>& out_grad) {
  ReferenceSums sums(gradient.extents());
  const Extents& shape = out_grad.extents();
  for (std::int64_t i = 0; i < shape.product(); ++i) {
    const double term = out_grad[i] * other[other.broadcast_index(shape, i)];
    sums.add(gradient.broadcast_index(shape, i), term, std::abs(term));
  }
  return sums;
}

class MultiplyTest : public OnEveryBackend {
 protected:
  /// The products to the bit, then each gradient alone and both together.
  template <class T>
  void check(const Extents& x_shape, const Extents& y_shape, const Extents& shape, Layout layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous) {
    SCOPED_TRACE("x " + x_shape.to_string() + ", y " + y_shape.to_string());
    TestTensor<T> x(ctx, x_shape, layout), y(ctx, y_shape, layout), out(ctx, shape, out_layout),
        out_grad(ctx, shape, layout);
    x.fill_randomly(1);
    y.fill_randomly(2);
    out_grad.fill_randomly(3);
    multiply(ctx, x, y, out);
    out.download();
    for (std::int64_t i = 0; i < shape.product(); ++i) {
      ASSERT_TRUE(
          same_bits(out.element(i), product(x.element(x.broadcast_index(shape, i)), y[y.broadcast_index(shape, i)])));
    }
    for (int wanted = 1; wanted < 4; ++wanted) {
      TestTensor<T> x_grad(ctx, x_shape, out_layout), y_grad(ctx, y_shape, out_layout);
      const bool with_x = (wanted & 1) != 0, with_y = (wanted & 2) != 0;
      const TensorRef read = with_y ? x.ref() : TensorRef::without_data(ElementTypeOf<T>::value, x_shape);
      multiply_grad(ctx, read, y, out_grad, with_x ? x_grad.ref() : TensorRef(), with_y ? y_grad.ref() : TensorRef());
      if (with_x) expect_near(x_grad, sums_of(x_grad, y, out_grad), "x_grad");
      if (with_y) expect_near(y_grad, sums_of(y_grad, x, out_grad), "y_grad");
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(MultiplyTest);

TEST_P(MultiplyTest, equals_the_reference_for_the_shapes_of_models) {
  for_each_type([&]<class T>() {
    check<T>({}, {}, {});
    check<T>({4100}, {4100}, {4100});
    check<T>({4, 64, 32, 32}, {64, 1, 1}, {4, 64, 32, 32});
    check<T>({512, 1024}, {1024}, {512, 1024});
    check<T>({256}, {1024, 256}, {1024, 256});
    check<T>({1024, 256}, {1024, 1}, {1024, 256});
    check<T>({3, 5, 197, 175}, {175}, {3, 5, 197, 175});
    check<T>({300, 1}, {1, 700}, {300, 700});
    check<T>({100001}, {}, {100001});
  });
}

TEST_P(MultiplyTest, equals_the_reference_for_every_pattern_and_layout) {
  for_each_type([&]<class T>() {
    const Extents shape{4, 9, 31};
    for (unsigned x = 0; x < 8; ++x) {
      for (unsigned y = 0; y < 8; ++y) check<T>(masked(shape, x, true), masked(shape, y, false), united(shape, x | y));
    }
    for (const Layout layout : all_layouts) {
      for (const Layout out : all_layouts) check<T>({3, 40, 37}, {40, 1}, {3, 40, 37}, layout, out);
    }
  });
}

TEST_P(MultiplyTest, does_not_drift_over_constants) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const auto& [y_shape, shape] :
           {std::pair{Extents{}, Extents{50001}}, std::pair{Extents{7}, Extents{9000, 7}}}) {
        TestTensor<T> x(ctx, shape), y(ctx, y_shape), out_grad(ctx, shape), y_grad(ctx, y_shape);
        for (TestTensor<T>* tensor : {&x, &out_grad}) tensor->fill([&](std::int64_t) { return constant; });
        multiply_grad(ctx, x, y, out_grad, {}, y_grad);
        expect_near(y_grad, sums_of(y_grad, x, out_grad), "y_grad of " + shape.to_string());
      }
    }
  });
}

TEST_P(MultiplyTest, works_in_place_and_with_a_number) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      TestTensor<T> x(ctx, {30, 70}, layout), y(ctx, {70}), out(ctx, {30, 70}), grad(ctx, {30, 70}, layout),
          y_grad(ctx, {70});
      x.fill_randomly(1);
      y.fill_randomly(2);
      grad.fill_randomly(3);
      const ReferenceSums y_sums = sums_of(y_grad, x, grad), x_sums = sums_of(x, y, grad);
      multiply_grad(ctx, x, y, grad, grad, y_grad);
      expect_near(grad, x_sums, "x_grad");
      expect_near(y_grad, y_sums, "y_grad");
      multiply(ctx, x, 0.3, out);
      multiply(ctx, x, 0.3, x);
      const std::vector<T> expected = [&] {
        std::vector<T> values;
        for (std::int64_t i = 0; i < 2100; ++i) values.push_back(product(x.element(i), 0.3));
        return values;
      }();
      x.download();
      out.download();
      for (std::int64_t i = 0; i < 2100; ++i) {
        ASSERT_TRUE(same_bits(out.element(i), expected[static_cast<std::size_t>(i)]));
        ASSERT_TRUE(same_bits(x.element(i), out.element(i)));
      }
      multiply_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, {30, 70}), 0.5, out, grad);
      grad.download();
      for (std::int64_t i = 0; i < 2100; ++i) ASSERT_TRUE(same_bits(grad.element(i), product(out.element(i), 0.5)));
    }
  });
}

TEST_P(MultiplyTest, agrees_with_central_differences) {
  TestTensor<double> x(ctx, {4, 1}), y(ctx, {3, 1, 5}), out(ctx, {3, 4, 5}), out_grad(ctx, {3, 4, 5});
  TestTensor<double> x_grad(ctx, {4, 1}), y_grad(ctx, {3, 1, 5});
  x.fill_randomly(1);
  y.fill_randomly(2);
  out_grad.fill_randomly(3);
  multiply_grad(ctx, x, y, out_grad, x_grad, y_grad);
  const auto objective = [&] {
    multiply(ctx, x, y, out);
    return weighted_sum(out, out_grad);
  };
  expect_slopes(x, x_grad, objective);
  expect_slopes(y, y_grad, objective);
}

TEST_P(MultiplyTest, follows_the_formula_for_nan_inf_and_subnormals_and_without_elements) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{inf, -inf, nan, 0.0, -0.0, 0x1p-133, -0x1p-133, 1.0, -3.5, 0x1p127};
  const auto n = static_cast<std::int64_t>(values.size());
  TestTensor<float> x(ctx, {n, 1}), y(ctx, {n}), out(ctx, {n, n}), none(ctx, {3, 0}), sum(ctx, {3, 1});
  for (TestTensor<float>* tensor : {&x, &y})
    tensor->fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  multiply(ctx, x, y, out);
  out.download();
  for (std::int64_t i = 0; i < n * n; ++i)
    EXPECT_TRUE(same_bits(out.element(i), product(x.element(i / n), y[i % n]))) << i;
  multiply(ctx, none, sum, none);
  sum.fill([](std::int64_t) { return 7.0; });
  multiply_grad(ctx, TensorRef::without_data(ElementType::f32, {3, 1}), none, none, sum, {});
  sum.download();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(sum[i], 0.0);
}

TEST_P(MultiplyTest, gives_the_same_bits_in_both_modes_and_from_memory_that_is_lent) {
  TestTensor<float> x(ctx, {700, 333}), y(ctx, {333}), out_grad(ctx, {700, 333}), first(ctx, {333});
  for (TestTensor<float>* tensor : {&x, &y, &out_grad}) tensor->fill_randomly(4);
  const std::size_t bytes = multiply_grad_workspace(ctx, x, y, out_grad, {}, first);
  ASSERT_GT(bytes, 0u);
  LentMemory memory(ctx, bytes);
  multiply_grad(ctx, x, y, out_grad, {}, first);
  first.download();
  for (int run = 0; run < 4; ++run) {
    TestTensor<float> y_grad(ctx, {333});
    multiply_grad(Context(ctx).deterministic(run % 2 == 1).workspace(memory.workspace()), x, y, out_grad, {}, y_grad);
    y_grad.download();
    for (std::int64_t i = 0; i < 333; ++i) ASSERT_TRUE(same_bits(y_grad.element(i), first.element(i))) << run;
  }
  EXPECT_TRUE(memory.is_untouched_outside());
}

TEST_P(MultiplyTest, refuses_what_the_schema_does) {
  TestTensor<float> a(ctx, {3, 4}), b(ctx, {3, 4}), c(ctx, {3, 4}), column(ctx, {3, 1});
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 4});
  expect_error([&] { multiply(ctx, a, b, column); },
               "portops::multiply: out has extents [3, 1], expected [3, 4] (what x and y broadcast to)");
  expect_error([&] { multiply(ctx, a, b, b); },
               "portops::multiply: out overlaps y in memory, expected disjoint tensors");
  expect_error([&] { multiply_grad(ctx, shape, b, c, {}, a); },
               "portops::multiply_grad: x has no data, but its elements are needed");
  expect_error([&] { multiply_grad(ctx, a, 0.5, c, {}, b); },
               "portops::multiply_grad: y_grad is given, but y is a number and has no gradient");
  expect_error([&] { multiply_grad(ctx, a, b, c, {}, c); },
               "portops::multiply_grad: y_grad overlaps out_grad in memory, expected disjoint tensors");
  EXPECT_EQ(find_operator("multiply").backward, "multiply_grad");
}

}  // namespace
}  // namespace portops::test
