// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parts_reference.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/concat.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/split.hpp>

#include <array>

// Operators with lists of tensors, called by their names.

namespace portops::test {
namespace {

using Integers = std::vector<std::int64_t>;
using List = std::vector<TensorRef>;

TensorRef shape(const Extents& extents, ElementType type = ElementType::f32) {
  return TensorRef::without_data(type, extents);
}

Arguments joining() { return Arguments().set("x", List{shape({2, 3}), shape({2, 4})}).set("axis", 1); }
Arguments dividing() { return Arguments().set("x", shape({2, 7})).set("sections", Integers{3, -1}).set("axis", 1); }

void expect_refused(std::string_view op, const Arguments& arguments, const std::string& message) {
  expect_error([&] { infer(op, arguments); }, "portops::" + std::string(op) + ": " + message);
}

TEST(RegistryListsTest, SaysWhatIsAList) {
  EXPECT_TRUE(find_operator("concat").inputs[0].list);
  EXPECT_FALSE(find_operator("concat").outputs[0].list);
  EXPECT_FALSE(find_operator("concat_grad").inputs[1].list);
  EXPECT_TRUE(find_operator("concat_grad").outputs[0].list);
  EXPECT_TRUE(find_operator("split").outputs[0].list);
  EXPECT_FALSE(find_operator("lerp").inputs[0].list);
}

TEST(RegistryListsTest, InfersExtents) {
  const auto joined = infer("concat", joining());
  EXPECT_EQ(joined.at("out").extents, (Extents{2, 7}));
  EXPECT_EQ(joined.at("out").type, ElementType::f32);
  EXPECT_TRUE(joined.at("out").list.empty());
  const auto gradients = infer("concat_grad", joining().set("out_grad", shape({2, 7})));
  EXPECT_EQ(gradients.at("x_grad").list, (std::vector<Extents>{{2, 3}, {2, 4}}));
  const auto parts = infer("split", dividing());
  EXPECT_EQ(parts.at("out").list, (std::vector<Extents>{{2, 3}, {2, 4}}));
  const List out_grad{shape({2, 3}, ElementType::bf16), shape({2, 4}, ElementType::bf16)};
  const auto whole = infer("split_grad", Arguments(dividing()).set("x", TensorRef()).set("out_grad", out_grad));
  EXPECT_EQ(whole.at("x_grad").extents, (Extents{2, 7}));
  EXPECT_EQ(whole.at("x_grad").type, ElementType::bf16);
}

TEST(RegistryListsTest, KeepsTheLastValueOfAnArgument) {
  Arguments arguments = joining();
  EXPECT_EQ(arguments.list("x")->size(), 2u);
  EXPECT_EQ(arguments.tensor("x"), nullptr);
  arguments.set("x", shape({2}));
  EXPECT_EQ(arguments.list("x"), nullptr);
  EXPECT_NE(arguments.tensor("x"), nullptr);
  arguments.set("x", List{shape({2})});
  EXPECT_EQ(arguments.list("x")->size(), 1u);
  EXPECT_EQ(arguments.tensor("x"), nullptr);
  arguments.set("x", 3);
  EXPECT_EQ(arguments.list("x"), nullptr);
  EXPECT_NE(arguments.attribute("x"), nullptr);
  arguments.set("x", List{shape({2})}).set("x", List{});
  EXPECT_EQ(arguments.list("x"), nullptr);
  EXPECT_TRUE(arguments.lists().empty());
  EXPECT_EQ(arguments.attribute("x"), nullptr);
}

TEST(RegistryListsTest, RefusesWhatIsNoList) {
  expect_refused("concat", Arguments(), "x is missing, expected a list of tensors");
  expect_refused("concat", Arguments().set("x", List{}), "x is missing, expected a list of tensors");
  expect_refused("concat", Arguments().set("x", shape({2, 3})),
                 "x is a tensor of extents [2, 3], expected a list of tensors");
  expect_refused("concat", Arguments().set("x", 3), "x is the integer 3, expected a list of tensors");
  expect_refused("concat", joining().set("out", shape({2, 7})).set("axis", List{shape({1})}),
                 "axis is a list of 1 tensors, expected an integer");
  expect_refused("concat", joining().set("out", List{shape({2, 7})}),
                 "out is a list of 1 tensors, expected a tensor to write to");
  expect_refused("concat", joining().set("y", List{shape({2, 7})}), "no argument is named 'y'; it takes x, out, axis");
  expect_refused("split", dividing().set("out", shape({2, 3})),
                 "out is a tensor of extents [2, 3], expected a list of tensors");
  expect_refused("lerp", Arguments().set("x", List{shape({2})}), "x is a list of 1 tensors, expected a tensor");
  expect_refused("lerp", Arguments().set("x", shape({2})).set("y", shape({2})).set("weight", List{shape({2})}),
                 "weight is a list of 1 tensors, expected a tensor or a number");
  expect_refused("p_norm", Arguments().set("x", shape({2})).set("porder", List{shape({2})}),
                 "porder is a list of 1 tensors, expected a number or fro");
}

TEST(RegistryListsTest, RefusesWhatDoesNotFit) {
  expect_refused("concat", joining().set("axis", 0),
                 "x[1] has extents [2, 4], expected [any, 3] (those of x[0] but for axis 0)");
  expect_refused("concat", Arguments().set("x", List{shape({2}), {}}), "x[1] is empty, expected a tensor");
  expect_refused("concat", Arguments().set("x", List{{}, shape({2})}), "x[0] is empty, expected a tensor");
  expect_refused("concat", Arguments().set("x", List{shape({2}), shape({2}, ElementType::f64)}),
                 "x[1] has element type f64, expected f32 (the element type of x[0])");
  expect_refused("concat_grad", joining().set("out_grad", shape({2, 7}, ElementType::f64)),
                 "out_grad has element type f64, expected f32 (the element type of x[0])");
  expect_refused("concat_grad", joining().set("out_grad", shape({2, 8})),
                 "out_grad has extents [2, 8], expected [2, 7] (joined(x))");
  expect_refused("split", dividing().set("sections", Integers{3, 3}),
                 "sections add up to 6, expected 7 (the extent of x along axis 1)");
}

class RegistryLists : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(RegistryLists);

TEST_P(RegistryLists, ComputesWhatTheFunctionsCompute) {
  const PartsCase what{{2, 3}, 1, {3, 4}};
  PartsTensors<float> tensors(ctx, what);
  tensors.fill_parts();
  run("concat", ctx, Arguments().set("x", tensors.part_refs()).set("axis", -1).set("out", tensors.whole.ref()));
  tensors.download();
  tensors.expect_same();
  tensors.fill_whole();
  const Arguments sections = Arguments().set("sections", Integers{3, 4}).set("axis", 1);
  run("split", ctx, Arguments(sections).set("x", tensors.whole.ref()).set("out", tensors.part_refs()));
  tensors.download();
  tensors.expect_same();
  tensors.fill_parts();
  run("split_grad", ctx, Arguments(sections).set("out_grad", tensors.part_refs()).set("x_grad", tensors.whole.ref()));
  tensors.download();
  tensors.expect_same();
  tensors.fill_whole();
  const Arguments gradient =
      Arguments().set("x", tensors.part_shapes()).set("out_grad", tensors.whole.ref()).set("axis", 1);
  run("concat_grad", ctx, Arguments(gradient).set("x_grad", List{tensors.parts[0], {}}));
  tensors.download();
  tensors.expect_same([](std::size_t part) { return part == 0; });
  EXPECT_NO_THROW(run("concat_grad", ctx, gradient));
}

TEST_P(RegistryLists, ReportsOutputsThatAreMissing) {
  const TestTensor<float> x(ctx, {2, 7});
  expect_error([&] { run("split", ctx, Arguments(dividing()).set("x", x.ref())); },
               "portops::split: out is missing, expected a list of tensors to write to");
  expect_error([&] { run("concat", ctx, Arguments().set("x", List{x})); },
               "portops::concat: out is missing, expected a tensor to write to");
}

}  // namespace
}  // namespace portops::test
