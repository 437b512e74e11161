// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "p_norm_reference.hpp"
#include "support/sanitized.hpp"

namespace portops::test {
namespace {

using Axes = std::vector<std::int64_t>;

class PNormTest : public OnEveryBackend {
 protected:
  /// Orders over sets of axes of a random tensor.
  template <class T>
  void check(const Extents& extents, const std::vector<Axes>& axes, const std::vector<double>& orders = all_orders,
             Layout x_layout = Layout::contiguous, Layout out_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, extents, x_layout);
    x.fill_randomly(1);
    for (const Axes& axis : axes) check_norms(ctx, x, {.axis = axis}, orders, out_layout);
  }

  /// The elements of a result.
  template <class T>
  static std::vector<double> downloaded(TestTensor<T>& tensor) {
    tensor.download();
    return values_of(tensor);
  }
};

PORTOPS_ON_EVERY_BACKEND(PNormTest);

TEST_P(PNormTest, equals_the_reference_for_every_order_and_axis) {
  for_each_type([&]<class T>() {
    check<T>({300}, {{0}});
    check<T>({5, 7}, {{-1}, {0}, {-2, -1}});
    check<T>({3, 250}, {{1}, {0}, {0, 1}});
    check<T>({37, 250, 3}, {{-1}, {0}, {1}, {0, 2}, {1, 2}, {0, 1, 2}});
    check<T>({2, 3, 4, 5}, {{0}, {2}, {0, 2}, {1, 3}, {-2, -1}, {0, 1, 2, 3}});
    check<T>({2, 1, 3, 2, 1, 2, 3, 2}, {{4}, {-1}, {0, 2, 7}, {1, 3, 5}});
  });
}

TEST_P(PNormTest, equals_the_reference_for_long_rows_and_columns) {
  for_each_type([&]<class T>() {
    const std::vector<double> orders = is_sanitized() ? std::vector{2.3} : std::vector{1.0, 2.0, 2.3, -inf};
    check<T>({1, 70001}, {{1}}, orders);
    check<T>({3, 33000}, {{1}}, orders);
    check<T>({70001, 3}, {{0}}, orders);
    check<T>({5000, 64}, {{0}}, orders);
    check<T>({40, 30, 70}, {{0, 2}, {1}}, orders);
  });
  if (is_sanitized()) return;
  for (const Extents& extents : {Extents{1, 70001}, Extents{3, 33000}}) check<float>(extents, {{1}});
  for (const Extents& extents : {Extents{70001, 3}, Extents{5000, 64}}) check<float>(extents, {{0}});
}

TEST_P(PNormTest, equals_the_reference_for_many_short_rows) {
  for_each_type([&]<class T>() {
    check<T>({9999, 7}, {{1}}, {1.0, 2.0, 2.3, inf});
    check<T>({10000, 1}, {{0}, {1}}, {1.0, 2.0, 2.3, inf});
    check<T>({2, 9999}, {{0}}, {1.0, 2.0, 2.3, inf});
    check<T>({1, 1}, {{0}, {1}, {0, 1}});
    check<T>({4, 1, 5}, {{1}, {0, 1}, {1, 2}});
    // Several of these columns' tiles share a team.
    for (const Extents& extents : {Extents{999, 3, 3}, Extents{77, 2, 6}, Extents{333, 7, 2}}) {
      check<T>(extents, {{1}}, {1.0, 2.0, 2.3, -inf});
    }
  });
}

TEST_P(PNormTest, equals_the_reference_for_rows_and_columns_that_hosts_take_together) {
  for_each_type([&]<class T>() {
    const std::vector<double> orders{0.0, 2.0, 2.3, -1.3, inf};
    // One row more than those that are reduced side by side, and rows of every number of sums up to these.
    const std::int64_t step = unless_sanitized(1, 3);
    for (std::int64_t length = 1; length <= 40; length += step) check<T>({33, length}, {{1}}, orders);
    check<T>({7, 5, 6}, {{2}, {1}}, orders, Layout::padded);
    check<T>({7, 5, 6}, {{2}, {1}}, orders, Layout::every_other);
    // Whole rows of few columns, one behind the other, and what is left over of the slots.
    const std::int64_t length = unless_sanitized(1001, 101);
    for (const std::int64_t columns : {2, 3, 10, 17, 64, 65}) check<T>({3, length, columns}, {{1}}, orders);
    // Small tensors of results that are cut into parts.
    for (const std::int64_t columns : {513, 1024, 1100}) check<T>({300, columns}, {{0}}, orders);
    check<T>({9, 300, 70}, {{1}}, orders);
  });
}

TEST_P(PNormTest, equals_the_reference_for_every_length_around_packs) {
  for_each_type([&]<class T>() {
    for (const std::int64_t length : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 513, 2047, 2049}) {
      check<T>({3, length}, {{1}}, {2.0});
      check<T>({length, 3}, {{0}}, {2.0});
    }
  });
}

TEST_P(PNormTest, keeps_reduced_axes_with_extent_1) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {2, 3, 4, 5});
    x.fill_randomly(1);
    for (const Axes& axis : {Axes{-1}, Axes{0}, Axes{1, 3}, Axes{0, 1, 2, 3}}) {
      check_norms(ctx, x, {.axis = axis, .keepdim = true}, {0.0, 2.0, 2.3, inf});
    }
    check_norms(ctx, x, {.keepdim = true, .asvector = true}, {0.0, 2.0, 2.3, inf});
  });
}

