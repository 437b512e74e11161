// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/schema/registry_table.hpp"

#include <portops/core/error.hpp>
#include <portops/core/registry.hpp>
#include <portops/core/runtime.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/p_norm.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace portops;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

using Integers = std::vector<std::int64_t>;

/// Kokkos runs for all tests of this program, whether or not its main function sees to that.
class RuntimeEnvironment : public testing::Environment {
  void SetUp() override { runtime_ = std::make_unique<Runtime>(); }
  void TearDown() override { runtime_.reset(); }
  std::unique_ptr<Runtime> runtime_;
};
const auto* const environment = testing::AddGlobalTestEnvironment(new RuntimeEnvironment);

/// A reference to a tensor of which only element type and extents matter.
TensorRef shape(const Extents& extents, ElementType type = ElementType::f32) {
  return TensorRef::without_data(type, extents);
}

void expect_error(const std::function<void()>& call, const std::string& message) {
  EXPECT_THAT(call, ThrowsMessage<Error>(message));
}

void expect_lerp_error(const Arguments& arguments, const std::string& message) {
  expect_error([&] { infer("lerp", arguments); }, "portops::lerp: " + message);
}

Arguments lerp_inputs() { return Arguments().set("x", shape({3, 4})).set("y", shape({3, 1})); }

/// An operator with all that lerp does not have: optional inputs and attributes.
OperatorInfo norm_info() {
  OperatorInfo info;
  info.name = "norm";
  info.inputs.resize(2);
  info.inputs[0].name = "x";
  info.inputs[1].name = "mask";
  info.inputs[1].optional = true;
  info.attributes = {{"porder", "", AttributeType::number, Attribute(2.0), {{"fro", 2.5}, {"cube", 3.0}}},
                     {"keepdim", "", AttributeType::boolean, Attribute(false), {}},
                     {"steps", "", AttributeType::integer, Attribute(std::int64_t{1}), {}},
                     {"axis", "", AttributeType::integers, Attribute(Integers{-1}), {}},
                     {"mode", "", AttributeType::text, std::nullopt, {}}};
  info.outputs.resize(2);
  info.outputs[0].name = "out";
  info.outputs[1].name = "mask_grad";
  info.outputs[1].optional = true;
  info.outputs[1].needs_tensor = "mask";
  return info;
}

Arguments norm_arguments() { return Arguments().set("x", shape({2})).set("mode", "fast"); }

void expect_norm_error(const Arguments& arguments, const std::string& message) {
  expect_error([&] { const impl::NamedCall call(norm_info(), arguments); }, "portops::norm: " + message);
}

void expect_p_norm_error(const Arguments& arguments, const std::string& message) {
  expect_error([&] { infer("p_norm", arguments); }, "portops::p_norm: " + message);
}

Arguments p_norm_inputs() { return Arguments().set("x", shape({2, 3, 4})); }

TEST(Registry, ListsTheOperatorsOfTheSchemaInItsOrder) {
  std::vector<std::string> names;
  for (const OperatorInfo& info : operators()) names.push_back(info.name);
  ASSERT_GE(names.size(), 4u);
  EXPECT_EQ(names[0], "lerp");
  EXPECT_EQ(names[1], "lerp_grad");
  EXPECT_EQ(names[2], "p_norm");
  EXPECT_EQ(names[3], "p_norm_grad");
}

TEST(Registry, EveryBackwardIsAnOperatorOfItsOwn) {
  for (const OperatorInfo& info : operators()) {
    if (info.backward.empty()) continue;
    EXPECT_EQ(info.backward, info.name + "_grad");
    EXPECT_EQ(find_operator(info.backward).name, info.backward);
  }
}

