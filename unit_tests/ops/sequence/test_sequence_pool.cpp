// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_pool_reference.hpp"

#include <limits>

namespace portops::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class SequencePoolTest : public OnEveryBackend {
 protected:
  /// Pools sequences of such lengths, and takes the gradient, for every type.
  template <class T>
  void check(const Offsets& lengths, const std::vector<std::int64_t>& columns, Layout layout = Layout::contiguous,
             Layout out_layout = Layout::contiguous, const std::vector<std::string>& types = pool_types) {
    const Levels levels = levels_of(lengths);
    TestTensor<T> x(ctx, extents_of(levels.rows(), columns), layout);
    x.fill_randomly(1);
    for (const std::string& type : types) {
      SCOPED_TRACE(type + " of " + levels.to_string() + ", " + x.extents().to_string());
      check_type(x, levels, {.pooltype = type, .pad_value = -3.5}, out_layout);
    }
  }

  template <class T>
  void check_type(TestTensor<T>& x, const Levels& levels, SequencePoolParams params, Layout out_layout) {
    const Extents& extents = x.extents();
    Extents results = extents;
    results[0] = levels.items();
    const std::int64_t columns = columns_of(extents);
    TestTensor<T> out(ctx, results, out_layout), out_grad(ctx, results, out_layout), x_grad(ctx, extents, out_layout);
    TestTensor<std::int64_t> index(ctx, results, out_layout);
    const bool is_max = params.pooltype == "max";
    sequence_pool(ctx, {x, levels}, out, is_max ? index.ref() : TensorRef(), params);
    const Pooled expected = reference_pool(values_in(x), levels.offsets(), columns, params.pooltype, params.pad_value);
    const bool adds = params.pooltype == "sum" || params.pooltype == "average" || params.pooltype == "sqrt";
    adds ? expect_near(out, expected.out, expected.magnitude) : expect_equal(out, expected.out);
    if (is_max) expect_equal(index, expected.index);

    out_grad.fill_randomly(2);
    if (is_max) params.index = index;
    sequence_pool_grad(ctx, {x, levels}, out_grad, x_grad, params);
    const std::vector<double> gradient =
        reference_pool_grad(values_in(out_grad), expected.index, levels.offsets(), columns, params.pooltype);
    adds ? expect_near(x_grad, gradient, gradient_scale(gradient)) : expect_equal(x_grad, gradient);
  }

  static std::vector<double> gradient_scale(std::vector<double> gradient) {
    for (double& element : gradient) element = std::abs(element);
    return gradient;
  }
};

PORTOPS_ON_EVERY_BACKEND(SequencePoolTest);

TEST_P(SequencePoolTest, equals_the_reference_wherever_sequences_are_empty) {
  for_each_type([&]<class T>() {
    for (const Offsets& lengths : some_lengths) {
      check<T>(lengths, {});
      check<T>(lengths, {5});
      check<T>(lengths, {2, 3});
    }
  });
}

TEST_P(SequencePoolTest, equals_the_reference_for_any_number_of_columns) {
  for_each_type([&]<class T>() {
    for (const std::int64_t columns : {1, 2, 3, 4, 6, 7, 8, 9, 16, 31, 33, 64, 100, 127, 128, 250, 512, 513, 1030}) {
      check<T>({3, 0, 20, 1}, {columns}, Layout::contiguous, Layout::contiguous, {"average", "max"});
    }
    check<T>({3, 0, 20, 1}, {0});
    check<T>({3, 2}, {1, 4, 1, 2, 1, 3, 1});
  });
}

TEST_P(SequencePoolTest, equals_the_reference_for_long_sequences_among_short_ones) {
  const std::vector<std::string> types{"sum", "sqrt", "max"};
  for_each_type([&]<class T>() {
    const auto check_types = [&](const Offsets& lengths, const std::vector<std::int64_t>& columns) {
      check<T>(lengths, columns, Layout::contiguous, Layout::contiguous, types);
    };
    check_types({1, 20000, 0, 5}, {1});
    check_types({40001}, {});
    check_types({0, 9000, 30, 16385, 16384, 16383, 0}, {2});
    check_types({5, 1025, 0, 256, 257, 255, 3000}, {40});
    check_types({700, 1, 2, 3}, {130});
  });
}

