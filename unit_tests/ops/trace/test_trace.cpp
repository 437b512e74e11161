// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/reference_sums.hpp"
#include "support/sanitized.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/trace.hpp>

#include <limits>

namespace portops::test {
namespace {

/// The element of `out` that the i-th one of x is added to; none where it lies on no diagonal.
std::int64_t out_index(const Extents& x, const TraceParams& params, std::int64_t i) {
  const int rank = x.rank();
  const auto axis1 = static_cast<int>((params.axis1 + rank) % rank),
             axis2 = static_cast<int>((params.axis2 + rank) % rank);
  std::int64_t row = 0, column = 0, index = 0, step = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const std::int64_t along = i % x[axis];
    i /= x[axis];
    if (axis == axis1) {
      row = along;
    } else if (axis == axis2) {
      column = along;
    } else {
      index += along * step;
      step *= x[axis];
    }
  }
  return column - row == params.offset ? index : -1;
}

Extents out_extents(const Extents& x, const TraceParams& params) {
  return infer("trace", Arguments()
                            .set("x", TensorRef::without_data(ElementType::f32, x))
                            .set("offset", params.offset)
                            .set("axis1", params.axis1)
                            .set("axis2", params.axis2))
      .at("out")
      .extents;
}

class TraceTest : public OnEveryBackend {
 protected:
  /// trace and trace_grad.
  template <class T>
  void check(const Extents& extents, const TraceParams& params, Layout layout = Layout::contiguous,
             Layout other_layout = Layout::contiguous) {
    const Extents kept = out_extents(extents, params);
    TestTensor<T> x(ctx, extents, layout), out(ctx, kept, other_layout);
    x.fill_randomly(1);
    ReferenceSums expected(kept);
    const std::int64_t size = extents.product();
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t k = out_index(extents, params, i);
      if (k >= 0) expected.add(k, x[i], std::abs(x[i]));
    }
    trace(ctx, x, out, params);
    expect_near(out, expected, "out");

    TestTensor<T> out_grad(ctx, kept, other_layout), x_grad(ctx, extents, layout);
    out_grad.fill_randomly(2);
    trace_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, extents), out_grad, x_grad, params);
    x_grad.download();
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t k = out_index(extents, params, i);
      const T value = k >= 0 ? out_grad.element(k) : static_cast<T>(0.0f);
      if (same_bits(x_grad.element(i), value)) continue;
      ADD_FAILURE() << "x_grad[" << i << "] of " << extents.to_string() << " is " << x_grad[i] << ", expected "
                    << static_cast<double>(value) << " (offset " << params.offset << ", axes " << params.axis1
                    << " and " << params.axis2 << ")";
      return;
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(TraceTest);

TEST_P(TraceTest, does_not_drift_over_constant_diagonals) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const Extents& extents : {Extents{3000, 30000, 1}, Extents{1, 3000, 30000}}) {
        // A matrix whose rows are one row: 3000 of its elements lie on the diagonal.
        TestTensor<T> row(ctx, {30000}), out(ctx, {1});
        row.fill([&](std::int64_t) { return constant; });
        const bool first = extents[0] == 3000;
        const TensorRef x(static_cast<T*>(row.ref().data()), extents, first ? Extents{0, 1, 0} : Extents{0, 0, 1},
                          row.ref().space());
        ReferenceSums expected({1});
        for (int i = 0; i < 3000; ++i) expected.add(0, row[0], std::abs(row[0]));
        trace(ctx, x, out, {.axis1 = first ? 0 : 1, .axis2 = first ? 1 : 2});
        expect_near(out, expected, "out");
      }
    }
  });
}