TEST(Registry, DescribesLerp) {
  const OperatorInfo& info = find_operator("lerp");
  EXPECT_EQ(info.formula, "out = x + weight · (y − x)");
  EXPECT_FALSE(info.brief.empty());
  EXPECT_FALSE(info.details.empty());
  EXPECT_EQ(info.backward, "lerp_grad");
  EXPECT_THAT(info.inplace, ElementsAre(Pair("x", "out")));
  EXPECT_THAT(info.attributes, IsEmpty());
  EXPECT_THAT(info.no_need_buffer, IsEmpty());

  ASSERT_THAT(info.inputs, SizeIs(3));
  EXPECT_EQ(info.inputs[0].name, "x");
  EXPECT_FALSE(info.inputs[0].optional);
  EXPECT_FALSE(info.inputs[0].or_number);
  EXPECT_EQ(info.inputs[2].name, "weight");
  EXPECT_TRUE(info.inputs[2].optional);
  EXPECT_TRUE(info.inputs[2].or_number);
  EXPECT_EQ(info.inputs[2].default_number, 0.5);

  ASSERT_THAT(info.outputs, SizeIs(1));
  EXPECT_EQ(info.outputs[0].name, "out");
  EXPECT_EQ(info.outputs[0].shape_rule, "broadcast(x, y, weight)");
  EXPECT_FALSE(info.outputs[0].optional);
}

TEST(Registry, DescribesLerpGrad) {
  const OperatorInfo& info = find_operator("lerp_grad");
  EXPECT_THAT(info.no_need_buffer, ElementsAre("x", "y"));
  EXPECT_EQ(info.no_need_buffer_unless, "weight_grad");
  EXPECT_THAT(info.inplace, IsEmpty());
  ASSERT_THAT(info.inputs, SizeIs(4));
  EXPECT_EQ(info.inputs[3].name, "out_grad");
  EXPECT_EQ(info.inputs[3].shape_rule, "broadcast(x, y, weight)");
  ASSERT_THAT(info.outputs, SizeIs(3));
  EXPECT_EQ(info.outputs[2].name, "weight_grad");
  EXPECT_EQ(info.outputs[2].shape_rule, "like(weight)");
  EXPECT_EQ(info.outputs[2].needs_tensor, "weight");
  EXPECT_TRUE(info.outputs[2].optional);
}

TEST(Registry, DescribesPNorm) {
  for (const char* name : {"p_norm", "p_norm_grad"}) {
    const OperatorInfo& info = find_operator(name);
    ASSERT_THAT(info.attributes, SizeIs(5));
    EXPECT_EQ(info.attributes[0].name, "porder");
    EXPECT_EQ(info.attributes[0].default_value, Attribute(2.0));
    EXPECT_THAT(info.attributes[0].names, ElementsAre(Pair("fro", 2.0)));
    EXPECT_EQ(info.attributes[1].name, "axis");
    EXPECT_EQ(info.attributes[1].default_value, Attribute(Integers{-1}));
    EXPECT_EQ(info.attributes[2].name, "epsilon");
    EXPECT_EQ(info.attributes[2].default_value, Attribute(1e-12));
    EXPECT_THAT(info.attributes[2].names, IsEmpty());
    EXPECT_EQ(info.attributes[3].name, "keepdim");
    EXPECT_EQ(info.attributes[3].default_value, Attribute(false));
    EXPECT_EQ(info.attributes[4].name, "asvector");
    EXPECT_EQ(info.attributes[4].default_value, Attribute(false));
  }
  EXPECT_EQ(find_operator("p_norm").backward, "p_norm_grad");
  EXPECT_THAT(find_operator("p_norm").inplace, IsEmpty());
  EXPECT_THAT(find_operator("p_norm_grad").inplace, ElementsAre(Pair("x", "x_grad")));
  EXPECT_EQ(find_operator("p_norm").outputs[0].shape_rule, "reduced(x)");
  const OperatorInfo& gradient = find_operator("p_norm_grad");
  ASSERT_THAT(gradient.inputs, SizeIs(3));
  EXPECT_EQ(gradient.inputs[1].name, "out");
  EXPECT_EQ(gradient.inputs[1].shape_rule, "reduced(x)");
  EXPECT_EQ(gradient.inputs[2].shape_rule, "reduced(x)");
  EXPECT_EQ(gradient.outputs[0].shape_rule, "like(x)");
  EXPECT_EQ(gradient.outputs[0].needs_tensor, "");
  EXPECT_THAT(find_operator("p_norm").no_need_buffer, IsEmpty());
  EXPECT_THAT(find_operator("p_norm_grad").no_need_buffer, ElementsAre("out"));
  EXPECT_EQ(find_operator("p_norm_grad").no_need_buffer_attribute, "porder");
}

