// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/add.hpp>

#include "ops/arithmetic/binary_tests.hpp"

namespace portops::test {
namespace {

struct Add {
  static constexpr const char* name = "add";
  static constexpr bool reads_x = false, reads_y = false;
  static inline const auto call = &add;
  static inline const auto grad = &add_grad;
  static inline const auto grad_workspace = &add_grad_workspace;

  template <class A>
  static A out(A x, A y) {
    return x + y;
  }
  template <class A>
  static A x_grad(A, A, A out_grad) {
    return out_grad;
  }
  template <class A>
  static A y_grad(A, A, A out_grad) {
    return out_grad;
  }
};

using AddTest = BinaryTest<Add>;
PORTOPS_BINARY_TESTS(AddTest)

TEST_P(AddTest, of_an_operand_that_was_not_broadcast_gives_a_copy) {
  for_each_type([&]<class T>() {
    TestTensor<T> out_grad(ctx, {999}), x_grad(ctx, {999});
    const TensorRef shape = TensorRef::without_data(ElementTypeOf<T>::value, {999});
    out_grad.fill_randomly(4);
    add_grad(ctx, shape, shape, out_grad, x_grad, {});
    x_grad.download();
    for (std::int64_t i = 0; i < 999; ++i) ASSERT_TRUE(same_bits(x_grad.element(i), out_grad.element(i))) << i;
  });
}

TEST_P(AddTest, leaves_out_grad_as_it_is_where_it_is_x_grad) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      TestTensor<T> out_grad(ctx, {30, 70}, layout), y_grad(ctx, {70}), before(ctx, {30, 70}, layout);
      for (TestTensor<T>* tensor : {&out_grad, &before}) tensor->fill_randomly(4);
      const TensorRef x = TensorRef::without_data(ElementTypeOf<T>::value, {30, 70});
      const TensorRef y = TensorRef::without_data(ElementTypeOf<T>::value, {70});
      add_grad(ctx, x, y, out_grad, out_grad, y_grad);
      out_grad.download();
      for (std::int64_t i = 0; i < 30 * 70; ++i) ASSERT_TRUE(same_bits(out_grad.element(i), before.element(i))) << i;
      EXPECT_EQ(add_grad_workspace(ctx, x, y, out_grad, out_grad, {}), 0u) << "nothing is summed";
    }
  });
}

}  // namespace
}  // namespace portops::test
