// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_reference.hpp"

#include <portops/ops/sequence_softmax.hpp>

#include <limits>

namespace portops::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Calls visit(the elements' indices) for each sequence and column.
template <class Visit>
void for_each_column(const Offsets& offsets, std::int64_t columns, const Visit& visit) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (std::int64_t c = 0; c < columns; ++c) {
      std::vector<std::size_t> indices;
      for (std::int64_t r = offsets[i]; r < offsets[i + 1]; ++r) {
        indices.push_back(static_cast<std::size_t>(r * columns + c));
      }
      visit(indices);
    }
  }
}

std::vector<double> reference_softmax(const std::vector<double>& x, const Offsets& offsets, std::int64_t columns) {
  std::vector<double> out(x.size());
  for_each_column(offsets, columns, [&](const std::vector<std::size_t>& indices) {
    double largest = -inf, sum = 0.0;
    for (const std::size_t i : indices) largest = std::max(largest, x[i]);
    for (const std::size_t i : indices) sum += out[i] = std::exp(x[i] - largest);
    for (const std::size_t i : indices) out[i] /= sum;
  });
  return out;
}

struct Gradient {
  std::vector<double> x_grad;
  std::vector<double> magnitude;
};

Gradient reference_softmax_grad(const std::vector<double>& out, const std::vector<double>& out_grad,
                                const Offsets& offsets, std::int64_t columns) {
  Gradient result{std::vector<double>(out.size()), std::vector<double>(out.size())};
  for_each_column(offsets, columns, [&](const std::vector<std::size_t>& indices) {
    double sum = 0.0, magnitude = 0.0;
    for (const std::size_t i : indices) {
      sum += out[i] * out_grad[i];
      magnitude += std::abs(out[i] * out_grad[i]);
    }
    for (const std::size_t i : indices) {
      result.x_grad[i] = out[i] * (out_grad[i] - sum);
      result.magnitude[i] = out[i] * (std::abs(out_grad[i]) + magnitude);
    }
  });
  return result;
}

class SequenceSoftmaxTest : public OnEveryBackend {
 protected:
  template <class T>
  void check(const Offsets& lengths, const std::vector<std::int64_t>& columns, Layout layout = Layout::contiguous) {
    const Levels levels = levels_of(lengths);
    SCOPED_TRACE(levels.to_string());
    const Extents extents = extents_of(levels.rows(), columns);
    TestTensor<T> x(ctx, extents, layout), out(ctx, extents, layout), out_grad(ctx, extents, layout),
        x_grad(ctx, extents, layout);
    x.fill_randomly(1, -9.0, 9.0);
    out_grad.fill_randomly(2);
    sequence_softmax(ctx, {x, levels}, out);
    const std::vector<double> expected = reference_softmax(values_in(x), levels.offsets(), columns_of(extents));
    expect_near(out, expected, expected, 4e-6);
    sequence_softmax_grad(ctx, {x, levels}, out, out_grad, x_grad);
    const Gradient gradient =
        reference_softmax_grad(values_in(out), values_in(out_grad), levels.offsets(), columns_of(extents));
    expect_near(x_grad, gradient.x_grad, gradient.magnitude);
  }
};

PORTOPS_ON_EVERY_BACKEND(SequenceSoftmaxTest);

TEST_P(SequenceSoftmaxTest, equals_the_reference_wherever_sequences_are_empty) {
  for_each_type([&]<class T>() {
    for (const Offsets& lengths : some_lengths) {
      check<T>(lengths, {});
      check<T>(lengths, {1});
      check<T>(lengths, {6});
      check<T>(lengths, {2, 3});
    }
  });
}

TEST_P(SequenceSoftmaxTest, equals_the_reference_for_long_sequences_among_short_ones) {
  for_each_type([&]<class T>() {
    check<T>({1, 20000, 0, 5}, {});
    check<T>({5, 1025, 0, 256, 257, 3000}, {40});
  });
}

TEST_P(SequenceSoftmaxTest, does_not_drift_over_constant_rows) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const std::int64_t rows : {16384, 50001}) {
        const Levels levels = levels_of({rows});
        TestTensor<T> x(ctx, {rows}), out(ctx, {rows}), out_grad(ctx, {rows}), x_grad(ctx, {rows});
        // Two numbers, so that the terms of the sums are no powers of two.
        x.fill([&](std::int64_t i) { return i == 0 ? constant + 0.3 : constant; });
        out_grad.fill([&](std::int64_t) { return constant; });
        sequence_softmax(ctx, {x, levels}, out);
        const std::vector<double> expected = reference_softmax(values_in(x), levels.offsets(), 1);
        expect_near(out, expected, expected);
        out.fill([&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
        sequence_softmax_grad(ctx, {x, levels}, out, out_grad, x_grad);
        const Gradient gradient = reference_softmax_grad(values_in(out), values_in(out_grad), levels.offsets(), 1);
        expect_near(x_grad, gradient.x_grad, gradient.magnitude);
      }
    }
  });
}

TEST_P(SequenceSoftmaxTest, takes_tensors_of_any_strides) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      check<T>({3, 0, 20}, {4, 6}, layout);
      check<T>({300, 0, 600}, {33}, layout);
    }
  });
}

TEST_P(SequenceSoftmaxTest, is_defined_for_infinities_and_nan) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {9}), out(ctx, {9});
    const std::vector<double> values{-inf, 1, 1, inf, 0, nan, 0, -inf, -inf};
    x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    sequence_softmax(ctx, {x, levels_of({3, 2, 2, 2})}, out);
    expect_equal(out, {0, 0.5, 0.5, nan, nan, nan, nan, nan, nan});
  });
}

TEST_P(SequenceSoftmaxTest, gradients_agree_with_central_differences) {
  const Levels levels = levels_of({3, 0, 1, 4});
  TestTensor<double> x(ctx, {8, 2}), out(ctx, {8, 2}), out_grad(ctx, {8, 2}), x_grad(ctx, {8, 2});
  x.fill_randomly(1);
  out_grad.fill_randomly(2);
  const std::vector<double> at = values_in(x), weights = values_in(out_grad);
  const auto loss = [&](const std::vector<double>& values) {
    x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    sequence_softmax(ctx, {x, levels}, out);
    return dot(values_in(out), weights);
  };
  const std::vector<double> expected = differences(at, loss);
  loss(at);
  sequence_softmax_grad(ctx, {x, levels}, out, out_grad, x_grad);
  expect_near(x_grad, expected, std::vector<double>(expected.size(), 1e3));
}

}  // namespace
}  // namespace portops::test