TEST(Registry, AnUnknownOperatorNamesTheClosest) {
  const auto names_lerp_grad = ThrowsMessage<Error>(
      StartsWith("portops::find_operator: no operator is named 'lrep_grad'; the closest are lerp_grad"));
  EXPECT_THAT([] { find_operator("lrep_grad"); }, names_lerp_grad);
  EXPECT_THAT([] { infer("lrep_grad", {}); }, names_lerp_grad);
  EXPECT_THAT([] { find_operator(""); },
              ThrowsMessage<Error>(StartsWith("portops::find_operator: no operator is named ''; the closest are ")));
}

TEST(Registry, InfersByBroadcasting) {
  const auto specs = infer("lerp", lerp_inputs().set("weight", shape({2, 1, 4})));
  ASSERT_THAT(specs, SizeIs(1));
  EXPECT_EQ(specs.at("out").extents, Extents({2, 3, 4}));
  EXPECT_EQ(specs.at("out").type, ElementType::f32);
}

TEST(Registry, InfersFromNumbersAndDefaults) {
  EXPECT_EQ(infer("lerp", lerp_inputs()).at("out").extents, Extents({3, 4}));
  EXPECT_EQ(infer("lerp", lerp_inputs().set("weight", 0.25)).at("out").extents, Extents({3, 4}));
  EXPECT_EQ(infer("lerp", lerp_inputs().set("weight", 1)).at("out").extents, Extents({3, 4}));
  EXPECT_EQ(infer("lerp", lerp_inputs().set("weight", TensorOrNumber(1.0))).at("out").extents, Extents({3, 4}));
  const auto scalars = Arguments().set("x", shape({}, ElementType::bf16)).set("y", shape({}, ElementType::bf16));
  EXPECT_EQ(infer("lerp", scalars).at("out").extents, Extents());
  EXPECT_EQ(infer("lerp", scalars).at("out").type, ElementType::bf16);
}

TEST(Registry, InfersTensorsWithoutElements) {
  const auto arguments = Arguments().set("x", shape({0, 4})).set("y", shape({1, 4}));
  EXPECT_EQ(infer("lerp", arguments).at("out").extents, Extents({0, 4}));
}

TEST(Registry, InfersEveryGradient) {
  auto arguments = lerp_inputs().set("weight", shape({4})).set("out_grad", shape({3, 4}));
  auto specs = infer("lerp_grad", arguments);
  ASSERT_THAT(specs, SizeIs(3));
  EXPECT_EQ(specs.at("x_grad").extents, Extents({3, 4}));
  EXPECT_EQ(specs.at("y_grad").extents, Extents({3, 1}));
  EXPECT_EQ(specs.at("weight_grad").extents, Extents({4}));
  specs = infer("lerp_grad", arguments.set("weight", 0.5));
  EXPECT_EQ(specs.at("weight_grad").extents, Extents());
}

