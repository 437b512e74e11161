// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/registry.hpp>

#include "support/broadcast_patterns.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/reference_sums.hpp"
#include "support/sanitized.hpp"

#include <algorithm>
#include <limits>
#include <string>

// The tests that operators of two broadcast operands share, with their gradients. An operator is a struct:
//
//   name                              that of the schema
//   reads_x, reads_y                  whether the gradients depend on them: x_grad on y, y_grad on x
//   call, grad, grad_workspace        the functions of the library
//   out(x, y)                         the formula, in the arithmetic of its arguments
//   x_grad, y_grad(x, y, out_grad)    the derivatives times out_grad, likewise, in the order of the page's formula
//   least_y, most_y                   between which random y lie: −2 and 2 where they are left out

namespace portops::test {

template <class Op>
class BinaryTest : public OnEveryBackend {
 public:
  /// What the operator must give, to the bit: computed in the arithmetic that its header names, rounded once. A number
  /// for y is not rounded to a 16-bit type.
  template <class T>
  static T expected(T x, double y) {
    using A = Arithmetic<T>;
    return static_cast<T>(Op::out(static_cast<A>(x), static_cast<A>(y)));
  }

  void equals_the_reference_around_packs_and_ranks() {
    for_each_type([&]<class T>() {
      for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 2047, 2048, 2049, 4100}) {
        check_result<T>({size}, {size}, {size});
      }
      check<T>({}, {}, {});
      check<T>({}, {1, 1}, {1, 1});
      check_result<T>({2, 1, 3, 1, 2, 3, 1, 5}, {2, 3, 1, 2, 2, 1, 2, 5}, {2, 3, 3, 2, 2, 3, 2, 5});
    });
  }

  void equals_the_reference_for_the_shapes_of_models() {
    skip_where_sanitized();
    for_each_type([&]<class T>() {
      check<T>({4, 16, 33, 64}, {4, 16, 33, 64}, {4, 16, 33, 64});
      check<T>({4, 64, 32, 32}, {64, 1, 1}, {4, 64, 32, 32});
      check<T>({1024, 256}, {256}, {1024, 256});
      check<T>({256}, {1024, 256}, {1024, 256});
      check<T>({1024, 256}, {1024, 1}, {1024, 256});
      check<T>({3, 5, 197, 175}, {175}, {3, 5, 197, 175});
      check<T>({20000, 3}, {3}, {20000, 3});
      check<T>({2, 8, 64, 64}, {2, 1, 1, 64}, {2, 8, 64, 64});
      check<T>({300, 1}, {1, 700}, {300, 700});
      check<T>({100003}, {}, {100003});
    });
  }

  void equals_the_reference_for_every_pattern_of_rank_3() {
    skip_where_sanitized();
    for_each_type([&]<class T>() {
      for (const Extents& shape : {Extents{3, 4, 8}, Extents{4, 90, 301}}) {
        for (unsigned x = 0; x < 8; ++x) {
          for (unsigned y = 0; y < 8; ++y) {
            if (shape[2] > 100 && (x | y) != 7) continue;  // as with the smaller one
            check<T>(masked(shape, x, true), masked(shape, y, false), united(shape, x | y));
            if (HasFailure()) return;
          }
        }
      }
    });
  }

  void reads_and_writes_every_layout_where_it_lies() {
    for_each_type([&]<class T>() {
      for (const Layout layout : all_layouts) {
        for (const Layout out : all_layouts) {
          check<T>({5, 7, 70}, {5, 7, 70}, {5, 7, 70}, layout, out);
          check<T>({3, 301}, {301}, {3, 301}, layout, out);
          check<T>({3, 40, 37}, {40, 1}, {3, 40, 37}, layout, out);
          check<T>({3, 1, 37}, {3, 40, 37}, {3, 40, 37}, layout, out);
        }
      }
    });
  }

  void works_in_place() {
    for_each_type([&]<class T>() {
      for (const Layout layout : all_layouts) {
        const Extents shape{30, 70};
        TestTensor<T> x(ctx, shape, layout), y(ctx, {70}), out(ctx, shape), y_grad(ctx, {70});
        TestTensor<T> grad(ctx, shape, layout);
        x.fill_randomly(1);
        fill_y(y, 2);
        grad.fill_randomly(3);
        const ReferenceSums of_x = sums_of(Op::x_grad, x, x, y, grad), of_y = sums_of(Op::y_grad, y_grad, x, y, grad);
        Op::grad(ctx, x, y, grad, grad, y_grad);
        expect_near(grad, of_x, "x_grad");
        expect_near(y_grad, of_y, "y_grad");
        Op::call(ctx, x, y, out);
        Op::call(ctx, x, y, x);
        out.download();
        x.download();
        const std::int64_t size = shape.product();
        for (std::int64_t i = 0; i < size; ++i) ASSERT_TRUE(same_bits(x.element(i), out.element(i))) << i;
      }
    });
  }

  void takes_a_number_for_y() {
    for_each_type([&]<class T>() {
      TestTensor<T> x(ctx, {3, 77}), out(ctx, {3, 77}), out_grad(ctx, {3, 77}), x_grad(ctx, {3, 77});
      x.fill_randomly(1);
      out_grad.fill_randomly(3);
      const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
      for (const double y : {0.3, -1.7, 0.0, 1000.0, -0.0, inf, -inf, nan}) {
        Op::call(ctx, x, y, out);
        out.download();
        for (std::int64_t i = 0; i < 3 * 77; ++i) ASSERT_TRUE(same_bits(out.element(i), expected(x.element(i), y)));
        TestTensor<T> number(ctx, {});
        number.fill([y](std::int64_t) { return y; });
        // The gradient of a tensor of that value is compared with.
        if (number[0] != y || !std::isfinite(Op::x_grad(1.0, y, 1.0))) continue;
        Op::grad(ctx, without_data(x, false), y, out_grad, x_grad, {});
        expect_near(x_grad, sums_of(Op::x_grad, x_grad, x, number, out_grad), "x_grad");
      }
    });
  }

  void follows_the_formula_for_nan_inf_and_subnormals() {
    for_each_type([&]<class T>() {
      const std::vector<double> values = numbers_at_the_edge<T>();
      const auto n = static_cast<std::int64_t>(values.size());
      TestTensor<T> x(ctx, {n, 1}), y(ctx, {n}), out(ctx, {n, n});
      for (TestTensor<T>* tensor : {&x, &y}) {
        tensor->fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
      }
      expect_exact(x, y, out);
    });
  }

  // Of operands that are not broadcast: each gradient is one term, computed as the operator's result is.
  void has_gradients_that_follow_their_formulas_for_nan_inf_and_subnormals() {
    for_each_type([&]<class T>() {
      const std::vector<double> values = numbers_at_the_edge<T>();
      const auto n = static_cast<std::int64_t>(values.size());
      const auto value = [&](std::int64_t i) { return values[static_cast<std::size_t>(i % n)]; };
      const Extents shape{n, n, n};
      TestTensor<T> x(ctx, shape), y(ctx, shape), out_grad(ctx, shape);
      x.fill([&](std::int64_t i) { return value(i / n / n); });
      y.fill([&](std::int64_t i) { return value(i / n); });
      out_grad.fill(value);
      for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
        for (int wanted = 1; wanted < 4; ++wanted) {
          TestTensor<T> x_grad(ctx, shape, layout), y_grad(ctx, shape, layout);
          Op::grad(ctx, x, y, out_grad, (wanted & 1) != 0 ? x_grad.ref() : TensorRef(),
                   (wanted & 2) != 0 ? y_grad.ref() : TensorRef());
          if ((wanted & 1) != 0) expect_exact(x_grad, Op::x_grad, x, y, out_grad, "x_grad");
          if ((wanted & 2) != 0) expect_exact(y_grad, Op::y_grad, x, y, out_grad, "y_grad");
        }
      }
    });
  }

  void accepts_tensors_without_elements() {
    TestTensor<float> x(ctx, {3, 1}), y(ctx, {3, 0}), out(ctx, {3, 0});
    TestTensor<float> x_grad(ctx, {3, 1}, Layout::every_other), y_grad(ctx, {3, 0});
    Op::call(ctx, x, y, out);
    x_grad.fill([](std::int64_t) { return 7.0; });
    Op::grad(ctx, x, y, out, x_grad, y_grad);
    x_grad.download();
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(x_grad[i], 0.0) << "nothing is summed";
  }

  void does_not_drift_over_constants() {
    for_each_type([&]<class T>() {
      for (const double constant : drifting_constants) {
        for (const auto& [y_shape, shape] :
             {std::pair{Extents{}, Extents{50001}}, std::pair{Extents{7}, Extents{9000, 7}},
              std::pair{Extents{64, 1}, Extents{64, 1000}}, std::pair{Extents{1, 30, 1}, Extents{40, 30, 40}}}) {
          TestTensor<T> x(ctx, shape), y(ctx, y_shape), out_grad(ctx, shape), y_grad(ctx, y_shape);
          for (TestTensor<T>* tensor : {&x, &y, &out_grad}) tensor->fill([&](std::int64_t) { return constant; });
          Op::grad(ctx, x, y, out_grad, {}, y_grad);
          expect_near(y_grad, sums_of(Op::y_grad, y_grad, x, y, out_grad), "y_grad of " + shape.to_string());
        }
      }
    });
  }

  void does_not_stagnate_over_long_sums() {
    // A chain of float additions would stop at 2^24.
    const std::int64_t size = (std::int64_t{1} << 25) + 12345;
    TestTensor<float> x(ctx, {size}), y(ctx, {}), out_grad(ctx, {size}), y_grad(ctx, {});
    for (TestTensor<float>* tensor : {&x, &y, &out_grad}) tensor->fill([](std::int64_t) { return 1.0; });
    Op::grad(ctx, x, y, out_grad, {}, y_grad);
    y_grad.download();
    EXPECT_EQ(y_grad[0],
              static_cast<double>(static_cast<float>(static_cast<double>(size) * Op::y_grad(1.0, 1.0, 1.0))));
  }

  void agrees_with_central_differences() {
    for (const Extents& x_shape : {Extents{4, 1}, Extents{3, 4, 5}}) {
      TestTensor<double> x(ctx, x_shape), y(ctx, {3, 1, 5}), out(ctx, {3, 4, 5}), out_grad(ctx, {3, 4, 5});
      TestTensor<double> x_grad(ctx, x_shape), y_grad(ctx, {3, 1, 5});
      x.fill_randomly(1);
      fill_y(y, 2);
      out_grad.fill_randomly(3);
      Op::grad(ctx, x, y, out_grad, x_grad, y_grad);
      const auto objective = [&] {
        Op::call(ctx, x, y, out);
        return weighted_sum(out, out_grad);
      };
      expect_slopes(x, x_grad, objective);
      expect_slopes(y, y_grad, objective);
    }
  }

  void gives_the_same_bits_in_both_modes_and_from_memory_that_is_lent() {
    const Extents shape{700, 333};
    for (const auto& [x_shape, y_shape] : {std::pair{shape, Extents{333}}, std::pair{Extents{700, 1}, Extents{333}},
                                           std::pair{shape, Extents{700, 1}}}) {
      TestTensor<float> x(ctx, x_shape), y(ctx, y_shape), out_grad(ctx, shape), first(ctx, y_shape);
      for (TestTensor<float>* tensor : {&x, &out_grad}) tensor->fill_randomly(4);
      fill_y(y, 4);
      const std::size_t bytes = Op::grad_workspace(ctx, x, y, out_grad, {}, first);
      LentMemory memory(ctx, bytes);
      Op::grad(ctx, x, y, out_grad, {}, first);
      first.download();
      for (int run = 0; run < 4; ++run) {
        TestTensor<float> y_grad(ctx, y_shape);
        Op::grad(Context(ctx).deterministic(run % 2 == 1).workspace(memory.workspace()), x, y, out_grad, {}, y_grad);
        y_grad.download();
        for (std::int64_t i = 0; i < y_shape.product(); ++i) {
          ASSERT_TRUE(same_bits(y_grad.element(i), first.element(i))) << "run " << run;
        }
      }
      EXPECT_TRUE(memory.is_untouched_outside());
    }
  }

  void refuses_what_the_schema_does() {
    TestTensor<float> a(ctx, {3, 4}), b(ctx, {3, 4}), c(ctx, {3, 4}), d(ctx, {3, 4}), five(ctx, {5}),
        column(ctx, {3, 1});
    TestTensor<double> wide(ctx, {3, 4});
    const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 4});
    const TensorRef turned(a.ref().data(), ElementType::f32, {3, 4}, {1, 3}, a.ref().space());
    const std::string op = std::string("portops::") + Op::name, grad = op + "_grad";
    const std::string disjoint = " in memory, expected disjoint tensors";
    const std::string in_place = disjoint + " or the same one (address, extents and strides)";
    c.fill([](std::int64_t) { return 7.0; });

    const auto call = [&](const TensorRef& x, const TensorOrNumber& y, const TensorRef& out,
                          const std::string& message) {
      expect_error([&] { Op::call(ctx, x, y, out); }, op + ": " + message);
    };
    call(a, five, c,
         "the extents x [3, 4], y [5] do not broadcast; aligned at the last axis, extents must be equal or 1");
    call(a, b, column, "out has extents [3, 1], expected [3, 4] (what x and y broadcast to)");
    call(a, wide, c, "y has element type f64, expected f32 (the element type of x)");
    call(a, b, wide, "out has element type f64, expected f32 (the element type of x)");
    call(a, b, b, "out overlaps y" + disjoint);
    call(a, b, turned, "out overlaps x" + in_place);
    call({}, b, c, "x is empty, expected a tensor");
    call(a, TensorRef(), c, "y is empty, expected a tensor");
    call(a, b, {}, "out is empty, expected a tensor");
    call(shape, b, c, "x has no data, but its elements are needed");

    const auto gradient = [&](const TensorRef& x, const TensorOrNumber& y, const TensorRef& out_grad,
                              const TensorRef& x_grad, const TensorRef& y_grad, const std::string& message) {
      expect_error([&] { Op::grad(ctx, x, y, out_grad, x_grad, y_grad); }, grad + ": " + message);
    };
    gradient(a, b, column, c, {}, "out_grad has extents [3, 1], expected [3, 4] (what x and y broadcast to)");
    gradient(a, b, c, column, {}, "x_grad has extents [3, 1], expected [3, 4] (the extents of x)");
    gradient(a, column, c, {}, d, "y_grad has extents [3, 4], expected [3, 1] (the extents of y)");
    gradient(wide, b, c, d, {}, "x has element type f64, expected f32 (the element type of out_grad)");
    gradient(a, b, c, d, wide, "y_grad has element type f64, expected f32 (the element type of out_grad)");
    gradient(a, b, {}, c, {}, "out_grad is empty, expected a tensor");
    gradient(a, 0.5, b, c, d, "y_grad is given, but y is a number and has no gradient");
    gradient(b, b, a, turned, {}, "x_grad overlaps out_grad" + in_place);
    gradient(a, b, c, {}, c, "y_grad overlaps out_grad" + disjoint);
    gradient(a, b, c, d, d, "x_grad overlaps y_grad" + disjoint);
    gradient(a, b, c, c, a, "y_grad overlaps x" + disjoint);
    if (Op::reads_x) gradient(shape, b, c, {}, d, "x has no data, but its elements are needed");

    c.download();
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c[i], 7.0) << "a refused call changes nothing";
  }

  void refuses_element_types_that_this_build_leaves_out() {
    const std::vector<ElementType> has = enabled_element_types();
    std::string names;
    for (const ElementType type : has) names += (names.empty() ? "" : ", ") + std::string(name_of(type));
    const std::string op = std::string("portops::") + Op::name;
    for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
      if (std::find(has.begin(), has.end(), type) != has.end()) continue;
      const Tensor x(type, {3, 4}, default_memory_space(ctx.backend()));
      const std::string left_out = " has element type " + std::string(name_of(type)) +
                                   ", which this build leaves out (PORTOPS_ELEMENT_TYPES), expected " + names;
      expect_error([&] { Op::call(ctx, x, 1.0, x); }, op + ": x" + left_out);
      expect_error([&] { run(Op::name, ctx, Arguments().set("x", x).set("y", 1.0).set("out", x)); },
                   op + ": x" + left_out);
      expect_error([&] { Op::grad(ctx, x, 1.0, x, x, {}); }, op + "_grad: out_grad" + left_out);
    }
  }

  void is_the_same_by_name() {
    TestTensor<float> x(ctx, {3, 4}), y(ctx, {4}), out(ctx, {3, 4}), named(ctx, {3, 4}), x_grad(ctx, {3, 4});
    TestTensor<float> y_grad(ctx, {4}), named_y_grad(ctx, {4});
    x.fill_randomly(1);
    fill_y(y, 2);
    const std::string op = Op::name;
    for (const TensorOrNumber& second : {TensorOrNumber(y.ref()), TensorOrNumber(0.5)}) {
      Op::call(ctx, x, second, out);
      run(op, ctx, Arguments().set("x", x.ref()).set("y", second).set("out", named.ref()));
      out.download();
      named.download();
      for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(named[i], out[i]);
    }
    Op::grad(ctx, x, y, out, x_grad, y_grad);
    const auto gradient = Arguments().set("x", x.ref()).set("y", y.ref()).set("out_grad", out.ref());
    EXPECT_EQ(infer(op + "_grad", gradient).at("y_grad").extents, Extents({4}));
    run(op + "_grad", ctx, Arguments(gradient).set("x_grad", named.ref()).set("y_grad", named_y_grad.ref()));
    for (TestTensor<float>* tensor : {&x_grad, &y_grad, &named, &named_y_grad}) tensor->download();
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(named[i], x_grad[i]);
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(named_y_grad[i], y_grad[i]);
    EXPECT_EQ(find_operator(op).backward, op + "_grad");
    EXPECT_EQ(find_operator(op).inplace, (std::vector<std::pair<std::string, std::string>>{{"x", "out"}}));
    EXPECT_TRUE(find_operator(op).inputs[1].or_number);
  }

 protected:
  /// What elements of type T are computed in.
  template <class T>
  using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, float>;

  template <class T>
  static std::vector<double> numbers_at_the_edge() {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double tiny = std::is_same_v<T, double> ? 5e-324 : std::is_same_v<T, f16> ? 0x1p-24 : 0x1p-133;
    const double large = std::is_same_v<T, f16> ? 65504.0 : 0x1p127;
    return {inf, -inf, nan, 0.0, -0.0, tiny, -tiny, 1.0, -3.5, large};
  }

  template <class T>
  static void fill_y(TestTensor<T>& y, unsigned seed) {
    if constexpr (requires { Op::least_y; }) {
      y.fill_randomly(seed, Op::least_y, Op::most_y);
    } else {
      y.fill_randomly(seed);
    }
  }

  /// The tensor, or its extents alone where its elements are not read.
  template <class T>
  static TensorRef without_data(const TestTensor<T>& tensor, bool is_read) {
    return is_read ? tensor.ref() : TensorRef::without_data(ElementTypeOf<T>::value, tensor.extents());
  }

  /// A gradient in float64: the terms of `derivative`, summed to the extents of `gradient`.
  template <class T>
  static ReferenceSums sums_of(double (*derivative)(double, double, double), const TestTensor<T>& gradient,
                               const TestTensor<T>& x, const TestTensor<T>& y, const TestTensor<T>& out_grad) {
    ReferenceSums sums(gradient.extents());
    const Extents& shape = out_grad.extents();
    const std::int64_t size = shape.product();
    for (std::int64_t i = 0; i < size; ++i) {
      const double term = derivative(x.broadcast(shape, i), y.broadcast(shape, i), out_grad[i]);
      sums.add(gradient.broadcast_index(shape, i), term, std::abs(term));
    }
    return sums;
  }

  template <class T>
  void expect_exact(const TestTensor<T>& x, const TestTensor<T>& y, TestTensor<T>& out) {
    Op::call(ctx, x, y, out);
    out.download();
    const Extents& shape = out.extents();
    const std::int64_t size = shape.product();
    for (std::int64_t i = 0; i < size; ++i) {
      const T value = expected(x.element(x.broadcast_index(shape, i)), y.broadcast(shape, i));
      if (same_bits(value, out.element(i))) continue;
      ADD_FAILURE() << "out[" << i << "] is " << out[i] << ", expected " << static_cast<double>(value);
      return;
    }
  }

  /// A gradient of operands that are not broadcast, which has been called for, to the bit.
  template <class T, class A = Arithmetic<T>>
  static void expect_exact(TestTensor<T>& gradient, A (*derivative)(A, A, A), const TestTensor<T>& x,
                           const TestTensor<T>& y, const TestTensor<T>& out_grad, const std::string& what) {
    gradient.download();
    for (std::int64_t i = 0; i < gradient.size(); ++i) {
      const auto value = static_cast<T>(
          derivative(static_cast<A>(x.element(i)), static_cast<A>(y.element(i)), static_cast<A>(out_grad.element(i))));
      if (same_bits(value, gradient.element(i))) continue;
      ADD_FAILURE() << what << " of x " << x[i] << ", y " << y[i] << ", out_grad " << out_grad[i] << " is "
                    << gradient[i] << ", expected " << static_cast<double>(value);
      return;
    }
  }

  /// The result, to the bit.
  template <class T>
  void check_result(const Extents& x_shape, const Extents& y_shape, const Extents& shape,
                    Layout layout = Layout::contiguous, Layout out_layout = Layout::contiguous) {
    SCOPED_TRACE("x " + x_shape.to_string() + ", y " + y_shape.to_string());
    TestTensor<T> x(ctx, x_shape, layout), y(ctx, y_shape, layout), out(ctx, shape, out_layout);
    x.fill_randomly(1);
    fill_y(y, 2);
    expect_exact(x, y, out);
  }

  /// The result, then each gradient alone and both together.
  template <class T>
  void check(const Extents& x_shape, const Extents& y_shape, const Extents& shape, Layout layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous) {
    SCOPED_TRACE("x " + x_shape.to_string() + ", y " + y_shape.to_string());
    TestTensor<T> x(ctx, x_shape, layout), y(ctx, y_shape, layout), out(ctx, shape, out_layout);
    TestTensor<T> out_grad(ctx, shape, layout);
    x.fill_randomly(1);
    fill_y(y, 2);
    out_grad.fill_randomly(3);
    expect_exact(x, y, out);
    const ReferenceSums of_x = sums_of(Op::x_grad, x, x, y, out_grad), of_y = sums_of(Op::y_grad, y, x, y, out_grad);
    for (int wanted = 1; wanted < 4; ++wanted) {
      TestTensor<T> x_grad(ctx, x_shape, out_layout), y_grad(ctx, y_shape, out_layout);
      const bool with_x = (wanted & 1) != 0, with_y = (wanted & 2) != 0;
      Op::grad(ctx, without_data(x, Op::reads_x && with_y), without_data(y, Op::reads_y), out_grad,
               with_x ? x_grad.ref() : TensorRef(), with_y ? y_grad.ref() : TensorRef());
      if (with_x) expect_near(x_grad, of_x, "x_grad");
      if (with_y) expect_near(y_grad, of_y, "y_grad");
    }
  }
};

