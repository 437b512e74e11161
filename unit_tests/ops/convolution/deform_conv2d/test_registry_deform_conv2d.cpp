// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"

#include <portops/core/registry.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

// An operator with optional inputs, and with extents that a function of its own computes, called by its name.

namespace portops::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

TensorRef shape(const Extents& extents, ElementType type = ElementType::f32) {
  return TensorRef::without_data(type, extents);
}

/// x [2, 4, 7, 9] and a window of 3 x 3: as they are, they give 5 x 7 windows.
Arguments inputs() {
  return Arguments()
      .set("x", shape({2, 4, 7, 9}))
      .set("offset", shape({2, 18, 5, 7}))
      .set("weight", shape({6, 4, 3, 3}));
}

Arguments grad_inputs() { return inputs().set("out_grad", shape({2, 6, 5, 7})); }

/// That `arguments` and offsets of these extents give results of these extents.
void expect_inferred(Arguments arguments, const Extents& offset, const Extents& out) {
  const Extents mask{offset[0], offset[1] / 2, offset[2], offset[3]};
  arguments.set("offset", shape(offset)).set("mask", shape(mask));
  const Arguments forward = Arguments(arguments).set("bias", shape({6}));
  EXPECT_EQ(infer("deform_conv2d", forward).at("out").extents, out);
  const auto grads = infer("deform_conv2d_grad", arguments.set("out_grad", shape(out)));
  EXPECT_EQ(grads.at("x_grad").extents, Extents({2, 4, 7, 9}));
  EXPECT_EQ(grads.at("offset_grad").extents, offset);
  EXPECT_EQ(grads.at("weight_grad").extents, arguments.tensor("weight")->tensor().extents());
  EXPECT_EQ(grads.at("mask_grad").extents, mask);
  EXPECT_EQ(grads.at("bias_grad").extents, Extents({6}));
}

void expect_refused(const std::string& op, const Arguments& arguments, const std::string& message) {
  expect_error([&] { infer(op, arguments); }, "portops::" + op + ": " + message);
}

TEST(RegistryDeformConv2dShapes, AreDescribed) {
  const OperatorInfo& info = find_operator("deform_conv2d");
  EXPECT_EQ(info.backward, "deform_conv2d_grad");
  ASSERT_EQ(info.inputs.size(), 5u);
  for (const std::size_t input : {3u, 4u}) {
    EXPECT_EQ(info.inputs[input].name, input == 3 ? "mask" : "bias");
    EXPECT_TRUE(info.inputs[input].optional);
    EXPECT_FALSE(info.inputs[input].or_number);
    EXPECT_EQ(info.inputs[input].shape_rule, "computed(x, weight)");
  }
  EXPECT_EQ(info.inputs[0].shape_rule, "");
  EXPECT_FALSE(info.inputs[1].optional);
  EXPECT_EQ(info.outputs[0].shape_rule, "computed(x, weight)");
  ASSERT_EQ(info.attributes.size(), 6u);
  EXPECT_EQ(info.attributes[0].default_value, Attribute(Numbers{1, 1}));
  EXPECT_EQ(info.attributes[5].default_value, Attribute(std::int64_t{64}));

  const OperatorInfo& gradient = find_operator("deform_conv2d_grad");
  ASSERT_EQ(gradient.outputs.size(), 5u);
  EXPECT_EQ(gradient.outputs[3].shape_rule, "like(mask)");
  EXPECT_EQ(gradient.outputs[3].needs_tensor, "mask");
  EXPECT_EQ(gradient.outputs[4].shape_rule, "computed(x, weight)");
  EXPECT_EQ(gradient.outputs[4].needs_tensor, "");
  EXPECT_TRUE(std::all_of(gradient.outputs.begin(), gradient.outputs.end(), [](const auto& o) { return o.optional; }));
}

TEST(RegistryDeformConv2dShapes, FollowFromEveryAttribute) {
  expect_inferred(inputs(), {2, 18, 5, 7}, {2, 6, 5, 7});
  expect_inferred(inputs().set("stride", Numbers{2, 3}), {2, 18, 3, 3}, {2, 6, 3, 3});
  expect_inferred(inputs().set("padding", Numbers{1, 2}), {2, 18, 7, 11}, {2, 6, 7, 11});
  expect_inferred(inputs().set("padding", Numbers{1, 2, 0, 3}), {2, 18, 6, 12}, {2, 6, 6, 12});
  expect_inferred(inputs().set("dilation", Numbers{3, 2}), {2, 18, 1, 5}, {2, 6, 1, 5});
  expect_inferred(inputs().set("dilation", Numbers{4, 1}), {2, 18, 0, 7}, {2, 6, 0, 7});
  expect_inferred(inputs().set("groups", 2).set("weight", shape({6, 2, 3, 3})), {2, 18, 5, 7}, {2, 6, 5, 7});
  expect_inferred(inputs().set("deformable_groups", 2), {2, 36, 5, 7}, {2, 6, 5, 7});
  expect_inferred(inputs().set("im2col_step", 1), {2, 18, 5, 7}, {2, 6, 5, 7});
}