TEST(Registry, InfersByReducing) {
  const auto extents = [](const Arguments& arguments) { return infer("p_norm", arguments).at("out").extents; };
  EXPECT_EQ(extents(p_norm_inputs()), Extents({2, 3}));
  EXPECT_EQ(extents(p_norm_inputs().set("keepdim", true)), Extents({2, 3, 1}));
  EXPECT_EQ(extents(p_norm_inputs().set("axis", Integers{-3})), Extents({3, 4}));
  EXPECT_EQ(extents(p_norm_inputs().set("axis", Integers{-1, 0})), Extents({3}));
  EXPECT_EQ(extents(p_norm_inputs().set("axis", Integers{2, -3}).set("keepdim", true)), Extents({1, 3, 1}));
  EXPECT_EQ(extents(p_norm_inputs().set("axis", Integers{0, 1, 2})), Extents());
  EXPECT_EQ(extents(p_norm_inputs().set("asvector", true)), Extents());
  EXPECT_EQ(extents(p_norm_inputs().set("asvector", true).set("keepdim", true)), Extents({1, 1, 1}));
  EXPECT_EQ(extents(p_norm_inputs().set("asvector", true).set("axis", Integers{7, 7})), Extents());
  EXPECT_EQ(extents(p_norm_inputs().set("asvector", true).set("axis", Integers{})), Extents());
  EXPECT_EQ(extents(Arguments().set("x", shape({0, 4}))), Extents({0}));
  EXPECT_EQ(extents(Arguments().set("x", shape({4, 0}))), Extents({4}));
  for (const std::int64_t axis : {-1, 0}) {
    const auto scalar = Arguments().set("x", shape({}, ElementType::f16)).set("axis", Integers{axis});
    EXPECT_EQ(extents(scalar), Extents());
    EXPECT_EQ(extents(Arguments(scalar).set("keepdim", true)), Extents());
    EXPECT_EQ(infer("p_norm", scalar).at("out").type, ElementType::f16);
  }
}

TEST(Registry, InfersTheGradientOfAReduction) {
  const auto inputs = p_norm_inputs().set("out", shape({2, 3})).set("out_grad", shape({2, 3}));
  EXPECT_EQ(infer("p_norm_grad", inputs).at("x_grad").extents, Extents({2, 3, 4}));
  const auto expect_refused = [](const Arguments& arguments, const std::string& message) {
    expect_error([&] { infer("p_norm_grad", arguments); }, "portops::p_norm_grad: " + message);
  };
  expect_refused(Arguments(inputs).set("out", shape({2, 4})), "out has extents [2, 4], expected [2, 3] (reduced(x))");
  expect_refused(Arguments(inputs).set("keepdim", true).set("out", shape({2, 3, 1})),
                 "out_grad has extents [2, 3], expected [2, 3, 1] (reduced(x))");
  expect_refused(Arguments(inputs).set("axis", Integers{3}), "axis is 3, expected -3 to 2 (x has rank 3)");
}

TEST(Registry, RefusesAxesThatDoNotFit) {
  const auto matrix = [](const Integers& axis) { return Arguments().set("x", shape({2, 3})).set("axis", axis); };
  expect_p_norm_error(matrix({3}), "axis is 3, expected -2 to 1 (x has rank 2)");
  expect_p_norm_error(matrix({0, -3}), "axis is -3, expected -2 to 1 (x has rank 2)");
  expect_p_norm_error(matrix({1, -1}), "axis names axis 1 twice, expected each once");
  expect_p_norm_error(matrix({}), "axis is empty, expected one axis or more, or asvector");
  expect_p_norm_error(matrix({}).set("axis", 1), "axis is the integer 1, expected a list of integers");
  expect_p_norm_error(matrix({0}).set("x", shape({})).set("axis", Integers{1}),
                      "axis is 1, expected -1 to 0 (x has rank 0)");
}

TEST(Registry, RefusesUnknownArguments) {
  expect_lerp_error(lerp_inputs().set("wieght", 0.5), "no argument is named 'wieght'; it takes x, y, weight, out");
  expect_lerp_error(lerp_inputs().set("z", shape({3})), "no argument is named 'z'; it takes x, y, weight, out");
  expect_norm_error(
      norm_arguments().set("pordr", 2.0),
      "no argument is named 'pordr'; it takes x, mask, out, mask_grad, porder, keepdim, steps, axis, mode");
}

