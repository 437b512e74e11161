// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <portops/ops/add.hpp>

#include "ops/arithmetic/binary_tests.hpp"

#include <algorithm>

namespace portops::test {
namespace {

struct Add {
  static constexpr const char* name = "add";
  static constexpr bool reads_x = false, reads_y = false;
  static constexpr auto call = add;
  static constexpr auto grad = add_grad;
  static constexpr auto grad_workspace = add_grad_workspace;

  template <class A>
  static A out(A x, A y) {
    return x + y;
  }
  static double x_grad(double, double, double out_grad) { return out_grad; }
  static double y_grad(double, double, double out_grad) { return out_grad; }
};

using AddTest = BinaryTest<Add>;
PORTOPS_BINARY_TESTS(AddTest)

TEST_P(AddTest, rounds_once_and_overflows_to_infinity) {
  TestTensor<f16> x(ctx, {3}), out(ctx, {3});
  x.fill([](std::int64_t i) { return i == 0 ? 2048.0 : i == 1 ? 65504.0 : 1.0; });
  add(ctx, x, 1.0003, out);  // would be 1 in f16, and the sum 2048
  out.download();
  EXPECT_EQ(out[0], 2050.0);
  add(ctx, x, x, out);
  out.download();
  EXPECT_EQ(out[1], std::numeric_limits<double>::infinity());
}

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

TEST_P(AddTest, does_not_stagnate_over_long_sums) {
  // A chain of float additions would stop at 2^24.
  const std::int64_t size = (std::int64_t{1} << 25) + 12345;
  TestTensor<float> out_grad(ctx, {size}), y_grad(ctx, {});
  out_grad.fill([](std::int64_t) { return 1.0; });
  add_grad(ctx, TensorRef::without_data(ElementType::f32, {size}), TensorRef::without_data(ElementType::f32, {}),
           out_grad, {}, y_grad);
  y_grad.download();
  EXPECT_EQ(y_grad[0], static_cast<double>(static_cast<float>(size)));
}

TEST_P(AddTest, refuses_element_types_that_this_build_leaves_out) {
  const std::vector<ElementType> has = enabled_element_types();
  std::string names;
  for (const ElementType type : has) names += (names.empty() ? "" : ", ") + std::string(name_of(type));
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    if (std::find(has.begin(), has.end(), type) != has.end()) continue;
    const Tensor x(type, {3, 4}, default_memory_space(ctx.backend()));
    const std::string left_out = " has element type " + std::string(name_of(type)) +
                                 ", which this build leaves out (PORTOPS_ELEMENT_TYPES), expected " + names;
    expect_error([&] { add(ctx, x, 1.0, x); }, "portops::add: x" + left_out);
    expect_error([&] { run("add", ctx, Arguments().set("x", x).set("y", 1.0).set("out", x)); },
                 "portops::add: x" + left_out);
    expect_error([&] { add_grad(ctx, x, 1.0, x, x); }, "portops::add_grad: out_grad" + left_out);
  }
}

TEST(AddSchema, reads_only_the_extents_of_its_operands) {
  const OperatorInfo& gradient = find_operator("add_grad");
  EXPECT_EQ(gradient.inplace, (std::vector<std::pair<std::string, std::string>>{{"out_grad", "x_grad"}}));
  EXPECT_EQ(gradient.no_need_buffer, (std::vector<std::string>{"x", "y"}));
}

}  // namespace
}  // namespace portops::test