#define PORTOPS_BINARY_TEST(Suite, name) \
  TEST_P(Suite, name) { Suite::name(); }

/// Registers all of these tests as those of a BinaryTest, on every backend.
#define PORTOPS_BINARY_TESTS(Suite)                                                               \
  PORTOPS_ON_EVERY_BACKEND(Suite);                                                                \
  PORTOPS_BINARY_TEST(Suite, equals_the_reference_around_packs_and_ranks)                         \
  PORTOPS_BINARY_TEST(Suite, equals_the_reference_for_the_shapes_of_models)                       \
  PORTOPS_BINARY_TEST(Suite, equals_the_reference_for_every_pattern_of_rank_3)                    \
  PORTOPS_BINARY_TEST(Suite, reads_and_writes_every_layout_where_it_lies)                         \
  PORTOPS_BINARY_TEST(Suite, works_in_place)                                                      \
  PORTOPS_BINARY_TEST(Suite, takes_a_number_for_y)                                                \
  PORTOPS_BINARY_TEST(Suite, follows_the_formula_for_nan_inf_and_subnormals)                      \
  PORTOPS_BINARY_TEST(Suite, has_gradients_that_follow_their_formulas_for_nan_inf_and_subnormals) \
  PORTOPS_BINARY_TEST(Suite, accepts_tensors_without_elements)                                    \
  PORTOPS_BINARY_TEST(Suite, does_not_drift_over_constants)                                       \
  PORTOPS_BINARY_TEST(Suite, does_not_stagnate_over_long_sums)                                    \
  PORTOPS_BINARY_TEST(Suite, agrees_with_central_differences)                                     \
  PORTOPS_BINARY_TEST(Suite, gives_the_same_bits_in_both_modes_and_from_memory_that_is_lent)      \
  PORTOPS_BINARY_TEST(Suite, refuses_what_the_schema_does)                                        \
  PORTOPS_BINARY_TEST(Suite, refuses_element_types_that_this_build_leaves_out)                    \
  PORTOPS_BINARY_TEST(Suite, is_the_same_by_name)

}  // namespace portops::test
