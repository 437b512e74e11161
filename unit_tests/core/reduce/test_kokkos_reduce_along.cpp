// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/loop/axes.hpp"
#include "core/reduce/reduce.hpp"
#include "core/reduce/sum.hpp"
#include "ops/p_norm/norm.hpp"
#include "support/kokkos_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

// Hosts add the elements of a row in the order that the plan tells, however they take them: several rows side by side,
// rows with a rest, rows in parts.

namespace portops::test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

template <class T>
class ReduceAlongTest : public testing::Test {};
using Types = testing::Types<double, float, f16, bf16>;
TYPED_TEST_SUITE(ReduceAlongTest, Types);

/// Joins the first `count` values, a power of two, as neighbours at half the distance.
template <class A>
A join_by_tree(std::vector<A> values, std::size_t count) {
  for (std::size_t half = count / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) values[i] += values[i + half];
  }
  return values[0];
}

/// A part of a row: pack i falls to lane i modulo lanes; the numbers of a pack are joined first, then the lanes of each
/// warp, then the warps. Of the first pack the part has all but the first `before` columns.
template <class T, class F, class A = impl::Arithmetic<T>>
A part_in_order(const F& f, const impl::ReducePlan& plan, const T* row, std::int64_t stride, std::int64_t first,
                std::int64_t end, std::int64_t before) {
  const auto lanes = static_cast<std::size_t>(plan.lanes), pack = static_cast<std::size_t>(plan.pack);
  std::vector<std::vector<A>> sums(lanes, std::vector<A>(pack, f.identity()));
  for (std::int64_t c = first; c < end; ++c) {
    const auto at = static_cast<std::size_t>(c - first + before);
    A& sum = sums[at / pack % lanes][at % pack];
    sum = f.add(sum, static_cast<A>(row[c * stride]));
  }
  const std::size_t warp = std::min<std::size_t>(lanes, 32);
  std::vector<A> warps;
  for (std::size_t w = 0; w < lanes; w += warp) {
    std::vector<A> of_lanes;
    for (std::size_t lane = w; lane < w + warp; ++lane) of_lanes.push_back(join_by_tree(sums[lane], pack));
    warps.push_back(join_by_tree(of_lanes, warp));
  }
  return join_by_tree(warps, warps.size());
}

struct Rows {
  std::int64_t rows, columns, row_stride, column_stride;
};

/// Of every 5th row the squares overflow, of the next one they vanish: with `f` that are norms, these are only near.
template <class T, class F, class G>
void check(const F& f, const G& g, const Rows& of) {
  using A = impl::Arithmetic<T>;
  SCOPED_TRACE(testing::Message() << of.rows << " rows of " << of.columns << " columns, strides " << of.row_stride
                                  << " and " << of.column_stride);
  const Kokkos::View<T*, Host> x(
      "x", static_cast<std::size_t>((of.rows - 1) * of.row_stride + (of.columns - 1) * of.column_stride + 1));
  const Kokkos::View<T*, Host> out("out", static_cast<std::size_t>(of.rows));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / of.row_stride;
    const float scale = sizeof(T) == 2 || !F::rescales ? 1.0f : row % 5 == 3 ? 1e30f : row % 5 == 4 ? 1e-30f : 1.0f;
    x(i) = T(pattern(static_cast<std::int64_t>(i)) * scale);
  }
  const ElementType type = ElementTypeOf<T>::value;
  const TensorRef terms(x.data(), type, {of.rows, of.columns}, {of.row_stride, of.column_stride}, MemorySpace::host);
  impl::AxisSet reduced{};
  reduced[1] = true;
  const TensorRef results = impl::with_reduced_axes(TensorRef(out), terms.extents(), reduced, false);
  const impl::ReducePlan plan = impl::make_reduce_plan(impl::make_reduction(terms, results, reduced));
  static const impl::ReduceLabels labels("test");
  const Host space;
  impl::reduce<ExecutionSpaceAdapter<Host>::backend, T>(space, labels, f, g, plan);
  space.fence();

  for (std::int64_t row = 0; row < of.rows; ++row) {
    const T* const first = x.data() + row * of.row_stride;
    const std::int64_t part = plan.parts() == 1 ? of.columns : plan.part_columns;
    const std::int64_t before = plan.shifted ? row * of.columns % plan.pack : 0;
    std::vector<A> parts;
    bool safe = true;
    double squares = 0.0;
    for (std::int64_t c = 0; c < of.columns; c += part) {
      parts.push_back(part_in_order(f, plan, first, of.column_stride, c, std::min(of.columns, c + part), before));
      if constexpr (F::rescales) safe = safe && f.is_safe(parts.back());
    }
    for (std::int64_t c = 0; c < of.columns; ++c) {
      const auto element = static_cast<double>(first[c * of.column_stride]);
      squares += element * element;
    }
    const auto found = static_cast<double>(out(static_cast<std::size_t>(row)));
    if (!safe) {
      const double tolerance = sizeof(T) == 2 ? 1e-2 : 1e-5;
      ASSERT_NEAR(found, std::sqrt(squares), tolerance * std::sqrt(squares)) << "row " << row;
      continue;
    }
    T expected;
    if (parts.size() == 1) {
      expected = static_cast<T>(f.finish({A(1), parts[0]}));
    } else {
      const std::size_t lanes = std::min<std::size_t>(std::bit_ceil((parts.size() + 7) / 8), 256);
      std::vector<double> of_lanes(lanes, 0.0);
      for (std::size_t k = 0; k < parts.size(); ++k) of_lanes[k % lanes] += static_cast<double>(parts[k]);
      expected = static_cast<T>(static_cast<A>(g.finish({1.0, join_by_tree(of_lanes, lanes)})));
    }
    ASSERT_EQ(found, static_cast<double>(expected)) << "row " << row;
  }
}

template <class T>
void check_all(const Rows& of) {
  using A = impl::Arithmetic<T>;
  check<T>(impl::Sum<A>{}, impl::Sum<double>{}, of);
  check<T>(impl::Norm<A, impl::NormOrder::two>(2.0), impl::NormJoin(2.0), of);
}

TYPED_TEST(ReduceAlongTest, adds_short_rows_in_the_order_of_the_plan) {
  for (const std::int64_t columns : {2, 3, 7, 8, 9, 16, 17, 24, 33, 40, 48, 64, 65, 100, 129, 250}) {
    for (const std::int64_t rows : {1, 15, 16, 37}) {
      check_all<TypeParam>({rows, columns, columns, 1});
      check_all<TypeParam>({rows, columns, columns + 3, 1});
      check_all<TypeParam>({rows, columns, 2 * columns + 1, 2});
    }
  }
}

TYPED_TEST(ReduceAlongTest, adds_long_rows_in_the_order_of_the_plan) {
  for (const std::int64_t columns : {131, 262, 519, 1000, 1003, 20011, 70000, 70001}) {
    for (const std::int64_t rows : {1, 9, 20}) {
      check_all<TypeParam>({rows, columns, columns, 1});
      check_all<TypeParam>({rows, columns, 2 * columns + 1, 2});
    }
  }
}

}  // namespace
}  // namespace portops::test
