// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lerp_reference.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/lerp.hpp>

#include <bit>
#include <limits>

namespace portops::test {
namespace {

class LerpTest : public OnEveryBackend {
 protected:
  /// Runs lerp and expects the reference, to the bit.
  template <class T>
  void expect_exact(const TestTensor<T>& x, const TestTensor<T>& y, const TestTensor<T>& weight, TestTensor<T>& out) {
    lerp(ctx, x.ref(), y.ref(), weight.ref(), out.ref());
    out.download();
    const Extents& shape = out.extents();
    const std::int64_t size = shape.product();
    for (std::int64_t i = 0; i < size; ++i) {
      const T expected = lerp_reference(x.element(x.broadcast_index(shape, i)), y.element(y.broadcast_index(shape, i)),
                                        weight.element(weight.broadcast_index(shape, i)));
      if (same_bits(expected, out.element(i))) continue;
      ADD_FAILURE() << "out[" << i << "] of " << shape.to_string() << " is " << out[i] << ", expected "
                    << static_cast<double>(expected);
      return;
    }
  }

  template <class T>
  void check_shapes(const Extents& x_shape, const Extents& y_shape, const Extents& weight_shape, const Extents& shape,
                    Layout x_layout = Layout::contiguous, Layout y_layout = Layout::contiguous,
                    Layout weight_layout = Layout::contiguous, Layout out_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, x_shape, x_layout), y(ctx, y_shape, y_layout), weight(ctx, weight_shape, weight_layout);
    TestTensor<T> out(ctx, shape, out_layout);
    x.fill_randomly(1);
    y.fill_randomly(2);
    weight.fill_randomly(3, 0.0, 1.0);
    expect_exact(x, y, weight, out);
  }
};

PORTOPS_ON_EVERY_BACKEND(LerpTest);

TEST_P(LerpTest, equals_the_reference_for_every_size_around_packs_and_runs) {
  for_each_type([&]<class T>() {
    for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 2047, 2048, 2049, 4100}) {
      check_shapes<T>({size}, {size}, {size}, {size});
    }
  });
}

TEST_P(LerpTest, equals_the_reference_for_rank_0_and_8) {
  for_each_type([&]<class T>() {
    check_shapes<T>({}, {}, {}, {});
    check_shapes<T>({2, 1, 3, 1, 2, 3, 1, 5}, {2, 3, 1, 2, 2, 1, 2, 5}, {1, 3, 3, 1, 1, 3, 2, 1},
                    {2, 3, 3, 2, 2, 3, 2, 5});
  });
}

TEST_P(LerpTest, equals_the_reference_for_the_shapes_of_models) {
  check_shapes<float>({4, 16, 1, 64}, {4, 16, 1, 64}, {4, 16, 1, 64}, {4, 16, 1, 64});
  check_shapes<float>({3, 5, 197, 175}, {3, 5, 197, 175}, {175}, {3, 5, 197, 175});
  check_shapes<f16>({3, 5, 197, 175}, {197, 1}, {5, 1, 1}, {3, 5, 197, 175});
  check_shapes<double>({16, 102400}, {16, 102400}, {16, 1}, {16, 102400});
  check_shapes<bf16>({16, 204800}, {204800}, {}, {16, 204800});
  check_shapes<float>({4, 16, 1024, 64}, {4, 16, 1024, 64}, {4, 16, 1, 64}, {4, 16, 1024, 64});
}

TEST_P(LerpTest, equals_the_reference_for_the_largest_shape_of_a_model) {
  skip_where_sanitized();
  check_shapes<f16>({4, 16, 1024, 1024}, {4, 16, 1024, 1024}, {4, 16, 1024, 1024}, {4, 16, 1024, 1024});
}

TEST_P(LerpTest, reads_and_writes_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    for (const Layout x : all_layouts) {
      for (const Layout out : all_layouts) {
        check_shapes<T>({5, 7, 70}, {5, 7, 70}, {7, 1}, {5, 7, 70}, x, Layout::padded, Layout::contiguous, out);
        check_shapes<T>({3, 301}, {301}, {3, 301}, {3, 301}, x, Layout::every_other, Layout::reversed, out);
      }
    }
  });
}

TEST_P(LerpTest, reads_rows_that_run_backwards) {
  constexpr std::int64_t rows = 70, columns = 512;
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {rows, columns}), y(ctx, {columns}), weight(ctx, {rows, columns}), out(ctx, {rows, columns});
    x.fill_randomly(1);
    y.fill_randomly(2);
    weight.fill_randomly(3);
    const TensorRef backwards(static_cast<T*>(x.ref().data()) + (rows - 1) * columns, {rows, columns}, {-columns, 1},
                              x.ref().space());
    lerp(ctx, backwards, y.ref(), weight.ref(), out.ref());
    out.download();
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t row = i / columns, column = i % columns;
      ASSERT_EQ(out[i], static_cast<double>(lerp_reference(x.element((rows - 1 - row) * columns + column),
                                                           y.element(column), weight.element(i))))
          << "row " << row << ", column " << column;
    }
  });
}