TEST_P(PNormTest, takes_all_axes_as_one_vector_whatever_axis_says) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{300}, Extents{5, 7}, Extents{37, 250, 3}, Extents{2, 3, 4, 5}}) {
      TestTensor<T> x(ctx, extents);
      x.fill_randomly(1);
      check_norms(ctx, x, {.asvector = true}, all_orders);
      check_norms(ctx, x, {.axis = {99, 99}, .asvector = true}, {2.0});
      check_norms(ctx, x, {.axis = {}, .asvector = true}, {2.0});
    }
  });
}

TEST_P(PNormTest, takes_axes_in_any_order) {
  TestTensor<float> x(ctx, {20, 3, 40}), expected(ctx, {3}), out(ctx, {3});
  x.fill_randomly(1);
  p_norm(ctx, x, expected, {.axis = {0, 2}});
  for (const Axes& axis : {Axes{2, 0}, Axes{-1, -3}, Axes{-1, 0}, Axes{2, -3}}) {
    p_norm(ctx, x, out, {.axis = axis});
    EXPECT_EQ(downloaded(out), downloaded(expected)) << "axes " << axis[0] << ", " << axis[1];
  }
}

TEST_P(PNormTest, is_of_order_2_over_the_last_axis_by_default) {
  TestTensor<float> x(ctx, {3, 2}), out(ctx, {3});
  x.fill([](std::int64_t i) { return std::vector<double>{3, -4, 5, 12, 0, -8}[static_cast<std::size_t>(i)]; });
  p_norm(ctx, x, out);
  const std::vector<double> norms = downloaded(out);
  EXPECT_FLOAT_EQ(static_cast<float>(norms[0]), 5.0f);
  EXPECT_FLOAT_EQ(static_cast<float>(norms[1]), 13.0f);
  EXPECT_FLOAT_EQ(static_cast<float>(norms[2]), 8.0f);
}

TEST_P(PNormTest, does_not_use_epsilon) {
  TestTensor<float> x(ctx, {7, 33}), expected(ctx, {7}), out(ctx, {7});
  x.fill_randomly(1, -1e-3, 1e-3);
  p_norm(ctx, x, expected);
  for (const double epsilon : {0.0, 1e-3, 1e30}) {
    p_norm(ctx, x, out, {.epsilon = epsilon});
    EXPECT_EQ(downloaded(out), downloaded(expected)) << "epsilon " << epsilon;
  }
}

TEST_P(PNormTest, takes_a_number_for_a_vector_of_one_element) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {});
    for (const double value : {-3.5, 0.0, 0.25}) {
      x.fill([&](std::int64_t) { return value; });
      check_norms(ctx, x, {.axis = {-1}}, all_orders);
      check_norms(ctx, x, {.axis = {0}}, all_orders);
      check_norms(ctx, x, {.asvector = true}, all_orders);
    }
  });
}

TEST_P(PNormTest, reads_and_writes_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    const std::vector<double> orders{1.0, 2.0, 2.3, -inf};
    for (const Layout x : all_layouts) {
      for (const Layout out : all_layouts) {
        check<T>({6, 37, 5}, {{-1}, {0}, {1}, {0, 2}}, orders, x, out);
        check<T>({3, 601}, {{1}, {0}}, orders, x, out);
      }
      check<T>({2, 20001}, {{1}, {0, 1}}, {2.0}, x);
      check<T>({5001, 2}, {{0}, {0, 1}}, {2.0}, x);
    }
  });
}

TEST_P(PNormTest, reads_rows_that_are_misaligned) {
  for_each_type([&]<class T>() {
    for_each_misaligned<T>(ctx, [&](const TensorRef& x, const std::vector<double>& values) {
      check_norms<T>(ctx, x, values, {.axis = {1}}, {2.0, 2.3, inf});
      check_norms<T>(ctx, x, values, {.axis = {0}}, {2.0, 2.3, inf});
    });
  });
}

TEST_P(PNormTest, reads_elements_that_stand_for_many) {
  for_each_type([&]<class T>() {
    TestTensor<T> storage(ctx, {37});
    storage.fill_randomly(1);
    auto* data = static_cast<T*>(storage.ref().data());
    const TensorRef same_rows(data, {50, 37}, {0, 1}, storage.ref().space());
    const TensorRef same_columns(data, {37, 50}, {1, 0}, storage.ref().space());
    std::vector<double> in_rows, in_columns;
    for (std::int64_t i = 0; i < 50 * 37; ++i) {
      in_rows.push_back(storage[i % 37]);
      in_columns.push_back(storage[i / 50]);
    }
    for (const Axes& axis : {Axes{0}, Axes{1}, Axes{0, 1}}) {
      check_norms<T>(ctx, same_rows, in_rows, {.axis = axis}, all_orders);
      check_norms<T>(ctx, same_columns, in_columns, {.axis = axis}, all_orders);
    }
  });
}

TEST_P(PNormTest, needs_a_workspace_that_depends_on_nothing_but_the_call) {
  TestTensor<float> x(ctx, {2, 70001}), y(ctx, {2, 70001}), out(ctx, {2}), other_out(ctx, {2});
  y.fill_randomly(1);
  for (const double p : {0.0, 2.0, 2.3, inf}) {
    const PNormParams params{.porder = p};
    const std::size_t needed = p_norm_workspace(ctx, x, out, params);
    EXPECT_EQ(p_norm_workspace(ctx, x, out, params), needed);
    EXPECT_EQ(p_norm_workspace(ctx, y, other_out, params), needed);
  }
  TestTensor<float> few(ctx, {2, 3});
  EXPECT_EQ(p_norm_workspace(ctx, few, out), 0u);
}

}  // namespace
}  // namespace portops::test
