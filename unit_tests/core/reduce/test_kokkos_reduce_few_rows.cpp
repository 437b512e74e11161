// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/loop/axes.hpp"
#include "core/reduce/reduce.hpp"
#include "ops/p_norm/norm.hpp"
#include "support/kokkos_support.hpp"

#include <gtest/gtest.h>

#include <vector>

// The kernel with which a GPU reduces columns of few rows, carried out item by item on the host.

namespace portops::test {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

template <class T>
class ReduceFewRowsTest : public testing::Test {};
using Types = testing::Types<double, float, f16, bf16>;
TYPED_TEST_SUITE(ReduceFewRowsTest, Types);

/// x [kept, rows, columns] with `gap` elements between rows, `first` elements from where packs are aligned.
struct Few {
  std::int64_t kept, rows, columns, gap, first;
};

/// p_norm of order 2 over the rows, by a GPU's kernel and as hosts do it. Some columns' squares overflow or vanish.
template <class T>
void check(const Few& few) {
  using A = impl::Arithmetic<T>;
  const std::int64_t row = few.columns + few.gap, size = few.kept * few.columns;
  const Kokkos::View<T*, Host> x("x", static_cast<std::size_t>(few.first + few.kept * few.rows * row));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float value = pattern(static_cast<std::int64_t>(i));
    x(i) = T(sizeof(T) > 2 && i % 7 == 3 ? value * 1e30f : sizeof(T) > 2 && i % 11 == 5 ? value * 1e-30f : value);
  }
  const Kokkos::View<T*, Host> expected("expected", static_cast<std::size_t>(few.first + size));
  const Kokkos::View<T*, Host> found("found", static_cast<std::size_t>(few.first + size));
  const ElementType type = ElementTypeOf<T>::value;
  const TensorRef terms(x.data() + few.first, type, {few.kept, few.rows, few.columns}, {few.rows * row, row, 1},
                        MemorySpace::host);
  const auto plan_to = [&](const Kokkos::View<T*, Host>& to) {
    const TensorRef out(to.data() + few.first, type, {few.kept, few.columns}, {few.columns, 1}, MemorySpace::host);
    impl::AxisSet reduced{};
    reduced[1] = true;
    const TensorRef with_axes = impl::with_reduced_axes(out, terms.extents(), reduced, false);
    return impl::make_reduce_plan(impl::make_reduction(terms, with_axes, reduced));
  };
  const impl::Norm<A, impl::NormOrder::two> norm(2.0);
  using Kernel = impl::ReduceFewRows<T, impl::Norm<A, impl::NormOrder::two>>;
  const impl::ReducePlan plan = plan_to(found);
  ASSERT_TRUE(Kernel::suits(plan));
  const Kernel kernel(norm, plan);
  for (std::int64_t item = 0; item < kernel.items(); ++item) kernel(item);

  static const impl::ReduceLabels labels("test");
  const Host space;
  impl::reduce<ExecutionSpaceAdapter<Host>::backend, T>(space, labels, norm, impl::NormJoin(2.0), plan_to(expected));
  space.fence();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(static_cast<double>(found(i)), static_cast<double>(expected(i))) << "element " << i;
  }
}

TYPED_TEST(ReduceFewRowsTest, adds_what_hosts_add_in_their_order) {
  for (const std::int64_t rows : {2, 3, 4, 5, 8}) {
    for (const std::int64_t columns : {301, 512, 520, 1002}) {
      for (const std::int64_t gap : {0, 4, 1}) {
        for (const std::int64_t first : {0, 2, 1}) {
          SCOPED_TRACE(testing::Message() << rows << " rows of " << columns << " columns, " << gap << " between them, "
                                          << first << " before them");
          check<TypeParam>({3, rows, columns, gap, first});
        }
      }
    }
  }
}

}  // namespace
}  // namespace portops::test