TEST_P(SequencePoolTest, equals_the_reference_for_few_long_sequences_among_many_short_ones) {
  Offsets lengths;
  for (std::int64_t i = 0; i < 400; ++i) lengths.push_back(i * 7919 % 9);
  for (const auto& [at, length] : {std::pair{0, 3000}, {17, 700}, {200, 129}, {399, 513}}) {
    lengths[static_cast<std::size_t>(at)] = length;
  }
  const std::vector<std::string> types{"sum", "average", "max"};
  for_each_type([&]<class T>() {
    for (const std::int64_t columns : {1, 24, 75, 300}) {
      check<T>(lengths, {columns}, Layout::contiguous, Layout::contiguous, types);
    }
  });
}

TEST_P(SequencePoolTest, equals_the_reference_for_many_short_sequences) {
  Offsets lengths;
  for (std::int64_t i = 0; i < 5000; ++i) lengths.push_back(i * 7919 % 5);
  for_each_type([&]<class T>() {
    check<T>(lengths, {1});
    check<T>(lengths, {6});
  });
  check<float>(lengths, {33});
}

// So many that a GPU's threads take two columns, or four, also of long ones, which are cut into pieces.
TEST_P(SequencePoolTest, equals_the_reference_where_sequences_are_many_and_columns_no_packs) {
  Offsets lengths;
  for (std::int64_t i = 0; i < 5000; ++i) lengths.push_back(i * 7919 % 5);
  lengths[300] = 3000;
  lengths[4000] = 130;
  for_each_type([&]<class T>() {
    check<T>(lengths, {37}, Layout::contiguous, Layout::padded, {"average", "max"});
    check<T>(lengths, {75}, Layout::every_other, Layout::contiguous, {"sum", "max"});
  });
}

TEST_P(SequencePoolTest, does_not_drift_over_constant_rows) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      const auto check_constant = [&](const Offsets& lengths, std::int64_t columns) {
        const Levels levels = levels_of(lengths);
        TestTensor<T> x(ctx, {levels.rows(), columns});
        x.fill([&](std::int64_t) { return constant; });
        for (const std::string type : {"sum", "average", "sqrt"}) {
          SCOPED_TRACE(type + " of " + levels.to_string() + ", " + std::to_string(columns) + " columns");
          check_type(x, levels, {.pooltype = type}, Layout::contiguous);
        }
      };
      check_constant({16384}, 1);
      check_constant({5, 50000, 4096}, 1);
      check_constant({20000}, 3);
    }
  });
}

TEST_P(SequencePoolTest, takes_tensors_of_any_strides) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      check<T>({3, 0, 2, 11}, {4, 6}, layout, Layout::contiguous);
      check<T>({3, 0, 2, 11}, {4, 6}, Layout::contiguous, layout);
      check<T>({3, 0, 2, 11}, {2, 1, 8}, layout, layout);
      check<T>({300, 0, 500}, {3, 20}, layout, layout, {"average", "max"});
    }
  });
}

TEST_P(SequencePoolTest, gradients_agree_with_central_differences) {
  const Levels levels = levels_of({3, 0, 1, 4});
  TestTensor<double> x(ctx, {8, 3}), out(ctx, {4, 3}), out_grad(ctx, {4, 3}), x_grad(ctx, {8, 3});
  TestTensor<std::int64_t> index(ctx, {4, 3});
  x.fill_randomly(5);
  out_grad.fill_randomly(6);
  const std::vector<double> at = values_in(x), weights = values_in(out_grad);
  for (const std::string& type : pool_types) {
    SequencePoolParams params{.pooltype = type};
    const auto loss = [&](const std::vector<double>& values) {
      x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
      sequence_pool(ctx, {x, levels}, out, {}, params);
      return dot(values_in(out), weights);
    };
    const std::vector<double> expected = differences(at, loss);
    loss(at);
    if (type == "max") {
      sequence_pool(ctx, {x, levels}, out, index, params);
      params.index = index;
    }
    sequence_pool_grad(ctx, {x, levels}, out_grad, x_grad, params);
    expect_near(x_grad, expected, std::vector<double>(expected.size(), 1e3));
  }
}

