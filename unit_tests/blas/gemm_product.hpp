// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm.hpp"

#include "support/support.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace portops::test {

using blas::gemm;
using blas::Transpose;

struct GemmShape {
  std::int64_t rows, columns, inner;
};

inline std::string text_of(const GemmShape& shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + " x " + std::to_string(shape.inner);
}

/// Three matrices of a product, and what it must give.
template <class T>
class GemmProduct {
 public:
  GemmProduct(const Context& ctx, const GemmShape& shape, Transpose a_transpose = Transpose::no,
              Transpose b_transpose = Transpose::no, Layout layout = Layout::contiguous)
      : shape_(shape),
        a_transpose_(a_transpose),
        b_transpose_(b_transpose),
        a(ctx, extents(a_transpose, shape.rows, shape.inner), layout),
        b(ctx, extents(b_transpose, shape.inner, shape.columns), layout),
        c(ctx, {shape.rows, shape.columns}, layout) {
    a.fill_randomly(1);
    b.fill_randomly(2);
    c.fill_randomly(3);
  }

  void run(const Context& ctx, double alpha = 1.0, double beta = 0.0) {
    gemm(ctx, a_transpose_, b_transpose_, alpha, a, b, beta, c);
  }

  /// Runs, and compares with the same product in double. The error may be `tolerance` of the magnitudes summed, and one
  /// rounding of the result.
  void check(const Context& ctx, double alpha, double beta, double tolerance = default_tolerance()) {
    const std::vector<double> a_rows = values(a, a_transpose_ == Transpose::yes);
    const std::vector<double> b_columns = values(b, b_transpose_ == Transpose::no);
    const std::vector<double> before = values(c, false);
    run(ctx, alpha, beta);
    c.download();
    const auto inner = static_cast<std::size_t>(shape_.inner);
    for (std::int64_t i = 0; i < shape_.rows; ++i) {
      for (std::int64_t j = 0; j < shape_.columns; ++j) {
        const double* x = a_rows.data() + static_cast<std::size_t>(i) * inner;
        const double* y = b_columns.data() + static_cast<std::size_t>(j) * inner;
        const std::int64_t at = i * shape_.columns + j;
        const double added = beta == 0.0 ? 0.0 : beta * before[static_cast<std::size_t>(at)];
        long double sum = 0.0;
        double magnitude = 0.0;
        for (std::size_t k = 0; k < inner; ++k) {
          sum += x[k] * y[k];
          magnitude += std::abs(x[k] * y[k]);
        }
        const auto expected = static_cast<double>(alpha * sum + added);
        const double error = tolerance * (std::abs(alpha) * magnitude + std::abs(added));
        ASSERT_NEAR(c[at], expected, error + 1.01 * rounding<T>() * std::abs(expected)) << i << ", " << j;
      }
    }
  }

  static constexpr double default_tolerance() { return std::is_same_v<T, double> ? 1e-12 : 2e-6; }

 private:
  static Extents extents(Transpose transpose, std::int64_t rows, std::int64_t columns) {
    return transpose == Transpose::yes ? Extents{columns, rows} : Extents{rows, columns};
  }

  /// The elements row by row, or column by column.
  static std::vector<double> values(const TestTensor<T>& matrix, bool by_columns) {
    const std::int64_t rows = matrix.extents()[0];
    const std::int64_t columns = matrix.extents()[1];
    std::vector<double> result;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      result.push_back(by_columns ? matrix[i % rows * columns + i / rows] : matrix[i]);
    }
    return result;
  }

  GemmShape shape_;
  Transpose a_transpose_, b_transpose_;

 public:
  TestTensor<T> a, b, c;
};

}  // namespace portops::test