TEST(RegistryDeformConv2dShapes, NeedNoOptionalInput) {
  const auto specs = infer("deform_conv2d", inputs());
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_EQ(specs.at("out").extents, Extents({2, 6, 5, 7}));
  EXPECT_EQ(specs.at("out").type, ElementType::f32);
  const auto grads = infer("deform_conv2d_grad", grad_inputs());
  ASSERT_EQ(grads.size(), 5u);
  EXPECT_EQ(grads.at("bias_grad").extents, Extents({6}));
  EXPECT_EQ(grads.at("mask_grad").extents, Extents());
  EXPECT_EQ(infer("deform_conv2d", inputs().set("mask", TensorRef())).at("out").extents, Extents({2, 6, 5, 7}));
}

TEST(RegistryDeformConv2dShapes, ThatDoNotFitAreRefused) {
  expect_refused("deform_conv2d", inputs().set("stride", Numbers{2, 1}),
                 "offset has extents [2, 18, 5, 7], expected [2, 18, 3, 7] (computed(x, weight))");
  expect_refused("deform_conv2d", inputs().set("mask", shape({2, 18, 5, 7})),
                 "mask has extents [2, 18, 5, 7], expected [2, 9, 5, 7] (computed(x, weight))");
  expect_refused("deform_conv2d", inputs().set("bias", shape({4})),
                 "bias has extents [4], expected [6] (computed(x, weight))");
  expect_refused("deform_conv2d_grad", grad_inputs().set("deformable_groups", 2),
                 "offset has extents [2, 18, 5, 7], expected [2, 36, 5, 7] (computed(x, weight))");
  expect_refused("deform_conv2d_grad", grad_inputs().set("mask", shape({2, 9, 5})),
                 "mask has extents [2, 9, 5], expected [2, 9, 5, 7] (computed(x, weight))");
  expect_refused("deform_conv2d_grad", grad_inputs().set("out_grad", shape({2, 4, 5, 7})),
                 "out_grad has extents [2, 4, 5, 7], expected [2, 6, 5, 7] (computed(x, weight))");
  for (const auto& wrong : {inputs().set("x", shape({4, 7, 9})), inputs().set("x", shape({2, 3, 7, 9}))}) {
    EXPECT_THAT([&] { infer("deform_conv2d", wrong); },
                ThrowsMessage<Error>(AllOf(StartsWith("portops::deform_conv2d: "), HasSubstr("x"))));
  }
}

TEST(RegistryDeformConv2dShapes, ArgumentsThatAreNoneAreRefused) {
  const std::string attributes = "stride, padding, dilation, groups, deformable_groups, im2col_step";
  expect_refused("deform_conv2d", inputs().set("offset", TensorRef()), "offset is missing, expected a tensor");
  expect_refused("deform_conv2d", inputs().set("mask", 0.5), "mask is the number 0.5, expected a tensor");
  expect_refused("deform_conv2d", inputs().set("mask", TensorOrNumber(1.0)), "mask is the number 1, expected a tensor");
  expect_refused("deform_conv2d", inputs().set("mask", shape({2, 9, 5, 7}, ElementType::f64)),
                 "mask has element type f64, expected f32 (the element type of x)");
  expect_refused("deform_conv2d", inputs().set("stride", 2), "stride is the integer 2, expected a list of integers");
  expect_refused("deform_conv2d", inputs().set("groups", Numbers{1, 1}),
                 "groups is the list [1, 1], expected an integer");
  expect_refused("deform_conv2d", inputs().set("masc", shape({2, 9, 5, 7})),
                 "no argument is named 'masc'; it takes x, offset, weight, mask, bias, out, " + attributes);
  expect_refused("deform_conv2d_grad", grad_inputs().set("bias", shape({6})),
                 "no argument is named 'bias'; it takes x, offset, weight, mask, out_grad, x_grad, offset_grad, "
                 "weight_grad, mask_grad, bias_grad, " +
                     attributes);
  expect_refused("deform_conv2d_grad", grad_inputs().set("mask_grad", shape({2, 9, 5, 7})),
                 "mask_grad cannot be computed: mask is missing, expected a tensor");
}

/// By name and by the function itself, in the backend's own memory.
class RegistryDeformConv2d : public OnEveryBackend {
 protected:
  using Problem = DeformConv2dProblem<float>;

  void SetUp() override { ctx.deterministic(true); }

  /// The tensors of `problem` that the operator takes, as far as they are there.
  static Arguments with_tensors(Arguments arguments, const std::string& op, const Problem& problem) {
    const OperatorInfo& info = find_operator(op);
    for (const InputInfo& input : info.inputs) arguments.set(input.name, problem.refs.at(input.name));
    for (const OutputInfo& output : info.outputs) arguments.set(output.name, problem.refs.at(output.name));
    return arguments;
  }

