// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/reference_sums.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/mean.hpp>
#include <portops/ops/sum.hpp>

// What the tests of sum and mean have in common: what is said of one holds of the other, but for the division.

namespace portops::test {

using Axes = std::vector<std::int64_t>;

/// Which element of the result each element of x belongs to, and the extents of the result.
struct SumTerms {
  SumTerms(const Extents& x, const Axes& axes, bool keepdim) {
    const int rank = x.rank();
    std::vector<bool> reduced(static_cast<std::size_t>(rank), axes.empty());
    for (const std::int64_t axis : axes) {
      if (rank > 0) reduced[static_cast<std::size_t>((axis + rank) % rank)] = true;
    }
    std::vector<std::int64_t> kept;
    for (int axis = 0; axis < rank; ++axis) {
      const bool is_reduced = reduced[static_cast<std::size_t>(axis)];
      if (is_reduced) count *= x[axis];
      if (!is_reduced || keepdim) kept.push_back(is_reduced ? 1 : x[axis]);
    }
    out = Extents(std::span<const std::int64_t>(kept));
    const std::int64_t size = x.product();
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t rest = i, index = 0, step = 1;
      for (int axis = rank - 1; axis >= 0; --axis) {
        if (!reduced[static_cast<std::size_t>(axis)]) {
          index += rest % x[axis] * step;
          step *= x[axis];
        }
        rest /= x[axis];
      }
      of.push_back(index);
    }
  }

  Extents out;
  std::vector<std::int64_t> of;
  std::int64_t count = 1;
};

struct SumCase {
  Extents extents;
  Axes axes;
};

/// Rows and columns, short, long, and so long that they are cut into parts, and several axes.
inline std::vector<SumCase> all_ways() {
  const std::int64_t length = unless_sanitized(100001, 20001);
  return {{{5}, {}},          {{7, 33}, {1}},     {{7, 33}, {0}},     {{3, 9001}, {1}},
          {{9001, 3}, {0}},   {{4000, 9}, {1}},   {{9, 4000}, {0}},   {{20, 30, 40}, {0, 2}},
          {{20, 30, 40}, {}}, {{2, 300, 6}, {1}}, {{2, length}, {1}}, {{length, 2}, {0}}};
}

/// The least number above 0, and the largest one.
template <class T>
inline constexpr double least = std::is_same_v<T, double>  ? 0x1p-1074
                                : std::is_same_v<T, float> ? 0x1p-149
                                : std::is_same_v<T, f16>   ? 0x1p-24
                                                           : 0x1p-133;
template <class T>
inline constexpr double largest = std::is_same_v<T, double>  ? 0x1.fffffffffffffp+1023
                                  : std::is_same_v<T, float> ? 0x1.fffffep+127
                                  : std::is_same_v<T, f16>   ? 65504.0
                                                             : 0x1.fep+127;

class OnSums : public OnEveryBackend {
 protected:
  /// Fills x with value(result, k), the number k of the terms of a result.
  template <class T, class Value>
  static void fill_terms(TestTensor<T>& x, const SumTerms& terms, const Value& value) {
    std::vector<std::int64_t> filled(static_cast<std::size_t>(terms.out.product()));
    x.fill([&](std::int64_t i) {
      const std::int64_t result = terms.of[static_cast<std::size_t>(i)];
      return value(result, filled[static_cast<std::size_t>(result)]++);
    });
  }

  template <class T>
  static void expect_exact(TestTensor<T>& found, const std::function<double(std::int64_t)>& value,
                           const std::string& what) {
    found.download();
    for (std::int64_t i = 0; i < found.size(); ++i) {
      if (same_bits(found.element(i), static_cast<T>(value(i)))) continue;
      ADD_FAILURE() << what << "[" << i << "] is " << found[i] << ", expected " << value(i);
      return;
    }
  }

  /// What should come out for elements x.
  template <class T>
  ReferenceSums expected(const TestTensor<T>& x, const SumTerms& terms, bool is_mean) {
    ReferenceSums sums(terms.out);
    const double divisor = is_mean ? static_cast<double>(terms.count) : 1.0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      sums.add(terms.of[static_cast<std::size_t>(i)], x[i] / divisor, std::abs(x[i] / divisor));
    }
    return sums;
  }

  /// Both operators and their gradients.
  template <class T>
  void check(const Extents& extents, const Axes& axes, bool keepdim = false, Layout layout = Layout::contiguous,
             Layout other_layout = Layout::contiguous) {
    const SumTerms terms(extents, axes, keepdim);
    TestTensor<T> x(ctx, extents, layout), out(ctx, terms.out, other_layout);
    x.fill_randomly(1);
    const std::string what =
        extents.to_string() + " axes " + Extents(std::span<const std::int64_t>(axes)).to_string() + " ";
    sum(ctx, x, out, {axes, keepdim});
    expect_near(out, expected(x, terms, false), what + "sum");
    mean(ctx, x, out, {axes, keepdim});
    expect_near(out, expected(x, terms, true), what + "mean");

    TestTensor<T> out_grad(ctx, terms.out, other_layout), x_grad(ctx, extents, layout);
    out_grad.fill_randomly(2);
    check_gradients(terms, out_grad, x_grad, axes, keepdim);
  }

  /// Both gradients, to the bit.
  template <class T>
  void check_gradients(const SumTerms& terms, const TestTensor<T>& out_grad, TestTensor<T>& x_grad, const Axes& axes,
                       bool keepdim = false) {
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const TensorRef shape = TensorRef::without_data(ElementTypeOf<T>::value, x_grad.extents());
    const auto of_sum = [&](std::int64_t i) { return out_grad.element(terms.of[static_cast<std::size_t>(i)]); };
    sum_grad(ctx, shape, out_grad, x_grad, {axes, keepdim});
    expect_exact(x_grad, of_sum, "x_grad of sum");
    mean_grad(ctx, shape, out_grad, x_grad, {axes, keepdim});
    const auto of_mean = [&](std::int64_t i) { return static_cast<A>(of_sum(i)) / static_cast<A>(terms.count); };
    expect_exact(x_grad, of_mean, "x_grad of mean");
  }
};

}  // namespace portops::test
