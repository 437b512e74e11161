// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/loop/axes.hpp"
#include "core/reduce/reduce.hpp"
#include "core/reduce/sum.hpp"
#include "support/kokkos_support.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <utility>
#include <vector>

// The kernel with which a GPU reduces short rows, carried out thread by thread on the host: any machine shows that it
// adds what it should, in the order in which hosts do.

namespace portops::test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

/// Rows of x: `kept` of them, `row` elements from one to the next, and `step` from a column to the next.
struct Rows {
  std::int64_t kept, columns, row, step;
  std::int64_t first = 0;  ///< elements from where packs are aligned
};

/// Matrices one behind the other, whose columns are added up.
struct Matrices {
  std::int64_t count, runs, columns;
  std::int64_t first = 0;
};

template <class T>
struct Sums {
  using A = impl::Arithmetic<T>;
  using Kernel = impl::ReduceTiles<T, impl::Sum<A>>;

  explicit Sums(const Rows& rows) { make(rows.first, {rows.kept, rows.columns}, {rows.row, rows.step}, {rows.kept}); }
  explicit Sums(const Matrices& matrices) : takes_rows(false) {
    const auto& [count, runs, columns, first] = matrices;
    make(first, {count, runs, columns}, {runs * columns, columns, 1}, {count, columns});
  }

  /// Sums along axis 1.
  void make(std::int64_t first, const Extents& extents, const Extents& strides, const Extents& of_out) {
    std::int64_t reach = first + 1;
    for (int axis = 0; axis < extents.rank(); ++axis) reach += (extents[axis] - 1) * strides[axis];
    x = Kokkos::View<T*, Host>("x", static_cast<std::size_t>(reach));
    out = Kokkos::View<T*, Host>("out", static_cast<std::size_t>(of_out.product()));
    for (std::size_t i = 0; i < x.size(); ++i) x(i) = T(pattern(static_cast<std::int64_t>(i)));
    const TensorRef terms(x.data() + first, extents, strides), sums(out.data(), of_out);
    impl::AxisSet reduced{};
    reduced[1] = true;
    const TensorRef with_axes = impl::with_reduced_axes(sums, terms.extents(), reduced, false);
    plan = impl::make_reduce_plan(impl::make_reduction(terms, with_axes, reduced));
  }

  void reduce() {
    const Host space;
    static const impl::ReduceLabels labels("test");
    impl::reduce<ExecutionSpaceAdapter<Host>::backend, T>(space, labels, impl::Sum<A>(), impl::Sum<double>(), plan);
    space.fence();
  }

  /// What the kernel makes of it. Lanes are joined as join_over_lanes does it on a GPU.
  template <int width>
  std::vector<T> reduce_by_tiles() const {
    const Kernel kernel(impl::Sum<A>(), plan);
    std::vector<T> results, scratch(kernel.scratch_bytes() / sizeof(T));
    for (std::int64_t tile = 0; tile < kernel.teams(); ++tile) {
      for (int thread = 0; thread < kernel.threads; ++thread) kernel.copy(tile, thread, scratch.data());
      for (int result = 0; result < kernel.results_of(tile); ++result) {
        const T* const from = kernel.first_term(scratch.data(), kernel.place_of(result));
        std::vector<A> lanes;
        for (int lane = 0; lane < (takes_rows ? plan.lanes : 1); ++lane) {
          lanes.push_back(kernel.template add_up<width>(from, true, lane));
        }
        for (std::size_t half = lanes.size() / 2; half > 0; half /= 2) {
          for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
        }
        results.push_back(static_cast<T>(lanes[0]));
      }
    }
    return results;
  }
  std::vector<T> reduce_by_tiles() const {
    switch (takes_rows ? plan.pack : 1) {
      case 1: return reduce_by_tiles<1>();
      case 2: return reduce_by_tiles<2>();
      case 4: return reduce_by_tiles<4>();
      default: return reduce_by_tiles<8>();
    }
  }

  Kokkos::View<T*, Host> x, out;
  impl::ReducePlan plan;
  bool takes_rows = true;
};

template <class T>
class ReduceTilesTest : public testing::Test {};
using Types = testing::Types<double, float, f16, bf16>;
TYPED_TEST_SUITE(ReduceTilesTest, Types);

template <class T>
void expect_sums_of_hosts(Sums<T>& sums) {
  sums.reduce();
  const std::vector<T> results = sums.reduce_by_tiles();
  ASSERT_EQ(results.size(), sums.out.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(static_cast<double>(results[i]), static_cast<double>(sums.out(i))) << "result " << i;
  }
}

