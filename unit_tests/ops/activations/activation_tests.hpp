// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/registry.hpp>

#include "support/central_differences.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

// The tests that activations share, with their gradients. An activation is a struct:
//
//   name                          that of the schema
//   call, grad                    the functions of the library, without options
//   keeps_out                     whether the gradient is made of out: else of x
//   value(x)                      the formula, in long double
//   value_magnitude(x)            the sum of the magnitudes of its terms; where the errors are in units of that
//   slope(kept)                   the gradient for an out_grad of 1
//   slope_magnitude(kept)         the sum of the magnitudes of its terms
//   units(x), slope_units(kept)   the errors that the reference page names for f32 and f64, in units in the last place
//   options(arguments)            gives a call by name the options of call and grad; where there are any

namespace portops::test {

/// A unit in the last place of a number of type T and of about this value.
template <class T>
double unit_at(long double value) {
  constexpr int digits = std::is_same_v<T, double>  ? 53
                         : std::is_same_v<T, float> ? 24
                         : std::is_same_v<T, f16>   ? 11
                                                    : 8;
  constexpr int least = std::is_same_v<T, double> ? -1074 : std::is_same_v<T, f16> ? -24 : sizeof(T) == 4 ? -149 : -133;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent - digits, least));
}

/// All numbers of a 16-bit type; of the others some of each magnitude, and many where functions are curved. NaN and Inf
/// are among them.
template <class T>
std::vector<T> numbers() {
  std::vector<T> values;
  if constexpr (sizeof(T) == 2) {
    for (unsigned bits = 0; bits < 0x10000u; ++bits)
      values.push_back(std::bit_cast<T>(static_cast<std::uint16_t>(bits)));
  } else {
    using Bits = decltype(bits_of(T()));
    constexpr int count = 200000;
    constexpr Bits step = static_cast<Bits>(-1) / count;
    for (int i = 0; i <= count; ++i) values.push_back(std::bit_cast<T>(static_cast<Bits>(step * static_cast<Bits>(i))));
    for (int i = 0; i < count; ++i) values.push_back(static_cast<T>((i - count / 2) * 1.00001e-4));
    for (int i = 0; i < count; ++i) values.push_back(static_cast<T>((i - count / 2) * 1.00001e-2));
    for (const double value : {0.0, -0.0}) values.push_back(static_cast<T>(value));
    using Limits = std::numeric_limits<T>;
    for (const T value :
         {Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::min(), Limits::denorm_min()}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

template <class Op>
class ActivationTest : public OnEveryBackend {
 public:
  void is_as_accurate_as_its_page_says() {
    for_each_type([&]<class T>() {
      const std::vector<T> arguments = numbers<T>();
      TestTensor<T> x = tensor_of(arguments), out(ctx, x.extents());
      Op::call(ctx, x, out);
      long double (*magnitude)(long double) = Op::value;
      if constexpr (requires { Op::value_magnitude(0.0L); }) magnitude = Op::value_magnitude;
      expect_near(out, arguments, Op::value, magnitude, Op::units, "out");
    });
  }

  void has_a_gradient_as_accurate_as_its_page_says() {
    for_each_type([&]<class T>() {
      const std::vector<T> arguments = numbers<T>();
      TestTensor<T> kept = tensor_of(arguments), out_grad(ctx, kept.extents()), x_grad(ctx, kept.extents());
      out_grad.fill([](std::int64_t) { return 1.0; });
      Op::grad(ctx, kept, out_grad, x_grad);
      expect_near(x_grad, arguments, Op::slope, Op::slope_magnitude, Op::slope_units, "x_grad");
    });
  }

  void gives_the_same_bits_wherever_elements_lie_and_in_both_modes() {
    for_each_type([&]<class T>() {
      for (const Extents& shape :
           {Extents{}, Extents{1}, Extents{7}, Extents{64}, Extents{1303}, Extents{2049}, Extents{5, 7, 70}}) {
        const TestTensor<T> x = random<T>(shape, 1), out_grad = random<T>(shape, 2);
        TestTensor<T> out(ctx, shape), x_grad(ctx, shape);
        Op::call(ctx, x, out);
        Op::grad(ctx, x, out_grad, x_grad);
        out.download();
        x_grad.download();
        const Context deterministic = Context(ctx).deterministic(true);
        for (const Layout layout : all_layouts) {
          for (const Layout out_layout : all_layouts) {
            const TestTensor<T> moved = random<T>(shape, 1, layout), moved_grad = random<T>(shape, 2, layout);
            TestTensor<T> found(ctx, shape, out_layout), found_grad(ctx, shape, out_layout);
            Op::call(deterministic, moved, found);
            Op::grad(deterministic, moved, moved_grad, found_grad);
            expect_same(found, out);
            expect_same(found_grad, x_grad);
          }
        }
      }
    });
  }

  // Each number with one of another magnitude as out_grad.
  void gives_the_same_bits_on_every_backend() {
    const Context first(enabled_backends().front());
    if (first.backend() == ctx.backend()) GTEST_SKIP() << "the one that the others are compared with";
    for_each_type([&]<class T>() {
      const std::vector<T> arguments = numbers<T>();
      std::vector<T> factors;
      for (std::size_t i = 0; i < arguments.size(); ++i) factors.push_back(arguments[i * 40503 % arguments.size()]);
      const auto call = [&](const Context& on, TestTensor<T>& out, TestTensor<T>& x_grad) {
        const TestTensor<T> x = tensor_of(on, arguments), out_grad = tensor_of(on, factors);
        Op::call(on, x, out);
        Op::grad(on, x, out_grad, x_grad);
        out.download();
        x_grad.download();
      };
      const Extents shape{static_cast<std::int64_t>(arguments.size())};
      TestTensor<T> out(ctx, shape), x_grad(ctx, shape), expected(first, shape), expected_grad(first, shape);
      call(ctx, out, x_grad);
      call(first, expected, expected_grad);
      expect_same(out, expected);
      expect_same(x_grad, expected_grad);
    });
  }

  void reads_operands_that_are_broadcast() {
    const Extents shape{6, 300};
    const TestTensor<float> row = random<float>({300}, 1);
    const TensorRef rows(row.ref().data(), ElementType::f32, shape, {0, 1}, row.ref().space());
    TestTensor<float> out(ctx, shape), x_grad(ctx, shape), of_row(ctx, {300}), grad_of_row(ctx, {300});
    Op::call(ctx, rows, out);
    Op::grad(ctx, rows, rows, x_grad);
    Op::call(ctx, row, of_row);
    Op::grad(ctx, row, row, grad_of_row);
    for (TestTensor<float>* tensor : {&out, &x_grad, &of_row, &grad_of_row}) tensor->download();
    for (std::int64_t i = 0; i < shape.product(); ++i) {
      ASSERT_TRUE(same_bits(out.element(i), of_row.element(i % 300))) << i;
      ASSERT_TRUE(same_bits(x_grad.element(i), grad_of_row.element(i % 300))) << i;
    }
  }

  void works_in_place() {
    for_each_type([&]<class T>() {
      for (const Layout layout : all_layouts) {
        const Extents shape{30, 70};
        TestTensor<T> x = random<T>(shape, 1, layout), out_grad = random<T>(shape, 2, layout);
        TestTensor<T> out(ctx, shape), x_grad(ctx, shape);
        Op::grad(ctx, x, out_grad, x_grad);
        Op::grad(ctx, x, out_grad, out_grad);
        Op::call(ctx, x, out);
        Op::call(ctx, x, x);
        x_grad.download();
        out.download();
        expect_same(out_grad, x_grad);
        expect_same(x, out);
      }
    });
  }

  void accepts_tensors_without_elements() {
    const TestTensor<float> x(ctx, {3, 0}), out(ctx, {3, 0});
    Op::call(ctx, x, out);
    Op::grad(ctx, x, out, out);
    Op::grad(ctx, x, out, {});
  }

  void agrees_with_central_differences() {
    const Extents shape{4, 5};
    TestTensor<double> x(ctx, shape), out(ctx, shape), out_grad(ctx, shape), x_grad(ctx, shape);
    x.fill([](std::int64_t i) { return 0.3 * static_cast<double>(i) - 2.95; });  // nowhere near 0
    out_grad.fill_randomly(3, -0.2, 0.2);
    Op::call(ctx, x, out);
    Op::grad(ctx, Op::keeps_out ? out : x, out_grad, x_grad);
    expect_slopes(x, x_grad, [&] {
      Op::call(ctx, x, out);
      return weighted_sum(out, out_grad);
    });
  }

  void refuses_what_the_schema_does() {
    TestTensor<float> a(ctx, {3, 4}), b(ctx, {3, 4}), c(ctx, {3, 4}), column(ctx, {3, 1});
    TestTensor<double> wide(ctx, {3, 4});
    const TensorRef turned(a.ref().data(), ElementType::f32, {3, 4}, {1, 3}, a.ref().space());
    const std::string op = std::string("portops::") + Op::name, grad = op + "_grad", kept = Op::keeps_out ? "out" : "x";
    const std::string in_place = " in memory, expected disjoint tensors or the same one (address, extents and strides)";
    c.fill([](std::int64_t) { return 7.0; });
    const auto call = [&](const TensorRef& x, const TensorRef& out, const std::string& message) {
      expect_error([&] { Op::call(ctx, x, out); }, op + ": " + message);
    };
    call(a, column, "out has extents [3, 1], expected [3, 4] (the extents of x)");
    call(a, wide, "out has element type f64, expected f32 (the element type of x)");
    call(a, turned, "out overlaps x" + in_place);
    call({}, c, "x is empty, expected a tensor");
    call(a, {}, "out is empty, expected a tensor");
    call(TensorRef::without_data(ElementType::f32, {3, 4}), c, "x has no data, but its elements are needed");
    const auto gradient = [&](const TensorRef& of, const TensorRef& out_grad, const TensorRef& x_grad,
                              const std::string& message) {
      expect_error([&] { Op::grad(ctx, of, out_grad, x_grad); }, grad + ": " + message);
    };
    gradient(a, column, c, "out_grad has extents [3, 1], expected [3, 4] (the extents of " + kept + ")");
    gradient(a, b, column, "x_grad has extents [3, 1], expected [3, 4] (the extents of " + kept + ")");
    gradient(a, {}, c, "out_grad is empty, expected a tensor");
    gradient(b, a, turned, "x_grad overlaps out_grad" + in_place);
    gradient(a, b, a, "x_grad overlaps " + kept + " in memory, expected disjoint tensors");
    c.download();
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c[i], 7.0) << "a refused call changes nothing";
  }

  void is_the_same_by_name() {
    const TestTensor<float> x = random<float>({3, 4}, 1), out_grad = random<float>({3, 4}, 2);
    TestTensor<float> out(ctx, {3, 4}), named(ctx, {3, 4}), x_grad(ctx, {3, 4}), named_grad(ctx, {3, 4});
    const std::string op = Op::name, kept = Op::keeps_out ? "out" : "x";
    Arguments call = Arguments().set("x", x.ref()).set("out", named.ref());
    Arguments gradient = Arguments().set(kept, x.ref()).set("out_grad", out_grad.ref()).set("x_grad", named_grad.ref());
    if constexpr (requires { Op::options(call); }) {
      Op::options(call);
      Op::options(gradient);
    }
    Op::call(ctx, x, out);
    Op::grad(ctx, x, out_grad, x_grad);
    run(op, ctx, call);
    run(op + "_grad", ctx, gradient);
    out.download();
    x_grad.download();
    expect_same(named, out);
    expect_same(named_grad, x_grad);
    EXPECT_EQ(find_operator(op).backward, op + "_grad");
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(find_operator(op).inplace, (Pairs{{"x", "out"}}));
    EXPECT_EQ(find_operator(op + "_grad").inplace, (Pairs{{"out_grad", "x_grad"}}));
  }

 protected:
  template <class T>
  static TestTensor<T> tensor_of(const Context& on, const std::vector<T>& values) {
    TestTensor<T> tensor(on, {static_cast<std::int64_t>(values.size())});
    tensor.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    return tensor;
  }
  template <class T>
  TestTensor<T> tensor_of(const std::vector<T>& values) {
    return tensor_of(ctx, values);
  }

  template <class T>
  TestTensor<T> random(const Extents& shape, unsigned seed, Layout layout = Layout::contiguous) {
    TestTensor<T> tensor(ctx, shape, layout);
    tensor.fill_randomly(seed, -6.0, 6.0);
    return tensor;
  }

  /// That each result is as near to the function of its argument as `units` of the magnitude say, and half a unit for a
  /// 16-bit type; that NaN gives NaN and Inf what the function says; and that what is beyond the type's numbers is Inf
  /// or the last of them.
  template <class T>
  static void expect_near(TestTensor<T>& found, const std::vector<T>& arguments, long double (*function)(long double),
                          long double (*magnitude)(long double), double (*units)(long double),
                          const std::string& what) {
    found.download();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto argument = static_cast<long double>(static_cast<double>(arguments[i]));
      const double result = found[static_cast<std::int64_t>(i)];
      const long double expected = function(argument);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(result)) << what << " of " << argument << " is " << result;
        continue;
      }
      const auto limit = static_cast<double>(static_cast<T>(static_cast<double>(expected)));
      if (!std::isfinite(limit)) {
        const bool is_last = std::isfinite(expected) && std::isfinite(result) && result / expected >= 0.99L;
        ASSERT_TRUE(result == limit || is_last) << what << " of " << argument << " is " << result;
        continue;
      }
      const double allowed = (sizeof(T) == 2 ? 0.55 : units(argument)) * unit_at<T>(magnitude(argument));
      ASSERT_LE(std::abs(result - expected), allowed) << what << " of " << argument << " is " << result << ", expected "
                                                      << static_cast<double>(expected) << ", element " << i;
    }
  }

  /// `expected` has been read back.
  template <class T>
  static void expect_same(TestTensor<T>& found, const TestTensor<T>& expected) {
    found.download();
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(same_bits(found.element(i), expected.element(i))) << "element " << i << " is " << found[i];
    }
  }
};

