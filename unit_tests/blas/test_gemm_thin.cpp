// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_product.hpp"
#include "support/sanitized.hpp"
#include "support/support.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

// Products of few rows or few columns and a matrix that is read once, which GPUs of compute capability 9.0 compute in a
// way of its own: how it is shared out depends on all extents.

namespace portops::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array transposes{Transpose::no, Transpose::yes};

class GemmThinTest : public OnEveryBackend {
 protected:
  /// Calls visit(shape) for a matrix of `lines` along the inner axis, and vectors that are rows of c, and columns.
  template <class Visit>
  static void for_both_sides(std::int64_t vectors, std::int64_t lines, std::int64_t inner, const Visit& visit) {
    visit(GemmShape{vectors, lines, inner});
    visit(GemmShape{lines, vectors, inner});
  }

  template <class T>
  void check(const GemmShape& shape, Layout layout = Layout::contiguous, double alpha = 1.0, double beta = 0.0) {
    for (const Transpose a : transposes) {
      for (const Transpose b : transposes) {
        SCOPED_TRACE(text_of(shape) + (a == Transpose::yes ? ", a transposed" : "") +
                     (b == Transpose::yes ? ", b transposed" : ""));
        GemmProduct<T>(ctx, shape, a, b, layout).check(ctx, alpha, beta);
      }
    }
  }
};
PORTOPS_ON_EVERY_BACKEND(GemmThinTest);

TEST_P(GemmThinTest, is_right_for_any_number_of_vectors) {
  for (const std::int64_t vectors : {1, 2, 3, 4, 5, 8, 9}) {
    for_both_sides(vectors, 100, 132, [&](const GemmShape& shape) {
      check<float>(shape);
      check<double>(shape);
    });
  }
}

