// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/subtract.hpp>

#include "ops/arithmetic/binary_tests.hpp"

namespace portops::test {
namespace {

struct Subtract {
  static constexpr const char* name = "subtract";
  static constexpr bool reads_x = false, reads_y = false;
  static inline const auto call = &subtract;
  static inline const auto grad = &subtract_grad;
  static inline const auto grad_workspace = &subtract_grad_workspace;

  template <class A>
  static A out(A x, A y) {
    return x - y;
  }
  template <class A>
  static A x_grad(A, A, A out_grad) {
    return out_grad;
  }
  template <class A>
  static A y_grad(A, A, A out_grad) {
    return -out_grad;
  }
};

using SubtractTest = BinaryTest<Subtract>;
PORTOPS_BINARY_TESTS(SubtractTest)

TEST_P(SubtractTest, of_operands_that_were_not_broadcast_gives_copies) {
  for_each_type([&]<class T>() {
    TestTensor<T> out_grad(ctx, {999}), x_grad(ctx, {999}), y_grad(ctx, {999});
    const TensorRef shape = TensorRef::without_data(ElementTypeOf<T>::value, {999});
    out_grad.fill_randomly(4);
    subtract_grad(ctx, shape, shape, out_grad, x_grad, y_grad);
    x_grad.download();
    y_grad.download();
    for (std::int64_t i = 0; i < 999; ++i) {
      ASSERT_TRUE(same_bits(x_grad.element(i), out_grad.element(i))) << i;
      ASSERT_EQ(y_grad[i], -out_grad[i]) << i;
    }
  });
}

TEST_P(SubtractTest, leaves_out_grad_as_it_is_where_it_is_x_grad) {
  TestTensor<float> out_grad(ctx, {30, 70}), y_grad(ctx, {70}), before(ctx, {30, 70});
  for (TestTensor<float>* tensor : {&out_grad, &before}) tensor->fill_randomly(4);
  const TensorRef x = TensorRef::without_data(ElementType::f32, {30, 70});
  subtract_grad(ctx, x, TensorRef::without_data(ElementType::f32, {70}), out_grad, out_grad, y_grad);
  out_grad.download();
  y_grad.download();
  for (std::int64_t i = 0; i < 30 * 70; ++i) ASSERT_EQ(out_grad[i], before[i]) << i;
  EXPECT_NE(y_grad[0], 0.0);
}

}  // namespace
}  // namespace portops::test
