// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_reference.hpp"

#include <portops/ops/sequence_expand.hpp>

namespace portops::test {
namespace {

/// For each row of out, the row of x that it is a copy of.
std::vector<std::int64_t> sources(const Levels& x, const Offsets& times) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t first = x ? x.offsets()[i] : row;
    const std::int64_t end = x ? x.offsets()[i + 1] : row + 1;
    for (std::int64_t k = times[i]; k < times[i + 1]; ++k) {
      for (std::int64_t r = first; r < end; ++r) rows.push_back(r);
    }
  }
  return rows;
}

class SequenceExpandTest : public OnEveryBackend {
 protected:
  /// Repeats sequences of such lengths (rows, where there are no levels) so often, and takes the gradient.
  template <class T>
  void check(const Levels& levels, std::int64_t rows, const Levels& y, const std::vector<std::int64_t>& columns,
             Layout layout = Layout::contiguous, SequenceExpandParams params = {}) {
    SCOPED_TRACE(levels.to_string() + " by " + y.to_string() + ", " + std::to_string(columns.size()));
    const auto source = sources(levels, y.offsets(static_cast<int>(params.ref_level)));
    const auto out_rows = static_cast<std::int64_t>(source.size());
    TestTensor<T> x(ctx, extents_of(rows, columns), layout), x_grad(ctx, extents_of(rows, columns), layout);
    TestTensor<T> out(ctx, extents_of(out_rows, columns), layout), out_grad(ctx, out.extents(), layout);
    x.fill_randomly(1);
    out_grad.fill_randomly(2);
    sequence_expand(ctx, {x, levels}, y, out, params);
    sequence_expand_grad(ctx, {x, levels}, y, out_grad, x_grad, params);

    const std::int64_t width = columns_of(x.extents());
    const std::vector<double> from = values_in(x), gradients = values_in(out_grad);
    std::vector<double> copied(gradients.size()), sums(from.size()), magnitudes(from.size());
    for (std::int64_t i = 0; i < out_rows * width; ++i) {
      const auto at = static_cast<std::size_t>(source[static_cast<std::size_t>(i / width)] * width + i % width);
      copied[static_cast<std::size_t>(i)] = from[at];
      sums[at] += gradients[static_cast<std::size_t>(i)];
      magnitudes[at] += std::abs(gradients[static_cast<std::size_t>(i)]);
    }
    expect_equal(out, copied);
    expect_near(x_grad, sums, magnitudes);
  }
};

PORTOPS_ON_EVERY_BACKEND(SequenceExpandTest);

TEST_P(SequenceExpandTest, repeats_rows_wherever_there_are_no_copies) {
  for_each_type([&]<class T>() {
    for (const Offsets& times : some_lengths) {
      const auto rows = static_cast<std::int64_t>(times.size());
      check<T>({}, rows, levels_of(times), {});
      check<T>({}, rows, levels_of(times), {6});
      check<T>({}, rows, levels_of(times), {2, 3});
    }
  });
}

TEST_P(SequenceExpandTest, repeats_sequences_wherever_they_are_empty_or_have_no_copies) {
  for_each_type([&]<class T>() {
    for (const Offsets& lengths : some_lengths) {
      for (const std::int64_t shift : {0, 1, 2}) {
        Offsets times;
        for (std::size_t i = 0; i < lengths.size(); ++i) times.push_back((static_cast<std::int64_t>(i) + shift) % 4);
        const Levels levels = levels_of(lengths);
        check<T>(levels, levels.rows(), levels_of(times), {5});
        check<T>(levels, levels.rows(), levels_of(times), {});
      }
    }
  });
}

TEST_P(SequenceExpandTest, repeats_long_sequences_and_repeats_often) {
  for_each_type([&]<class T>() {
    check<T>({}, 4, levels_of({1, 0, 20000, 2}), {1});
    check<T>({}, 4, levels_of({1, 3000, 2, 700}), {40});
    check<T>(levels_of({600, 0, 1}), 601, levels_of({3, 9, 2}), {12});
    check<T>(levels_of({2, 1}), 3, levels_of({900, 10000}), {3});
  });
}

TEST_P(SequenceExpandTest, does_not_drift_over_constant_gradients) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const std::int64_t columns : {1, 3}) {
        TestTensor<T> x_grad(ctx, {1, columns}), out_grad(ctx, {16384, columns});
        out_grad.fill([&](std::int64_t) { return constant; });
        const TensorRef x = TensorRef::without_data(ElementTypeOf<T>::value, {1, columns});
        sequence_expand_grad(ctx, {x, {}}, levels_of({16384}), out_grad, x_grad);
        const std::vector<double> sums(static_cast<std::size_t>(columns), 16384.0 * out_grad[0]);
        expect_near(x_grad, sums, std::vector<double>(sums.size(), std::abs(sums[0])));
      }
    }
  });
}

TEST_P(SequenceExpandTest, takes_tensors_of_any_strides) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      check<T>({}, 3, levels_of({2, 0, 5}), {4, 6}, layout);
      check<T>(levels_of({2, 0, 3}), 5, levels_of({2, 1, 3}), {4, 6}, layout);
    }
  });
}

TEST_P(SequenceExpandTest, repeats_as_any_level_says) {
  const Levels y({{0, 2, 2, 3}, {0, 1, 5, 9}});
  check<float>(levels_of({2, 1, 3}), 6, y, {2}, Layout::contiguous, {.ref_level = 0});
  check<float>(levels_of({2, 1, 3}), 6, y, {2}, Layout::contiguous, {.ref_level = 1});
  check<float>({}, 3, y, {2}, Layout::contiguous, {.ref_level = 0});
}

TEST_P(SequenceExpandTest, gradients_agree_with_central_differences) {
  const Levels levels = levels_of({2, 0, 3}), y = levels_of({2, 4, 3});
  TestTensor<double> x(ctx, {5, 2}), out(ctx, {13, 2}), out_grad(ctx, {13, 2}), x_grad(ctx, {5, 2});
  x.fill_randomly(1);
  out_grad.fill_randomly(2);
  const std::vector<double> weights = values_in(out_grad);
  const std::vector<double> expected = differences(values_in(x), [&](const std::vector<double>& values) {
    x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    sequence_expand(ctx, {x, levels}, y, out);
    return dot(values_in(out), weights);
  });
  sequence_expand_grad(ctx, {x, levels}, y, out_grad, x_grad);
  expect_near(x_grad, expected, std::vector<double>(expected.size(), 1e3));
}

TEST(SequenceExpandLevels, are_those_of_the_copies) {
  EXPECT_EQ(sequence_expand_levels(levels_of({2, 0, 3}), levels_of({2, 4, 1})), levels_of({2, 2, 0, 0, 0, 0, 3}));
  EXPECT_EQ(sequence_expand_levels({}, levels_of({2, 0, 1})), levels_of({2, 0, 1}));
}

}  // namespace
}  // namespace portops::test