TEST(Registry, RefusesMissingArguments) {
  expect_lerp_error(Arguments().set("x", shape({3})), "y is missing, expected a tensor");
  expect_lerp_error(lerp_inputs().set("x", TensorRef()), "x is missing, expected a tensor");
  expect_norm_error(Arguments().set("x", shape({2})), "mode is missing, expected a text");
  OperatorInfo mandatory_number = norm_info();
  mandatory_number.inputs[1].optional = false;
  mandatory_number.inputs[1].or_number = true;
  expect_error([&] { const impl::NamedCall call(mandatory_number, norm_arguments()); },
               "portops::norm: mask is missing, expected a tensor or a number");
}

TEST(Registry, RefusesInputsOfAnotherKind) {
  expect_lerp_error(lerp_inputs().set("y", 0.1), "y is the number 0.1, expected a tensor");
  expect_lerp_error(lerp_inputs().set("y", TensorOrNumber(-1e300)), "y is the number -1e+300, expected a tensor");
  expect_lerp_error(lerp_inputs().set("weight", "half"), "weight is the text 'half', expected a tensor or a number");
  expect_lerp_error(lerp_inputs().set("weight", true), "weight is the boolean true, expected a tensor or a number");
}

TEST(Registry, RefusesOutputsOfAnotherKind) {
  expect_lerp_error(lerp_inputs().set("out", 3), "out is the integer 3, expected a tensor to write to");
  expect_lerp_error(lerp_inputs().set("out", TensorOrNumber(0.0)),
                    "out is the number 0, expected a tensor to write to");
}

TEST(Registry, RefusesAttributesOfAnotherKind) {
  expect_norm_error(norm_arguments().set("porder", "two"),
                    "porder is the text 'two', expected a number or fro or cube");
  expect_norm_error(norm_arguments().set("porder", shape({2, 3})),
                    "porder is a tensor of extents [2, 3], expected a number or fro or cube");
  OperatorInfo without_names = norm_info();
  without_names.attributes[0].names.clear();
  expect_error([&] { const impl::NamedCall call(without_names, norm_arguments().set("porder", "fro")); },
               "portops::norm: porder is the text 'fro', expected a number");
  OperatorInfo without_default = norm_info();
  without_default.attributes[0].default_value.reset();
  expect_error([&] { const impl::NamedCall call(without_default, norm_arguments()); },
               "portops::norm: porder is missing, expected a number or fro or cube");
  expect_p_norm_error(p_norm_inputs().set("porder", "two"), "porder is the text 'two', expected a number or fro");
  expect_norm_error(norm_arguments().set("keepdim", 1), "keepdim is the integer 1, expected true or false");
  expect_norm_error(norm_arguments().set("steps", 1.5), "steps is the number 1.5, expected an integer");
  expect_norm_error(norm_arguments().set("axis", false), "axis is the boolean false, expected a list of integers");
  expect_norm_error(norm_arguments().set("mode", Integers{1, 2}), "mode is the list [1, 2], expected a text");
}

TEST(Registry, FillsInAttributesAndOptionalInputs) {
  const OperatorInfo info = norm_info();
  const impl::NamedCall defaults(info, norm_arguments());
  EXPECT_EQ(defaults.attribute<double>("porder"), 2.0);
  EXPECT_EQ(defaults.attribute<bool>("keepdim"), false);
  EXPECT_EQ(defaults.attribute<std::int64_t>("steps"), 1);
  EXPECT_EQ(defaults.attribute<Integers>("axis"), Integers{-1});
  EXPECT_EQ(defaults.attribute<std::string>("mode"), "fast");
  EXPECT_FALSE(defaults.tensor("mask"));

  const impl::NamedCall given(info, norm_arguments()
                                        .set("porder", 3)
                                        .set("keepdim", true)
                                        .set("steps", 5)
                                        .set("axis", Integers{0, 1})
                                        .set("mask", shape({7})));
  EXPECT_EQ(given.attribute<double>("porder"), 3.0);  // an integer does for a number
  EXPECT_EQ(given.attribute<bool>("keepdim"), true);
  EXPECT_EQ(given.attribute<std::int64_t>("steps"), 5);
  EXPECT_EQ(given.attribute<Integers>("axis"), (Integers{0, 1}));
  EXPECT_EQ(given.tensor("mask").extents(), Extents({7}));
  const impl::NamedCall number(info, norm_arguments().set("porder", TensorOrNumber(0.5)));
  EXPECT_EQ(number.attribute<double>("porder"), 0.5);
}

