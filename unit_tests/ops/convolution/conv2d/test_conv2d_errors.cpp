// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "conv2d_reference.hpp"

#include <portops/core/registry.hpp>

// Every wrong call is refused with a message that names what was found and what was expected; and the registry's part.

namespace portops::test {
namespace {

using Problem = Conv2dProblem<float>;

const std::string op = "portops::conv2d: ", grad_op = "portops::conv2d_grad: ";

class Conv2dErrorTest : public OnEveryBackend {
 protected:
  Problem problem{ctx, {.height = 5, .width = 5, .groups = 2}};
  TestTensor<float> storage{ctx, {4096}};

  TensorRef stored(const Extents& extents) const {
    return {static_cast<float*>(storage.ref().data()), extents, storage.ref().space()};
  }
  void expect_out_error(const std::function<void(Problem&)>& change, const std::string& message) {
    Problem call = problem;
    change(call);
    expect_error([&] { call.run(ctx); }, op + message);
    expect_error([&] { call.workspace(ctx); }, op + message);
  }
  void expect_grad_error(const std::function<void(Problem&)>& change, const std::string& message) {
    Problem call = problem;
    change(call);
    expect_error([&] { call.run_grad(ctx); }, grad_op + message);
    expect_error([&] { call.grad_workspace(ctx); }, grad_op + message);
  }
  void expect_errors(const std::function<void(Problem&)>& change, const std::string& message) {
    expect_out_error(change, message);
    expect_grad_error(change, message);
  }
};

PORTOPS_ON_EVERY_BACKEND(Conv2dErrorTest);

TEST_P(Conv2dErrorTest, attributes_out_of_range) {
  const std::vector<std::pair<std::function<void(Conv2dCase&)>, std::string>> wrong{
      {[](auto& c) { c.groups = 0; }, "groups is 0, expected a positive number"},
      {[](auto& c) { c.groups = 3; }, "groups is 3, expected a divisor of the channels of x, 4"},
      {[](auto& c) { c.groups = 4; }, "groups is 4, expected a divisor of the out channels, 6 (axis 0 of weight)"},
      {[](auto& c) { c.groups = 1; }, "weight has 2 channels, expected 4 (the channels of x, 4, divided by groups, 1)"},
      {[](auto& c) { c.stride = {0, 1}; }, "stride is [0, 1], expected two positive numbers"},
      {[](auto& c) { c.stride = {1}; }, "stride is [1], expected two positive numbers"},
      {[](auto& c) { c.dilation = {1, -1}; }, "dilation is [1, -1], expected two positive numbers"},
      {[](auto& c) { c.padding = {1, -1}; }, "padding is [1, -1], expected two or four numbers that are not negative"},
      {[](auto& c) { c.padding = {1}; }, "padding is [1], expected two or four numbers that are not negative"},
      {[](auto& c) { c.dilation = {1, std::int64_t{1} << 62}; },
       "padding or dilation is too large for 64-bit positions"}};
  for (const auto& [set, message] : wrong) {
    expect_errors([&](Problem& call) { set(call.shape); }, message);
  }
}

TEST_P(Conv2dErrorTest, tensors_of_other_extents) {
  const auto with = [&](const char* name, const Extents& extents) {
    return [this, name, extents](Problem& call) { call.refs[name] = stored(extents); };
  };
  expect_errors(with("x", {2, 4, 5}), "x has extents [2, 4, 5], expected four axes (images, channels, height, width)");
  expect_errors(with("weight", {6, 2, 3}),
                "weight has extents [6, 2, 3], expected four axes (out channels, channels / groups, height, width)");
  expect_errors(with("weight", {6, 2, 3, 0}),
                "weight has extents [6, 2, 3, 0], expected at least one tap (axes 2 and 3)");
  expect_out_error(with("bias", {5}), "bias has extents [5], expected [6] (axis 0 of weight)");
  expect_out_error(
      with("out", {2, 6, 5, 4}),
      "out has extents [2, 6, 5, 4], expected [2, 6, 5, 5] (the extents that x, weight, stride, padding and "
      "dilation give)");
  expect_grad_error(
      with("out_grad", {1, 6, 5, 5}),
      "out_grad has extents [1, 6, 5, 5], expected [2, 6, 5, 5] (the extents that x, weight, stride, padding "
      "and dilation give)");
  expect_grad_error(with("x_grad", {2, 4, 5, 4}),
                    "x_grad has extents [2, 4, 5, 4], expected [2, 4, 5, 5] (the extents of x)");
  expect_grad_error(with("weight_grad", {6, 4, 3, 3}),
                    "weight_grad has extents [6, 4, 3, 3], expected [6, 2, 3, 3] (the extents of weight)");
  expect_grad_error(with("bias_grad", {4}), "bias_grad has extents [4], expected [6] (axis 0 of weight)");
}

TEST_P(Conv2dErrorTest, results_that_overlap) {
  expect_out_error([](Problem& call) { call.refs["out"] = {}; }, "out is empty, expected a tensor");
  Problem call = problem;
  call.refs["x_grad"] = call.refs["x"];
  EXPECT_THROW(call.run_grad(ctx), Error);
  call.refs["x_grad"] = {};
  call.refs["bias_grad"] = {static_cast<float*>(call.refs["weight_grad"].data()), {6}, call.refs["x"].space()};
  EXPECT_THROW(call.run_grad(ctx), Error);
}

TEST(RegistryConv2d, infers_extents_and_runs_by_name) {
  const auto shape = [](const Extents& extents) { return TensorRef::without_data(ElementType::f32, extents); };
  Arguments arguments;
  arguments.set("x", shape({2, 4, 7, 9})).set("weight", shape({6, 2, 3, 3}));
  arguments.set("stride", Numbers{2, 1}).set("padding", Numbers{1, 0, 0, 2}).set("groups", std::int64_t{2});
  EXPECT_EQ(infer("conv2d", arguments).at("out").extents, Extents({2, 6, 3, 9}));
  arguments.set("out_grad", shape({2, 6, 3, 9}));
  const auto grads = infer("conv2d_grad", arguments);
  EXPECT_EQ(grads.at("x_grad").extents, Extents({2, 4, 7, 9}));
  EXPECT_EQ(grads.at("weight_grad").extents, Extents({6, 2, 3, 3}));
  EXPECT_EQ(grads.at("bias_grad").extents, Extents({6}));
  EXPECT_EQ(find_operator("conv2d").backward, "conv2d_grad");
}

}  // namespace
}  // namespace portops::test