  /// `attributes` says by name what `c` says.
  void expect_same(const DeformConv2dCase& c, const Arguments& attributes) {
    Problem called(ctx, c), named(ctx, c);
    called.run(ctx);
    called.run_grad(ctx);
    run("deform_conv2d", ctx, with_tensors(attributes, "deform_conv2d", named));
    run("deform_conv2d_grad", ctx, with_tensors(attributes, "deform_conv2d_grad", named));
    expect_same_elements(named, called, "out");
    for (const std::string& name : deform_conv2d_gradients) {
      if (called.refs.at(name)) expect_same_elements(named, called, name);
    }
  }

  static void expect_same_elements(Problem& found, Problem& expected, const std::string& name) {
    TestTensor<float>&a = found.tensors.at(name), &b = expected.tensors.at(name);
    a.download();
    b.download();
    for (std::int64_t i = 0; i < b.extents().product(); ++i) {
      EXPECT_TRUE(same_bits(a.element(i), b.element(i))) << name << " " << i << ": " << a[i] << ", expected " << b[i];
    }
  }

  static std::string error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

PORTOPS_ON_EVERY_BACKEND(RegistryDeformConv2d);

TEST_P(RegistryDeformConv2d, ComputesWhatTheFunctionComputes) {
  expect_same({.padding = {0, 0}}, {});
  expect_same({.stride = {2, 1}}, Arguments().set("stride", Numbers{2, 1}).set("padding", Numbers{1, 1}));
  expect_same({.padding = {2, 0, 1, 3}, .dilation = {1, 2}},
              Arguments().set("padding", Numbers{2, 0, 1, 3}).set("dilation", Numbers{1, 2}));
  expect_same({.padding = {0, 0}, .groups = 2, .deformable_groups = 4, .im2col_step = 1},
              Arguments().set("groups", 2).set("deformable_groups", 4).set("im2col_step", 1));
}

TEST_P(RegistryDeformConv2d, TakesOptionalInputsOrNot) {
  for (const bool has_mask : {false, true}) {
    for (const bool has_bias : {false, true}) {
      expect_same({.padding = {0, 0}, .has_mask = has_mask, .has_bias = has_bias}, {});
    }
  }
}

TEST_P(RegistryDeformConv2d, ComputesTheGradientsThatAreSet) {
  for (const std::string& wanted : deform_conv2d_gradients) {
    Problem called(ctx, {.padding = {0, 0}}), named(ctx, {.padding = {0, 0}});
    for (Problem* problem : {&called, &named}) {
      for (const std::string& other : deform_conv2d_gradients) {
        if (other != wanted) problem->refs.at(other) = {};
      }
    }
    called.run_grad(ctx);
    run("deform_conv2d_grad", ctx, with_tensors({}, "deform_conv2d_grad", named));
    for (const std::string& name : deform_conv2d_gradients) expect_same_elements(named, called, name);
  }
}

TEST_P(RegistryDeformConv2d, ReportsWhatTheFunctionRefuses) {
  Problem problem(ctx, {.padding = {0, 0}});
  for (const char* name : {"out", "x_grad"}) problem.tensors.at(name).fill([](std::int64_t) { return 7.0; });
  const auto expect_the_same_error = [&](const DeformConv2dCase& c, const Arguments& attributes) {
    problem.shape = c;
    for (const std::string op : {"deform_conv2d", "deform_conv2d_grad"}) {
      const std::string message = error_of([&] { op == "deform_conv2d" ? problem.run(ctx) : problem.run_grad(ctx); });
      EXPECT_THAT(message, StartsWith("portops::" + op + ": "));
      expect_error([&] { run(op, ctx, with_tensors(attributes, op, problem)); }, message);
    }
  };
  const Numbers none{0, 0};
  expect_the_same_error({.stride = {1}, .padding = none}, Arguments().set("stride", Numbers{1}));
  expect_the_same_error({.stride = {1, 0}, .padding = none}, Arguments().set("stride", Numbers{1, 0}));
  expect_the_same_error({.padding = {1, 1, 1}}, Arguments().set("padding", Numbers{1, 1, 1}));
  expect_the_same_error({.padding = {-1, 0}}, Arguments().set("padding", Numbers{-1, 0}));
  expect_the_same_error({.padding = none, .dilation = {0, 1}}, Arguments().set("dilation", Numbers{0, 1}));
  expect_the_same_error({.padding = none, .groups = 3}, Arguments().set("groups", 3));
  expect_the_same_error({.padding = none, .deformable_groups = -2}, Arguments().set("deformable_groups", -2));
  expect_the_same_error({.padding = none, .im2col_step = 0}, Arguments().set("im2col_step", 0));
  for (const char* name : {"out", "x_grad"}) {
    TestTensor<float>& result = problem.tensors.at(name);
    result.download();
    for (std::int64_t i = 0; i < result.extents().product(); ++i) EXPECT_EQ(result[i], 7.0) << name << " " << i;
  }
}

}  // namespace
}  // namespace portops::test