TEST(Registry, TakesTheNamesOfNumbers) {
  const OperatorInfo info = norm_info();
  const impl::NamedCall fro(info, norm_arguments().set("porder", "fro"));
  EXPECT_EQ(fro.attribute<double>("porder"), 2.5);
  const impl::NamedCall cube(info, norm_arguments().set("porder", "cube"));
  EXPECT_EQ(cube.attribute<double>("porder"), 3.0);
}

TEST(Registry, RefusesElementTypesThatDiffer) {
  expect_lerp_error(lerp_inputs().set("y", shape({3, 1}, ElementType::f64)),
                    "y has element type f64, expected f32 (the element type of x)");
}

/// An operator that looks rows of a table up: its first input has a type of its own, and so has an output.
OperatorInfo look_up_info() {
  OperatorInfo info;
  info.name = "look_up";
  info.inputs.resize(2);
  info.inputs[0].name = "rows";
  info.inputs[0].type = ElementType::i64;
  info.inputs[1].name = "table";
  info.outputs.resize(1);
  info.outputs[0].name = "count";
  info.outputs[0].type = ElementType::i64;
  return info;
}

TEST(Registry, InputsOfATypeOfTheirOwnDoNotGiveTheCallItsType) {
  const OperatorInfo info = look_up_info();
  const impl::NamedCall call(
      info, Arguments().set("rows", shape({3}, ElementType::i64)).set("table", shape({2, 2}, ElementType::f16)));
  EXPECT_EQ(call.type(), ElementType::f16);
  EXPECT_EQ(call.tensor("rows").type(), ElementType::i64);
}

TEST(Registry, RefusesIndicesOfAnotherType) {
  const OperatorInfo info = look_up_info();
  const auto expect_refused = [&](ElementType rows, ElementType table, const std::string& message) {
    const auto arguments = Arguments().set("rows", shape({3}, rows)).set("table", shape({2, 2}, table));
    expect_error([&] { const impl::NamedCall call(info, arguments); }, "portops::look_up: " + message);
  };
  expect_refused(ElementType::f32, ElementType::f32, "rows has element type f32, expected i64");
  expect_refused(ElementType::i64, ElementType::i64, "table has element type i64, expected f64, f32, f16 or bf16");
  expect_lerp_error(lerp_inputs().set("x", shape({3, 4}, ElementType::i64)),
                    "x has element type i64, expected f64, f32, f16 or bf16");
  expect_lerp_error(lerp_inputs().set("y", shape({3, 1}, ElementType::i64)),
                    "y has element type i64, expected f32 (the element type of x)");
}

TEST(Registry, RefusesExtentsThatDoNotFit) {
  const auto mismatch = Arguments().set("x", shape({3, 4})).set("y", shape({5}));
  EXPECT_THAT([&] { infer("lerp", mismatch); },
              ThrowsMessage<Error>(AllOf(StartsWith("portops::lerp: the extents "), HasSubstr("x [3, 4]"),
                                         HasSubstr("y [5]"), HasSubstr("do not broadcast"))));
  expect_error([] { infer("lerp_grad", lerp_inputs().set("out_grad", shape({3}))); },
               "portops::lerp_grad: out_grad has extents [3], expected [3, 4] (broadcast(x, y, weight))");
}

TEST(Registry, RefusesTheGradientOfWhatIsNoTensor) {
  const auto inputs = lerp_inputs().set("out_grad", shape({3, 4})).set("weight_grad", shape({}));
  expect_error([&] { infer("lerp_grad", inputs); },
               "portops::lerp_grad: weight_grad cannot be computed: weight is the number 0.5, expected a tensor");
  expect_norm_error(norm_arguments().set("mask_grad", shape({2})),
                    "mask_grad cannot be computed: mask is missing, expected a tensor");
}

