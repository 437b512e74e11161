// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/add.hpp>

// Every wrong call is refused with a message that names what was found and what was expected; calls by name.

namespace portops::test {
namespace {

class AddErrorTest : public OnEveryBackend {
 protected:
  TestTensor<float> a{ctx, {3, 4}}, b{ctx, {3, 4}}, c{ctx, {3, 4}}, d{ctx, {3, 4}}, row{ctx, {4}}, row_grad{ctx, {4}};
};

PORTOPS_ON_EVERY_BACKEND(AddErrorTest);

TEST_P(AddErrorTest, extents) {
  TestTensor<float> five(ctx, {5}), column(ctx, {3, 1});
  expect_error([&] { add(ctx, a, five, c); },
               "portops::add: the extents x [3, 4], y [5] do not broadcast; aligned at the last axis, extents must be "
               "equal or 1");
  expect_error([&] { add(ctx, a, b, column); },
               "portops::add: out has extents [3, 1], expected [3, 4] (what x and y broadcast to)");
  expect_error([&] { add_grad(ctx, a, b, column, c); },
               "portops::add_grad: out_grad has extents [3, 1], expected [3, 4] (what x and y broadcast to)");
  expect_error([&] { add_grad(ctx, a, b, c, column); },
               "portops::add_grad: x_grad has extents [3, 1], expected [3, 4] (the extents of x)");
  expect_error([&] { add_grad(ctx, a, column, c, {}, d); },
               "portops::add_grad: y_grad has extents [3, 4], expected [3, 1] (the extents of y)");
}

TEST_P(AddErrorTest, element_types_that_this_build_leaves_out) {
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

TEST_P(AddErrorTest, element_types) {
  TestTensor<double> wide(ctx, {3, 4});
  expect_error([&] { add(ctx, a, wide, c); },
               "portops::add: y has element type f64, expected f32 (the element type of x)");
  expect_error([&] { add(ctx, a, b, wide); },
               "portops::add: out has element type f64, expected f32 (the element type of x)");
  expect_error([&] { add_grad(ctx, wide, b, c, d); },
               "portops::add_grad: x has element type f64, expected f32 (the element type of out_grad)");
  expect_error([&] { add_grad(ctx, a, b, c, d, wide); },
               "portops::add_grad: y_grad has element type f64, expected f32 (the element type of out_grad)");
}

TEST_P(AddErrorTest, overlaps) {
  expect_error([&] { add(ctx, a, b, b); }, "portops::add: out overlaps y in memory, expected disjoint tensors");
  const std::string in_place = " in memory, expected disjoint tensors or the same one (address, extents and strides)";
  const TensorRef turned(a.ref().data(), ElementType::f32, {3, 4}, {1, 3}, a.ref().space());
  expect_error([&] { add(ctx, a, b, turned); }, "portops::add: out overlaps x" + in_place);
  expect_error([&] { add_grad(ctx, b, row, a, turned); }, "portops::add_grad: x_grad overlaps out_grad" + in_place);
  expect_error([&] { add_grad(ctx, a, b, c, {}, c); },
               "portops::add_grad: y_grad overlaps out_grad in memory, expected disjoint tensors");
  expect_error([&] { add_grad(ctx, a, b, c, d, d); },
               "portops::add_grad: x_grad overlaps y_grad in memory, expected disjoint tensors");
  expect_error([&] { add_grad(ctx, a, b, c, c, a); },
               "portops::add_grad: y_grad overlaps x in memory, expected disjoint tensors");
}

TEST_P(AddErrorTest, missing_tensors_and_numbers) {
  expect_error([&] { add(ctx, {}, b, c); }, "portops::add: x is empty, expected a tensor");
  expect_error([&] { add(ctx, a, TensorRef(), c); }, "portops::add: y is empty, expected a tensor");
  expect_error([&] { add(ctx, a, b, {}); }, "portops::add: out is empty, expected a tensor");
  expect_error([&] { add_grad(ctx, a, b, {}, c); }, "portops::add_grad: out_grad is empty, expected a tensor");
  expect_error([&] { add_grad(ctx, a, 0.5, b, c, d); },
               "portops::add_grad: y_grad is given, but y is a number and has no gradient");
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 4});
  expect_error([&] { add(ctx, shape, b, c); }, "portops::add: x has no data, but its elements are needed");
}

TEST_P(AddErrorTest, a_refused_call_changes_nothing) {
  c.fill([](std::int64_t) { return 7.0; });
  EXPECT_THROW(add(ctx, a, TestTensor<float>(ctx, {5}), c), Error);
  c.download();
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(c[i], 7.0);
}

TEST_P(AddErrorTest, a_call_by_name_computes_what_the_function_computes) {
  a.fill_randomly(1);
  row.fill_randomly(2);
  add(ctx, a, row, b);
  run("add", ctx, Arguments().set("x", a.ref()).set("y", row.ref()).set("out", c.ref()));
  b.download();
  c.download();
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(b[i], c[i]);
  add(ctx, a, 0.5, b);
  run("add", ctx, Arguments().set("x", a.ref()).set("y", 0.5).set("out", c.ref()));
  b.download();
  c.download();
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(b[i], c[i]);

  const auto gradient = Arguments().set("x", a.ref()).set("y", row.ref()).set("out_grad", b.ref());
  EXPECT_EQ(infer("add_grad", gradient).at("y_grad").extents, Extents({4}));
  run("add_grad", ctx, Arguments(gradient).set("x_grad", b.ref()).set("y_grad", row_grad.ref()));
  row_grad.download();
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_NEAR(row_grad[i], b[i] + b[i + 4] + b[i + 8], 1e-5);
}

TEST(AddSchema, says_what_the_operators_promise) {
  const OperatorInfo& forward = find_operator("add");
  EXPECT_EQ(forward.backward, "add_grad");
  EXPECT_EQ(forward.inplace, (std::vector<std::pair<std::string, std::string>>{{"x", "out"}}));
  EXPECT_TRUE(forward.inputs[1].or_number);
  EXPECT_FALSE(forward.inputs[1].optional);
  const OperatorInfo& gradient = find_operator("add_grad");
  EXPECT_EQ(gradient.inplace, (std::vector<std::pair<std::string, std::string>>{{"out_grad", "x_grad"}}));
  EXPECT_EQ(gradient.no_need_buffer, (std::vector<std::string>{"x", "y"}));
}

}  // namespace
}  // namespace portops::test