/// Blocks whose warps share the inner axis, or do not; clusters of blocks that share it, the last of which has less; a
/// last block with few lines; and inner axes that are taken in several chunks.
TEST_P(GemmThinTest, is_right_however_it_is_shared_out) {
  struct Extents {
    std::int64_t lines, inner;
  };
  for (const auto& [lines, inner] :
       {Extents{64, 64}, {300, 2052}, {68, 9000}, {132, 20484}, {4100, 260}, {20004, 68}}) {
    if (lines * inner > unless_sanitized(3'000'000, 700'000)) continue;
    for (const std::int64_t vectors : {1, 3, 7}) {
      for_both_sides(vectors, lines, inner, [&](const GemmShape& shape) { check<float>(shape); });
    }
    for_both_sides(2, lines, inner, [&](const GemmShape& shape) { check<double>(shape); });
  }
}

/// Matrices whose rows are apart, at multiples of 16 bytes, and c with rows at odd places: what lies between its rows
/// stays as it was.
TEST_P(GemmThinTest, takes_rows_that_lie_apart_and_scales_and_adds) {
  struct Scales {
    double alpha, beta;
  };
  const auto check_scales = [&]<class T>(const GemmShape& shape, const Scales& scales) {
    constexpr std::int64_t gap = 4, gap_of_c = 3;
    const std::int64_t stride = shape.columns + gap_of_c;
    for (const Transpose a_turned : transposes) {
      for (const Transpose b_turned : transposes) {
        const auto matrix_of = [&](Transpose turned, std::int64_t rows, std::int64_t columns) {
          return turned == Transpose::yes ? std::array{columns, rows} : std::array{rows, columns};
        };
        const auto [a_rows, a_columns] = matrix_of(a_turned, shape.rows, shape.inner);
        const auto [b_rows, b_columns] = matrix_of(b_turned, shape.inner, shape.columns);
        TestTensor<T> a(ctx, {a_rows, a_columns + gap}), b(ctx, {b_rows, b_columns + gap}),
            c(ctx, {shape.rows, stride});
        a.fill_randomly(1);
        b.fill_randomly(2);
        c.fill_randomly(3);
        const TestTensor<T> before = c;
        const auto part = [](const TestTensor<T>& tensor, std::int64_t columns) {
          return TensorRef(tensor.ref().data(), tensor.ref().type(), {tensor.extents()[0], columns},
                           {tensor.extents()[1], 1}, tensor.ref().space());
        };
        gemm(ctx, a_turned, b_turned, scales.alpha, part(a, a_columns), part(b, b_columns), scales.beta,
             part(c, shape.columns));
        c.download();
        for (std::int64_t i = 0; i < shape.rows; ++i) {
          for (std::int64_t j = 0; j < stride; ++j) {
            const std::int64_t at = i * stride + j;
            if (j >= shape.columns) {
              ASSERT_EQ(c[at], before[at]) << i << ", " << j;
              continue;
            }
            double sum = 0.0, magnitude = 0.0;
            for (std::int64_t k = 0; k < shape.inner; ++k) {
              const double x = a_turned == Transpose::yes ? a[k * (a_columns + gap) + i] : a[i * (a_columns + gap) + k];
              const double y = b_turned == Transpose::yes ? b[j * (b_columns + gap) + k] : b[k * (b_columns + gap) + j];
              sum += x * y;
              magnitude += std::abs(x * y);
            }
            const double added = scales.beta == 0.0 ? 0.0 : scales.beta * before[at];
            const double expected = scales.alpha * sum + added;
            const double within =
                GemmProduct<T>::default_tolerance() * (std::abs(scales.alpha) * magnitude + std::abs(added)) +
                1.01 * rounding<T>() * std::abs(expected);
            ASSERT_NEAR(c[at], expected, within) << i << ", " << j << " of " << text_of(shape);
          }
        }
      }
    }
  };
  for (const Scales& scales : {Scales{1.0, 0.0}, {-0.5, 0.0}, {2.0, -3.0}, {0.3, 1.0}}) {
    for_both_sides(5, 100, 2100, [&](const GemmShape& shape) { check_scales.operator()<float>(shape, scales); });
    for_both_sides(1, 100, 68, [&](const GemmShape& shape) { check_scales.operator()<double>(shape, scales); });
  }
}

TEST_P(GemmThinTest, takes_what_lies_at_odd_places) {
  for_both_sides(3, 96, 260, [&](const GemmShape& shape) { check<float>(shape, Layout::padded, 2.0, -3.0); });
  for (const auto& [lines, inner] : {std::array<std::int64_t, 2>{97, 260}, {100, 261}, {102, 258}, {67, 2051}}) {
    for_both_sides(4, lines, inner, [&](const GemmShape& shape) {
      check<float>(shape);
      check<double>(shape);
    });
  }
}

TEST_P(GemmThinTest, adds_a_bias_to_all_rows) {
  for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
    for_both_sides(3, 100, 68, [&](const GemmShape& shape) {
      // Whole numbers, so that nothing is rounded.
      GemmProduct<float> product(ctx, shape);
      product.a.fill([](std::int64_t i) { return static_cast<double>(i % 5); });
      product.b.fill([](std::int64_t i) { return static_cast<double>(i % 3); });
      TestTensor<float> bias(ctx, {shape.columns}, layout);
      bias.fill([](std::int64_t i) { return static_cast<double>(i % 17) - 8.0; });
      gemm(ctx, Transpose::no, Transpose::no, 2.0, product.a, product.b, 0.0, product.c, {}, {}, bias);
      product.c.download();
      for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i) {
        const std::int64_t row = i / shape.columns, column = i % shape.columns;
        double sum = 0.0;
        for (std::int64_t k = 0; k < shape.inner; ++k) {
          sum += product.a[row * shape.inner + k] * product.b[k * shape.columns + column];
        }
        ASSERT_EQ(product.c[i], 2.0 * sum + bias[column]) << i << " of " << text_of(shape);
      }
    });
  }
}