TEST(Registry, SettingAnArgumentAgainReplacesIt) {
  Arguments arguments = lerp_inputs().set("weight", 0.5);
  ASSERT_NE(arguments.attribute("weight"), nullptr);
  arguments.set("weight", shape({4}));
  EXPECT_EQ(arguments.attribute("weight"), nullptr);
  ASSERT_NE(arguments.tensor("weight"), nullptr);
  EXPECT_EQ(arguments.tensor("weight")->tensor().extents(), Extents({4}));
  arguments.set("weight", 2);
  EXPECT_EQ(arguments.tensor("weight"), nullptr);
  EXPECT_EQ(*arguments.attribute("weight"), Attribute(std::int64_t{2}));
  arguments.set("x", TensorRef());
  EXPECT_EQ(arguments.tensor("x"), nullptr);
}

/// The host backends of this build.
class RegistryRun : public testing::TestWithParam<Backend> {};

TEST_P(RegistryRun, ComputesLerp) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<float> y = {10, 20, 30};
  std::vector<float> out(6);
  const Context ctx(GetParam());
  for (const double weight : {0.25, 0.5}) {
    auto arguments = Arguments().set("x", TensorRef(x.data(), {2, 3})).set("y", TensorRef(y.data(), {3}));
    arguments.set("out", TensorRef(out.data(), {2, 3}));
    if (weight != 0.5) arguments.set("weight", weight);  // the default
    run("lerp", ctx, arguments);
    ctx.fence();
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(out[i], std::fma(static_cast<float>(weight), y[i % 3] - x[i], x[i])) << i;
    }
  }
}

TEST_P(RegistryRun, ComputesTheGradientsThatAreSet) {
  const std::vector<double> weight = {0.25, 0.5, 0.75};
  const std::vector<double> out_grad = {1, 2, 3, 4, 5, 6};
  std::vector<double> y_grad(3);
  const Context ctx(GetParam());
  // x and y without their elements: neither y_grad nor x_grad needs them.
  run("lerp_grad", ctx,
      Arguments()
          .set("x", shape({2, 3}, ElementType::f64))
          .set("y", shape({3}, ElementType::f64))
          .set("weight", TensorRef(weight.data(), {3}))
          .set("out_grad", TensorRef(out_grad.data(), {2, 3}))
          .set("y_grad", TensorRef(y_grad.data(), {3})));
  ctx.fence();
  EXPECT_THAT(y_grad, ElementsAre(0.25 * (1 + 4), 0.5 * (2 + 5), 0.75 * (3 + 6)));
}

TEST_P(RegistryRun, ChecksBeforeItCalls) {
  const std::vector<float> x = {1, 2};
  std::vector<float> out = {7, 7};
  const Context ctx(GetParam());
  auto arguments = Arguments().set("x", TensorRef(x.data(), {2})).set("y", TensorRef(x.data(), {2}));
  expect_error([&] { run("lerp", ctx, arguments); }, "portops::lerp: out is missing, expected a tensor to write to");
  EXPECT_THAT([&] { run("lrep", ctx, arguments); },
              ThrowsMessage<Error>(StartsWith("portops::find_operator: no operator is named 'lrep'")));
  arguments.set("out", TensorRef(out.data(), {2})).set("y", shape({3}));
  EXPECT_THROW(run("lerp", ctx, arguments), Error);
  arguments.set("y", 0.5);
  expect_error([&] { run("lerp", ctx, arguments); }, "portops::lerp: y is the number 0.5, expected a tensor");
  EXPECT_THAT(out, ElementsAre(7, 7));
}

std::vector<Backend> host_backends() {
  std::vector<Backend> result = enabled_backends();
  result.erase(std::remove(result.begin(), result.end(), Backend::cuda), result.end());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Host, RegistryRun, testing::ValuesIn(host_backends()),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