TEST_P(TraceTest, equals_the_reference_for_all_axes_and_layouts) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const std::int64_t offset : {0, 1, -2}) {
        for (std::int64_t axis1 = -3; axis1 < 3; ++axis1) {
          for (std::int64_t axis2 = -3; axis2 < 3; ++axis2) {
            if ((axis1 - axis2) % 3 == 0) continue;
            check<T>({3, 4, 5}, {offset, axis1, axis2}, layout, Layout::every_other);
            check<T>({7, 33, 18}, {offset, axis1, axis2}, layout);
          }
        }
        check<T>({6, 9}, {offset, 0, 1}, layout);
        check<T>({2, 3, 4, 5}, {offset, 3, 1}, layout, Layout::reversed);
        check<T>({2, 1, 3, 1, 2, 5, 1, 4}, {offset, 5, 2}, layout);
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(TraceTest, equals_the_reference_for_every_offset) {
  for_each_type([&]<class T>() {
    for (std::int64_t offset = -7; offset <= 9; ++offset) {
      check<T>({5, 7}, {offset, 0, 1});
      check<T>({5, 7}, {offset, 1, 0});
      check<T>({3, 7, 5}, {offset, 1, 2}, Layout::padded);
    }
    check<T>({5, 7}, {std::numeric_limits<std::int64_t>::min(), 0, 1});
    check<T>({5, 7}, {std::numeric_limits<std::int64_t>::max(), 0, 1});
  });
}

TEST_P(TraceTest, equals_the_reference_for_matrices_of_many_sizes) {
  for_each_type([&]<class T>() {
    for (const std::int64_t size : {1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 100, 515}) {
      check<T>({size, size}, {});
      check<T>({3, size, size}, {0, 1, 2});
      check<T>({size, size, 3}, {1, 0, 1});
      check<T>({size, 3, size}, {-1, 0, 2});
    }
    check<T>({2000, 2100}, {});
    check<T>({1, 300000}, {17, 0, 1});
    check<T>({300000, 1}, {-17, 0, 1});
    check<T>({70, 70, 64}, {});
    check<T>({5000, 6, 6}, {0, 1, 2});
    for (const std::int64_t size : {5, 13, 17, 33, 131}) check<T>({301, size, size}, {0, 1, 2});
    check<T>({unless_sanitized(37, 5), 515, 515}, {0, 1, 2});
    // Few rows of many columns.
    for (const std::int64_t size : {2, 4, 5, 8, 9}) {
      for (const std::int64_t columns : {300, 3001, 4096}) check<T>({size, size, columns}, {0, 0, 1});
    }
  });
}

TEST_P(TraceTest, does_not_stagnate_over_long_diagonals) {
  // A diagonal of 2^25 elements, all in one place: a chain of float additions would stop at 2^24.
  const std::int64_t size = (std::int64_t{1} << 25) + 12345;
  TestTensor<float> one(ctx, {1}), out(ctx, {});
  one.fill([](std::int64_t) { return 1.0; });
  const TensorRef x(one.ref().data(), ElementType::f32, {size, size}, {0, 0}, one.ref().space());
  trace(ctx, x, out);
  out.download();
  EXPECT_EQ(out[0], static_cast<double>(static_cast<float>(size)));
}

TEST_P(TraceTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  TestTensor<float> x(ctx, {3, 1500, 1500}), out(ctx, {3}), again(ctx, {3});
  x.fill_randomly(1);
  trace(ctx, x, out, {0, 1, 2});
  out.download();
  for (int run = 0; run < 4; ++run) {
    trace(Context(ctx).deterministic(run % 2 == 1), x, again, {0, 1, 2});
    again.download();
    for (std::int64_t i = 0; i < 3; ++i) ASSERT_TRUE(same_bits(again.element(i), out.element(i))) << run;
  }
}

TEST_P(TraceTest, follows_the_formula_for_nan_and_inf) {
  const double inf = std::numeric_limits<double>::infinity();
  TestTensor<float> x(ctx, {3, 2, 2}), out(ctx, {3}), x_grad(ctx, {3, 2, 2});
  x.fill([&](std::int64_t i) { return i == 0 ? inf : i == 4 ? -inf : i == 7 ? inf : i == 9 ? inf : 1.0; });
  trace(ctx, x, out, {0, 1, 2});
  out.download();
  EXPECT_EQ(out[0], inf);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], 2.0) << "off the diagonal";
  trace_grad(ctx, x, out, x_grad, {0, 1, 2});
  x_grad.download();
  EXPECT_EQ(x_grad[0], inf);
  EXPECT_EQ(x_grad[1], 0.0);
  EXPECT_TRUE(std::isnan(x_grad[4]) && std::isnan(x_grad[7]));
}

TEST_P(TraceTest, gradient_agrees_with_central_differences) {
  const TraceParams params{1, 2, 0};
  TestTensor<double> x(ctx, {4, 2, 3}), out(ctx, {2}), out_grad(ctx, {2}), x_grad(ctx, {4, 2, 3});
  x.fill_randomly(1);
  out_grad.fill_randomly(2);
  trace_grad(ctx, x, out_grad, x_grad, params);
  expect_slopes(x, x_grad, [&] {
    trace(ctx, x, out, params);
    return weighted_sum(out, out_grad);
  });
}

