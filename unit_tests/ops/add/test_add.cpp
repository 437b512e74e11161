// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "add_reference.hpp"
#include "support/broadcast_patterns.hpp"

#include <bit>
#include <limits>

namespace portops::test {
namespace {

class AddTest : public OnEveryBackend {
 protected:
  template <class T>
  void check_shapes(const Extents& x_shape, const Extents& y_shape, const Extents& shape,
                    Layout x_layout = Layout::contiguous, Layout y_layout = Layout::contiguous,
                    Layout out_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, x_shape, x_layout), y(ctx, y_shape, y_layout), out(ctx, shape, out_layout);
    x.fill_randomly(1);
    y.fill_randomly(2);
    expect_exact_sum(ctx, x, y, out);
  }
};

PORTOPS_ON_EVERY_BACKEND(AddTest);

TEST_P(AddTest, equals_the_reference_for_every_size_around_packs_and_runs) {
  for_each_type([&]<class T>() {
    for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 2047, 2048, 2049, 4100}) {
      check_shapes<T>({size}, {size}, {size});
    }
  });
}

TEST_P(AddTest, equals_the_reference_for_rank_0_and_8) {
  for_each_type([&]<class T>() {
    check_shapes<T>({}, {}, {});
    check_shapes<T>({}, {1, 1}, {1, 1});
    check_shapes<T>({2, 1, 3, 1, 2, 3, 1, 5}, {2, 3, 1, 2, 2, 1, 2, 5}, {2, 3, 3, 2, 2, 3, 2, 5});
  });
}

TEST_P(AddTest, equals_the_reference_for_the_shapes_of_models) {
  for_each_type([&]<class T>() {
    check_shapes<T>({4, 16, 33, 64}, {4, 16, 33, 64}, {4, 16, 33, 64});
    check_shapes<T>({4, 64, 32, 32}, {64, 1, 1}, {4, 64, 32, 32});
    check_shapes<T>({3, 5, 197, 175}, {175}, {3, 5, 197, 175});
    check_shapes<T>({512, 1024}, {1024}, {512, 1024});
    check_shapes<T>({1024}, {512, 1024}, {512, 1024});
    check_shapes<T>({2, 8, 64, 64}, {2, 1, 1, 64}, {2, 8, 64, 64});
    check_shapes<T>({300, 1}, {1, 700}, {300, 700});
    check_shapes<T>({70000, 3}, {3}, {70000, 3});
    check_shapes<T>({100003}, {}, {100003});
  });
}

TEST_P(AddTest, equals_the_reference_for_every_pattern_of_rank_3) {
  for_each_type([&]<class T>() {
    for (const Extents& shape : {Extents{3, 4, 8}, Extents{4, 90, 301}}) {
      for (unsigned x = 0; x < 8; ++x) {
        for (unsigned y = 0; y < 8; ++y) {
          SCOPED_TRACE("x " + masked(shape, x, false).to_string() + ", y " + masked(shape, y, false).to_string());
          check_shapes<T>(masked(shape, x, false), masked(shape, y, true), masked(shape, x | y, false));
        }
      }
    }
  });
}

TEST_P(AddTest, reads_and_writes_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    for (const Layout x : all_layouts) {
      for (const Layout out : all_layouts) {
        check_shapes<T>({5, 7, 70}, {5, 7, 70}, {5, 7, 70}, x, Layout::padded, out);
        check_shapes<T>({3, 301}, {301}, {3, 301}, x, Layout::every_other, out);
        check_shapes<T>({7, 1}, {5, 7, 70}, {5, 7, 70}, Layout::contiguous, x, out);
      }
    }
  });
}

TEST_P(AddTest, works_in_place) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      TestTensor<T> x(ctx, {6, 131}, layout), y(ctx, {131});
      x.fill_randomly(1);
      y.fill_randomly(2);
      std::vector<T> before;
      for (std::int64_t i = 0; i < 6 * 131; ++i) before.push_back(x.element(i));
      add(ctx, x.ref(), y.ref(), x.ref());
      x.download();
      for (std::int64_t i = 0; i < 6 * 131; ++i) {
        const T expected = add_reference(before[static_cast<std::size_t>(i)], y.element(i % 131));
        ASSERT_EQ(x[i], static_cast<double>(expected)) << "element " << i;
      }
    }
  });
}

TEST_P(AddTest, takes_a_number_for_y) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {3, 77}), out(ctx, {3, 77});
    x.fill_randomly(1);
    for (const double y : {0.3, -1.7, 0.0, 1000.0}) {
      add(ctx, x.ref(), y, out.ref());
      out.download();
      for (std::int64_t i = 0; i < 3 * 77; ++i) {
        ASSERT_EQ(out[i], static_cast<double>(add_reference(x.element(i), y)));
      }
    }
  });
}

TEST_P(AddTest, follows_the_formula_for_nan_inf_and_subnormals) {
  for_each_type([&]<class T>() {
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double tiny = std::is_same_v<T, double> ? 5e-324 : std::is_same_v<T, f16> ? 0x1p-24 : 0x1p-133;
    const std::vector<double> values{inf, -inf, nan, 0.0, -0.0, tiny, -tiny, 1.0, -3.5};
    const auto n = static_cast<std::int64_t>(values.size());
    TestTensor<T> x(ctx, {n, 1}), y(ctx, {n}), out(ctx, {n, n});
    for (TestTensor<T>* tensor : {&x, &y}) {
      tensor->fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    }
    expect_exact_sum(ctx, x, y, out);
  });
}

TEST_P(AddTest, rounds_once_and_overflows_to_infinity) {
  TestTensor<f16> x(ctx, {3}), out(ctx, {3});
  x.fill([](std::int64_t i) { return i == 0 ? 2048.0 : i == 1 ? 65504.0 : 1.0; });
  add(ctx, x.ref(), 1.0003, out.ref());  // would be 1 in f16, and the sum 2048
  out.download();
  EXPECT_EQ(out[0], 2050.0);
  add(ctx, x.ref(), x.ref(), out.ref());
  out.download();
  EXPECT_EQ(out[1], std::numeric_limits<double>::infinity());
}

TEST_P(AddTest, accepts_tensors_without_elements) {
  TestTensor<float> x(ctx, {3, 0}), y(ctx, {1, 1}), out(ctx, {3, 0});
  add(ctx, x.ref(), y.ref(), out.ref());
  out.download();
}

}  // namespace
}  // namespace portops::test