/// Matrices of their own and one for all, and more of them than there are blocks at once.
TEST_P(GemmThinTest, takes_batches) {
  constexpr std::int64_t lines = 68, inner = 72;
  for (const std::int64_t count : {3, 300}) {
    for (const bool shares_matrix : {false, true}) {
      for (const std::int64_t vectors : {1, 6}) {
        TestTensor<float> x(ctx, {count, vectors, inner}), matrix(ctx, {shares_matrix ? 1 : count, inner, lines}),
            out(ctx, {count, vectors, lines});
        x.fill_randomly(1);
        matrix.fill_randomly(2);
        const auto first = [](const TestTensor<float>& tensor, std::int64_t rows, std::int64_t columns) {
          return TensorRef(tensor.ref().data(), tensor.ref().type(), {rows, columns}, {columns, 1},
                           tensor.ref().space());
        };
        gemm(ctx, Transpose::no, Transpose::no, 1.0, first(x, vectors, inner), first(matrix, inner, lines), 0.0,
             first(out, vectors, lines), {count, vectors * inner, shares_matrix ? 0 : inner * lines, vectors * lines});
        out.download();
        for (std::int64_t i = 0; i < count * vectors * lines; ++i) {
          const std::int64_t product = i / (vectors * lines), row = i / lines;
          double sum = 0.0, magnitude = 0.0;
          for (std::int64_t k = 0; k < inner; ++k) {
            const double term =
                x[row * inner + k] * matrix[((shares_matrix ? 0 : product) * inner + k) * lines + i % lines];
            sum += term;
            magnitude += std::abs(term);
          }
          ASSERT_NEAR(out[i], sum, 2e-6 * magnitude) << i << " of " << count << " x " << vectors;
        }
      }
    }
  }
}

/// An element of the matrix reaches its own line of c alone, whatever else is not there.
TEST_P(GemmThinTest, lets_nan_and_infinity_through_where_they_belong) {
  constexpr GemmShape shape{3, 100, 2052};
  for (const Transpose turned : transposes) {
    GemmProduct<float> product(ctx, shape, Transpose::no, turned);
    const auto index = [&](std::int64_t k, std::int64_t column) {
      return turned == Transpose::yes ? column * shape.inner + k : k * shape.columns + column;
    };
    product.a.fill([](std::int64_t) { return 1.0; });
    product.b.fill([&](std::int64_t i) {
      return i == index(2051, 7) ? infinity : i == index(0, 99) ? -infinity : 1.0;
    });
    product.run(ctx);
    product.c.download();
    for (std::int64_t i = 0; i < shape.rows * shape.columns; ++i) {
      const std::int64_t column = i % shape.columns;
      ASSERT_EQ(product.c[i], column == 7 ? infinity : column == 99 ? -infinity : 2052.0) << i;
    }
  }
}

TEST_P(GemmThinTest, does_not_drift_over_constant_data) {
  skip_where_sanitized();
  for (const double constant : drifting_constants) {
    for (const std::int64_t inner : {4096, 100000}) {
      for (const Transpose turned : transposes) {
        GemmProduct<float> product(ctx, {2, 64, inner}, Transpose::no, turned);
        product.a.fill([&](std::int64_t) { return constant; });
        product.b.fill([](std::int64_t) { return 0.0875; });
        SCOPED_TRACE(std::to_string(inner) + " of " + std::to_string(constant));
        product.check(Context(ctx).deterministic(true), 1.0, 0.0);
      }
    }
  }
}

TEST_P(GemmThinTest, tf32_rounds_operands_to_11_bits_at_most) {
  const Context tf32 = Context(ctx).math(Math::tf32);
  for (const std::int64_t vectors : {2, 6}) {
    for_both_sides(vectors, 100, 2052,
                   [&](const GemmShape& shape) { GemmProduct<float>(ctx, shape).check(tf32, 1.0, 0.0, 0x1p-10); });
  }
}

TEST_P(GemmThinTest, gives_the_same_bits_again) {
  const Context deterministic = Context(ctx).deterministic(true);
  for_both_sides(4, 200, 9000, [&](const GemmShape& shape) {
    GemmProduct<float> product(ctx, shape);
    product.run(deterministic);
    product.c.download();
    const TestTensor<float> first = product.c;
    for (int round = 0; round < 3; ++round) {
      product.c.fill([](std::int64_t) { return infinity; });
      product.run(deterministic);
      product.c.download();
      for (std::int64_t i = 0; i < 800; ++i) ASSERT_TRUE(same_bits(first.element(i), product.c.element(i))) << i;
    }
  });
}

}  // namespace
}  // namespace portops::test
