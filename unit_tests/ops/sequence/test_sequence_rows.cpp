// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_reference.hpp"

#include <portops/ops/sequence_concat.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_reverse.hpp>
#include <portops/ops/sequence_unpad.hpp>

#include <limits>

// The operators that copy rows: sequence_reverse, sequence_pad, sequence_unpad, sequence_concat.

namespace portops::test {
namespace {

class SequenceRowsTest : public OnEveryBackend {
 protected:
  template <class T>
  using Tensors = std::vector<TestTensor<T>>;

  /// Rows of `values` by a map of rows; −1 is a row of `fill`.
  static std::vector<double> gathered(const std::vector<double>& values, const std::vector<std::int64_t>& rows,
                                      std::int64_t columns, double fill = 0.0) {
    std::vector<double> result;
    for (const std::int64_t row : rows) {
      for (std::int64_t c = 0; c < columns; ++c) {
        result.push_back(row < 0 ? fill : values[static_cast<std::size_t>(row * columns + c)]);
      }
    }
    return result;
  }

  template <class T>
  void check_reverse(const Offsets& lengths, const std::vector<std::int64_t>& columns,
                     Layout layout = Layout::contiguous) {
    const Levels levels = levels_of(lengths);
    SCOPED_TRACE("reverse " + levels.to_string());
    const Extents extents = extents_of(levels.rows(), columns);
    TestTensor<T> x(ctx, extents, layout), out(ctx, extents, layout);
    x.fill_randomly(1);
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i + 1 < levels.offsets().size(); ++i) {
      for (std::int64_t r = levels.offsets()[i + 1]; r > levels.offsets()[i]; --r) rows.push_back(r - 1);
    }
    sequence_reverse(ctx, {x, levels}, out);
    const std::vector<double> expected = gathered(values_in(x), rows, columns_of(extents));
    expect_equal(out, expected);
    TestTensor<T> x_grad(ctx, extents);
    sequence_reverse_grad(ctx, {TensorRef::without_data(x.ref().type(), extents), levels}, x, x_grad);
    expect_equal(x_grad, expected);
  }

  /// The rows of x, or −1, that stand in the rows of the padded tensor.
  static std::vector<std::int64_t> padded_rows(const Levels& levels, std::int64_t padded) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i + 1 < levels.offsets().size(); ++i) {
      for (std::int64_t t = 0; t < padded; ++t) {
        const std::int64_t row = levels.offsets()[i] + t;
        rows.push_back(row < levels.offsets()[i + 1] ? row : -1);
      }
    }
    return rows;
  }

  /// The rows of the padded tensor that the rows of x stand in.
  static std::vector<std::int64_t> own_rows(const Levels& levels, std::int64_t padded) {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i + 1 < levels.offsets().size(); ++i) {
      for (std::int64_t t = 0; t < levels.offsets()[i + 1] - levels.offsets()[i]; ++t) {
        rows.push_back(static_cast<std::int64_t>(i) * padded + t);
      }
    }
    return rows;
  }

  template <class T>
  void check_pad(const Offsets& lengths, std::int64_t more, const std::vector<std::int64_t>& columns,
                 Layout layout = Layout::contiguous, double pad_value = -1.5) {
    const Levels levels = levels_of(lengths);
    SCOPED_TRACE("pad " + levels.to_string());
    std::int64_t longest = 0;
    for (const std::int64_t length : lengths) longest = std::max(longest, length);
    const std::int64_t padded = longest + more;
    const Extents rows = extents_of(levels.rows(), columns);
    std::vector<std::int64_t> behind = columns;
    behind.insert(behind.begin(), padded);
    const Extents sides = extents_of(levels.items(), behind);
    const std::int64_t width = columns_of(rows);
    TestTensor<T> x(ctx, rows, layout), out(ctx, sides, layout), padded_grad(ctx, sides, layout), x_grad(ctx, rows);
    TestTensor<std::int64_t> length(ctx, {levels.items()}, layout);
    x.fill_randomly(1);
    padded_grad.fill_randomly(2);
    const SequencePadParams params{.padded_length = more == 0 ? -1 : padded, .pad_value = pad_value};
    sequence_pad(ctx, {x, levels}, out, length, params);
    expect_equal(out, gathered(values_in(x), padded_rows(levels, padded), width, pad_value));
    expect_equal(length, {lengths.begin(), lengths.end()});
    sequence_pad_grad(ctx, {x, levels}, padded_grad, x_grad, params);
    expect_equal(x_grad, gathered(values_in(padded_grad), own_rows(levels, padded), width));

    TestTensor<T> unpadded(ctx, rows, layout), sides_grad(ctx, sides, layout);
    sequence_unpad(ctx, padded_grad, levels, unpadded);
    expect_equal(unpadded, gathered(values_in(padded_grad), own_rows(levels, padded), width));
    sequence_unpad_grad(ctx, padded_grad, levels, x, sides_grad);
    expect_equal(sides_grad, gathered(values_in(x), padded_rows(levels, padded), width));
  }

  template <class T>
  void check_concat(const std::vector<Offsets>& lengths, const std::vector<std::int64_t>& columns,
                    Layout layout = Layout::contiguous) {
    SCOPED_TRACE("concat " + levels_of(lengths[0]).to_string());
    Tensors<T> x, x_grad;
    std::vector<RaggedRef> inputs;
    std::vector<TensorRef> gradients;
    std::vector<double> all;
    std::vector<std::int64_t> firsts;
    std::int64_t rows = 0;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const Levels levels = levels_of(lengths[k]);
      x.emplace_back(ctx, extents_of(levels.rows(), columns), layout);
      x_grad.emplace_back(ctx, extents_of(levels.rows(), columns), layout);
      x[k].fill_randomly(static_cast<unsigned>(k));
      const std::vector<double> values = values_in(x[k]);
      all.insert(all.end(), values.begin(), values.end());
      inputs.push_back({x[k], levels});
      gradients.push_back(k == 1 ? TensorRef() : x_grad[k].ref());
      firsts.push_back(rows);
      rows += levels.rows();
    }
    std::vector<std::int64_t> source;                            // of each row of out, among all rows
    std::vector<std::vector<std::int64_t>> own(lengths.size());  // rows of out
    Offsets joined;
    for (std::size_t i = 0; i < lengths[0].size(); ++i) {
      joined.push_back(0);
      for (std::size_t k = 0; k < lengths.size(); ++k) {
        const auto& offsets = inputs[k].levels.offsets();
        for (std::int64_t r = offsets[i]; r < offsets[i + 1]; ++r) {
          own[k].push_back(static_cast<std::int64_t>(source.size()));
          source.push_back(firsts[k] + r);
        }
        joined.back() += lengths[k][i];
      }
    }
    const std::int64_t width = columns_of(x[0].extents());
    TestTensor<T> out(ctx, extents_of(rows, columns), layout), out_grad(ctx, extents_of(rows, columns), layout);
    sequence_concat(ctx, inputs, out);
    expect_equal(out, gathered(all, source, width));
    EXPECT_EQ(sequence_concat_levels(inputs), levels_of(joined));
    out_grad.fill_randomly(77);
    sequence_concat_grad(ctx, inputs, out_grad, gradients);
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      if (k != 1) expect_equal(x_grad[k], gathered(values_in(out_grad), own[k], width));
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(SequenceRowsTest);