#define PORTOPS_ACTIVATION_TEST(Suite, name) \
  TEST_P(Suite, name) { Suite::name(); }

/// Registers all of these tests as those of an ActivationTest, on every backend.
#define PORTOPS_ACTIVATION_TESTS(Suite)                                                       \
  PORTOPS_ON_EVERY_BACKEND(Suite);                                                            \
  PORTOPS_ACTIVATION_TEST(Suite, is_as_accurate_as_its_page_says)                             \
  PORTOPS_ACTIVATION_TEST(Suite, has_a_gradient_as_accurate_as_its_page_says)                 \
  PORTOPS_ACTIVATION_TEST(Suite, gives_the_same_bits_wherever_elements_lie_and_in_both_modes) \
  PORTOPS_ACTIVATION_TEST(Suite, gives_the_same_bits_on_every_backend)                        \
  PORTOPS_ACTIVATION_TEST(Suite, reads_operands_that_are_broadcast)                           \
  PORTOPS_ACTIVATION_TEST(Suite, works_in_place)                                              \
  PORTOPS_ACTIVATION_TEST(Suite, accepts_tensors_without_elements)                            \
  PORTOPS_ACTIVATION_TEST(Suite, agrees_with_central_differences)                             \
  PORTOPS_ACTIVATION_TEST(Suite, refuses_what_the_schema_does)                                \
  PORTOPS_ACTIVATION_TEST(Suite, is_the_same_by_name)

}  // namespace portops::test