TEST_P(TraceTest, accepts_tensors_without_elements) {
  for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
    TestTensor<float> x(ctx, {0, 4, 3}), out(ctx, {3}, layout), none(ctx, {0}), x_grad(ctx, {4, 3, 0});
    out.fill([](std::int64_t) { return 7.0; });
    trace(ctx, x, out);
    out.download();
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(out[i], 0.0);
    EXPECT_NO_THROW(trace_grad(ctx, x, out, x));
    EXPECT_NO_THROW(trace(ctx, x_grad, none));
    EXPECT_NO_THROW(trace_grad(ctx, x_grad, none, x_grad));
    TestTensor<float> flat(ctx, {0, 5}), scalar(ctx, {});
    scalar.fill([](std::int64_t) { return 7.0; });
    trace(ctx, flat, scalar);
    scalar.download();
    EXPECT_EQ(scalar[0], 0.0);
  }
}

TEST_P(TraceTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  TestTensor<float> one(ctx, {2}), out(ctx, {}), lent_out(ctx, {});
  one.fill([](std::int64_t) { return 1.0; });
  const TensorRef x(one.ref().data(), ElementType::f32, {1 << 20, 1 << 20}, {0, 0}, one.ref().space());
  const std::size_t bytes = trace_workspace(ctx, x, out);
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(trace_workspace(ctx, x, out, {1 << 20, 0, 1}), 0u) << "outside of the matrix";
  LentMemory memory(ctx, bytes);
  trace(Context(ctx).workspace(memory.workspace()), x, lent_out);
  lent_out.download();
  EXPECT_EQ(lent_out[0], 1 << 20);
  EXPECT_TRUE(memory.is_untouched_outside());
}

TEST_P(TraceTest, a_call_by_name_computes_what_the_function_computes) {
  TestTensor<float> x(ctx, {2, 3, 4}), out(ctx, {3}), named_out(ctx, {3}), x_grad(ctx, {2, 3, 4});
  x.fill_randomly(1);
  trace(ctx, x, out, {-1, 2, 0});
  const auto arguments = Arguments().set("x", x.ref()).set("offset", -1).set("axis1", 2).set("axis2", 0);
  run("trace", ctx, Arguments(arguments).set("out", named_out.ref()));
  out.download();
  named_out.download();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(named_out[i], out[i]);
  run("trace_grad", ctx, Arguments(arguments).set("out_grad", out.ref()).set("x_grad", x_grad.ref()));
  x_grad.download();
  EXPECT_EQ(x_grad[0 * 12 + 1 * 4 + 1], out[1]);
  EXPECT_EQ(x_grad[0], 0.0);
}

TEST_P(TraceTest, refuses_wrong_calls) {
  TestTensor<float> x(ctx, {3, 4}), out(ctx, {}), row(ctx, {4}), x_grad(ctx, {3, 4});
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  refused([&] { trace(ctx, row, out); }, "trace: x has extents [4], expected 2 axes or more");
  refused([&] { trace(ctx, x, out, {0, 2, 0}); }, "trace: axis1 is 2, expected -2 to 1 (x has rank 2)");
  refused([&] { trace(ctx, x, out, {0, 0, -3}); }, "trace: axis2 is -3, expected -2 to 1 (x has rank 2)");
  refused([&] { trace(ctx, x, out, {0, 1, -1}); }, "trace: axis1 is 1 and axis2 is -1, expected two axes of x");
  refused([&] { trace(ctx, x, row); },
          "trace: out has extents [4], expected [] (the extents of x without axes 0 and 1)");
  refused([&] { trace(ctx, x, TestTensor<double>(ctx, {})); },
          "trace: out has element type f64, expected f32 (the element type of x)");
  refused([&] { trace(ctx, {}, out); }, "trace: x is empty, expected a tensor");
  const TensorRef inside(static_cast<float*>(x.ref().data()) + 5, {}, x.ref().space());
  refused([&] { trace(ctx, x, inside); }, "trace: out overlaps x in memory, expected disjoint tensors");
  refused([&] { trace_grad(ctx, x, row, x_grad); },
          "trace_grad: out_grad has extents [4], expected [] (the extents of x without axes 0 and 1)");
  refused([&] { trace_grad(ctx, x, out, row); },
          "trace_grad: x_grad has extents [4], expected [3, 4] (the extents of x)");
  refused([&] { trace_grad(ctx, x, out, x); }, "trace_grad: x_grad overlaps x in memory, expected disjoint tensors");
  refused([&] { trace_grad(ctx, x_grad, inside, x); },
          "trace_grad: x_grad overlaps out_grad in memory, expected disjoint tensors");
  EXPECT_NO_THROW(trace_grad(ctx, x, out, {}));
}

}  // namespace
}  // namespace portops::test