TEST_P(LerpTest, reads_operands_that_are_misaligned_to_each_other) {
  for_each_type([&]<class T>() {
    const Extents shape{1000};
    for (std::int64_t shift = 0; shift < 9; ++shift) {
      TestTensor<T> x(ctx, {1016}), y(ctx, {1016}), weight(ctx, {1016}), out(ctx, {1016});
      x.fill_randomly(1);
      y.fill_randomly(2);
      weight.fill_randomly(3);
      const auto part = [&](const TestTensor<T>& tensor, std::int64_t by) {
        return TensorRef(static_cast<T*>(tensor.ref().data()) + by, shape, tensor.ref().space());
      };
      lerp(ctx, part(x, shift), part(y, 2 * shift % 5), part(weight, 1), part(out, shift / 2));
      out.download();
      for (std::int64_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(out[i + shift / 2], static_cast<double>(lerp_reference(
                                          x.element(i + shift), y.element(i + 2 * shift % 5), weight.element(i + 1))))
            << "element " << i << " at shift " << shift;
      }
    }
  });
}

TEST_P(LerpTest, works_in_place) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      TestTensor<T> x(ctx, {6, 131}, layout), y(ctx, {131}), weight(ctx, {6, 1});
      x.fill_randomly(1);
      y.fill_randomly(2);
      weight.fill_randomly(3);
      std::vector<T> before;
      for (std::int64_t i = 0; i < 6 * 131; ++i) before.push_back(x.element(i));
      lerp(ctx, x.ref(), y.ref(), weight.ref(), x.ref());
      x.download();
      for (std::int64_t i = 0; i < 6 * 131; ++i) {
        const T expected =
            lerp_reference(before[static_cast<std::size_t>(i)], y.element(i % 131), weight.element(i / 131));
        ASSERT_EQ(x[i], static_cast<double>(expected)) << "element " << i;
      }
    }
  });
}

TEST_P(LerpTest, takes_a_number_for_weight_and_defaults_to_a_half) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {77}), y(ctx, {77}), out(ctx, {77});
    x.fill_randomly(1);
    y.fill_randomly(2);
    for (const double weight : {0.3, -1.7, 0.0, 1.0}) {
      lerp(ctx, x.ref(), y.ref(), weight, out.ref());
      out.download();
      for (std::int64_t i = 0; i < 77; ++i) {
        ASSERT_EQ(out[i], static_cast<double>(lerp_reference(x.element(i), y.element(i), weight)));
      }
    }
    lerp(ctx, x.ref(), y.ref(), out.ref());
    out.download();
    for (std::int64_t i = 0; i < 77; ++i) {
      ASSERT_EQ(out[i], static_cast<double>(lerp_reference(x.element(i), y.element(i), 0.5)));
    }
  });
}

TEST_P(LerpTest, follows_the_formula_for_nan_inf_and_subnormals) {
  for_each_type([&]<class T>() {
    const double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double tiny = std::is_same_v<T, double> ? 5e-324 : std::is_same_v<T, f16> ? 0x1p-24 : 0x1p-133;
    const std::vector<double> values{inf, -inf, nan, 0.0, -0.0, tiny, -tiny, 1.0, -3.5};
    const auto n = static_cast<std::int64_t>(values.size());
    TestTensor<T> x(ctx, {n, 1, 1}), y(ctx, {n, 1}), weight(ctx, {n}), out(ctx, {n, n, n});
    for (TestTensor<T>* tensor : {&x, &y, &weight}) {
      tensor->fill([&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    }
    lerp(ctx, x.ref(), y.ref(), weight.ref(), out.ref());
    out.download();
    for (std::int64_t i = 0; i < n * n * n; ++i) {
      const double expected = lerp_reference(x.element(i / (n * n)), y.element(i / n % n), weight.element(i % n));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(out[i])) << "element " << i;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(out[i]), std::bit_cast<std::uint64_t>(expected)) << "element " << i;
      }
    }
  });
}

TEST_P(LerpTest, accepts_tensors_without_elements) {
  TestTensor<float> x(ctx, {3, 0}), y(ctx, {1, 1}), weight(ctx, {0}), out(ctx, {3, 0});
  lerp(ctx, x.ref(), y.ref(), weight.ref(), out.ref());
  out.download();
}

TEST_P(LerpTest, gives_the_same_bits_in_both_modes) {
  TestTensor<float> x(ctx, {300, 70}), y(ctx, {70}), weight(ctx, {300, 1}), fast(ctx, {300, 70}), fixed(ctx, {300, 70});
  x.fill_randomly(1);
  y.fill_randomly(2);
  weight.fill_randomly(3);
  lerp(ctx, x.ref(), y.ref(), weight.ref(), fast.ref());
  lerp(Context(ctx).deterministic(true), x.ref(), y.ref(), weight.ref(), fixed.ref());
  fast.download();
  fixed.download();
  for (std::int64_t i = 0; i < 300 * 70; ++i) ASSERT_EQ(fast[i], fixed[i]);
}

}  // namespace
}  // namespace portops::test