TEST_P(SequenceRowsTest, are_reversed) {
  for_each_type([&]<class T>() {
    for (const Offsets& lengths : some_lengths) {
      check_reverse<T>(lengths, {});
      check_reverse<T>(lengths, {8});
      check_reverse<T>(lengths, {2, 3});
    }
    check_reverse<T>({1000, 0, 3}, {40});
    check_reverse<T>({3, 2}, {0});
    for (const Layout layout : all_layouts) check_reverse<T>({3, 0, 20}, {4, 6}, layout);
  });
}

TEST_P(SequenceRowsTest, are_padded_and_unpadded) {
  for_each_type([&]<class T>() {
    for (const Offsets& lengths : some_lengths) {
      for (const std::int64_t more : {0, 1, 5}) {
        check_pad<T>(lengths, more, {});
        check_pad<T>(lengths, more, {8});
        check_pad<T>(lengths, more, {2, 3});
      }
    }
    check_pad<T>({1000, 0, 3}, 300, {20});
    check_pad<T>({3, 2}, 2, {0});
    for (const Layout layout : all_layouts) check_pad<T>({3, 0, 20}, 4, {4, 6}, layout);
    check_pad<T>({3, 0, 1}, 2, {5}, Layout::contiguous, std::numeric_limits<double>::infinity());
  });
}

TEST_P(SequenceRowsTest, are_concatenated) {
  for_each_type([&]<class T>() {
    for (const Offsets& lengths : some_lengths) {
      Offsets others(lengths.rbegin(), lengths.rend()), ones(lengths.size(), 1), none(lengths.size(), 0);
      check_concat<T>({lengths}, {3});
      check_concat<T>({lengths, others}, {});
      check_concat<T>({lengths, ones, others}, {8});
      check_concat<T>({none, lengths, none, ones}, {2, 3});
    }
    check_concat<T>({{1000, 0}, {3, 700}}, {40});
    for (const Layout layout : all_layouts) check_concat<T>({{3, 0, 20}, {1, 2, 0}}, {4, 6}, layout);
  });
}

TEST_P(SequenceRowsTest, are_concatenated_below_equal_upper_levels) {
  const Levels a({{0, 2}, {0, 1, 3}}), b({{0, 2}, {0, 0, 1}});
  TestTensor<float> x(ctx, {3}), y(ctx, {1}), out(ctx, {4});
  x.fill([](std::int64_t i) { return static_cast<double>(i); });
  y.fill([](std::int64_t) { return 9.0; });
  const std::vector<RaggedRef> inputs{{x, a}, {y, b}};
  EXPECT_EQ(sequence_concat_levels(inputs), Levels({{0, 2}, {0, 1, 4}}));
  sequence_concat(ctx, inputs, out);
  expect_equal(out, {0, 1, 2, 9});
}

}  // namespace
}  // namespace portops::test