TYPED_TEST(ReduceTilesTest, adds_what_hosts_add_in_their_order) {
  using T = TypeParam;
  int suited = 0;
  for (const std::int64_t first : {0, 1, 3}) {
    for (const std::int64_t columns : {2, 3, 5, 6, 7, 8, 9, 12, 18, 31, 33, 34, 61}) {
      for (const std::int64_t kept : {2, 30, 33, 1500}) {
        const std::int64_t diagonal = columns * columns;
        for (const Rows& rows : {Rows{kept, columns, columns, 1, first}, Rows{kept, columns, columns + 1, 1, first},
                                 Rows{kept, columns, diagonal, columns + 1, first}}) {
          SCOPED_TRACE(testing::Message() << kept << " rows of " << columns << " columns, " << rows.row
                                          << " elements apart, " << rows.step << " from column to column");
          Sums<T> sums(rows);
          if (!Sums<T>::Kernel::suits(sums.plan)) continue;
          ++suited;
          expect_sums_of_hosts(sums);
        }
      }
    }
  }
  EXPECT_GT(suited, 100);
}

TYPED_TEST(ReduceTilesTest, adds_up_columns_of_small_matrices_as_hosts_do) {
  using T = TypeParam;
  for (const std::int64_t first : {0, 3}) {
    for (const auto& [runs, columns] : {std::pair<std::int64_t, std::int64_t>{10, 8}, {11, 15}}) {
      // As many as have, with packs of columns too, enough of them for a thread each.
      const std::int64_t pack = std::gcd(columns, std::int64_t{8} / static_cast<std::int64_t>(sizeof(T)));
      const std::int64_t count = (std::int64_t{1} << 17) * pack / columns + 5;
      SCOPED_TRACE(testing::Message() << count << " matrices of " << runs << " rows and " << columns << " columns");
      Sums<T> sums(Matrices{count, runs, columns, first});
      ASSERT_TRUE(Sums<T>::Kernel::suits(sums.plan));
      expect_sums_of_hosts(sums);
    }
  }
}

TEST(ReduceTilesTest, groups_take_each_row_once) {
  for (int columns = 3; columns < 128; columns += 6) {
    const Sums<f16> sums(Rows{64, columns, columns, 1});
    ASSERT_TRUE(Sums<f16>::Kernel::suits(sums.plan));
    const impl::ReduceTiles<f16, impl::Sum<float>> kernel(impl::Sum<float>(), sums.plan);
    std::set<int> rows;
    for (int thread = 0; thread < kernel.threads; ++thread) {
      const int row = kernel.row_of(thread);
      EXPECT_LT(row, kernel.threads / sums.plan.lanes);
      EXPECT_EQ(rows.insert(row).second, thread % sums.plan.lanes == 0) << "a group is neighbouring threads";
    }
  }
}

TEST(ReduceTilesTest, suits_rows_of_which_most_memory_is_read) {
  const auto suits = [](const Rows& rows) { return Sums<float>::Kernel::suits(Sums<float>(rows).plan); };
  EXPECT_TRUE(suits({1000, 33, 33, 1}));
  EXPECT_TRUE(suits({2, 33, 33, 1})) << "few rows are not cut into parts";
  EXPECT_TRUE(suits({1000, 7, 49, 8})) << "diagonals of small matrices";
  EXPECT_FALSE(suits({1000, 32, 32, 1})) << "has wide packs";
  EXPECT_FALSE(suits({1000, 33, 66, 1})) << "half of the memory is between the rows";
  EXPECT_FALSE(suits({1000, 17, 289, 18})) << "most sectors have no element of a diagonal";
  EXPECT_FALSE(suits({20, 4097, 4097, 1})) << "long rows";
  EXPECT_FALSE(suits({1000, 33, 1, 1})) << "overlapping rows";
  const auto suits_matrices = [](const Matrices& matrices) {
    return Sums<float>::Kernel::suits(Sums<float>(matrices).plan);
  };
  EXPECT_TRUE(suits_matrices({40000, 10, 8}));
  EXPECT_FALSE(suits_matrices({2000, 10, 8})) << "threads share columns";
  EXPECT_FALSE(suits_matrices({5000, 10, 64})) << "wide columns";
  EXPECT_FALSE(suits_matrices({5000, 127, 31})) << "matrices larger than tiles";
}

}  // namespace
}  // namespace portops::test