TEST_P(SequencePoolTest, takes_the_first_of_equal_rows_and_a_nan_before_all) {
  for_each_type([&]<class T>() {
    const Levels levels = levels_of({4, 3, 2, 3, 0});
    const std::vector<double> values{1, 2, 2, 0, -inf, -inf, -inf, 1, nan, nan, inf, nan};
    TestTensor<T> x(ctx, {12}), out(ctx, {5});
    TestTensor<std::int64_t> index(ctx, {5});
    x.fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    sequence_pool(ctx, {x, levels}, out, index, {.pooltype = "max", .pad_value = 9.0});
    expect_equal(out, {2, -inf, nan, nan, 9});
    expect_equal(index, {1, 4, 8, 9, -1});
    // The same over sequences that are cut into pieces.
    const std::int64_t rows = 30000;
    TestTensor<T> long_x(ctx, {rows}), long_out(ctx, {1});
    TestTensor<std::int64_t> long_index(ctx, {1});
    long_x.fill([](std::int64_t i) { return i >= 9000 && i % 7000 >= 2000 ? 3.0 : 1.0; });
    sequence_pool(ctx, {long_x, levels_of({rows})}, long_out, long_index, {.pooltype = "max"});
    expect_equal(long_out, {3});
    expect_equal(long_index, {9000});
    long_x.fill([](std::int64_t i) { return i == 29000 || i == 29001 ? nan : inf; });
    sequence_pool(ctx, {long_x, levels_of({rows})}, long_out, long_index, {.pooltype = "max"});
    expect_equal(long_out, {nan});
    expect_equal(long_index, {29000});
  });
}

TEST_P(SequencePoolTest, pads_with_any_number) {
  for_each_type([&]<class T>() {
    for (const double pad : {0.0, -1.5, inf, nan}) {
      TestTensor<T> x(ctx, {0, 3}), out(ctx, {2, 3});
      for (const std::string& type : pool_types) {
        sequence_pool(ctx, {x, levels_of({0, 0})}, out, {}, {.pooltype = type, .pad_value = pad});
        expect_equal(out, std::vector<double>(6, pad));
      }
    }
  });
}

TEST_P(SequencePoolTest, pools_the_last_of_several_levels) {
  const Levels levels({{0, 1, 3}, {0, 2, 2, 5}});
  TestTensor<float> x(ctx, {5, 2}), out(ctx, {3, 2});
  x.fill_randomly(1);
  sequence_pool(ctx, {x, levels}, out, {}, {.pooltype = "sum"});
  const Pooled expected = reference_pool(values_in(x), {0, 2, 2, 5}, 2, "sum", 0.0);
  expect_near(out, expected.out, expected.magnitude);
}

TEST_P(SequencePoolTest, gives_the_same_bits_again) {
  const Levels levels = levels_of({3000, 0, 11, 900});
  TestTensor<float> x(ctx, {3911, 36}), first(ctx, {4, 36}), again(ctx, {4, 36});
  x.fill_randomly(1);
  sequence_pool(ctx, {x, levels}, first);
  for (int run = 0; run < 5; ++run) {
    sequence_pool(ctx, {x, Levels({levels.offsets()})}, again);
    expect_equal(again, values_in(first));
  }
}

TEST_P(SequencePoolTest, may_forget_its_levels_while_it_runs) {
  TestTensor<float> x(ctx, {60000, 4}), out(ctx, {3, 4});
  x.fill([](std::int64_t) { return 1.0; });
  for (int run = 0; run < 20; ++run) {
    sequence_pool(ctx, {x, levels_of({20000 + run, 10000, 30000 - run})}, out, {}, {.pooltype = "sum"});
    const double a = 20000 + run, b = 10000, c = 30000 - run;
    expect_equal(out, {a, a, a, a, b, b, b, b, c, c, c, c});
  }
}

}  // namespace
}  // namespace portops::test
