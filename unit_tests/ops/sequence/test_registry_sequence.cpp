// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_reference.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/lerp.hpp>
#include <portops/ops/sequence_concat.hpp>
#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pad.hpp>
#include <portops/ops/sequence_pool.hpp>

#include <string>
#include <vector>

// Ragged tensors in calls by name.

namespace portops::test {
namespace {

TensorRef shape(const Extents& extents, ElementType type = ElementType::f32) {
  return TensorRef::without_data(type, extents);
}

TEST(RegistryLevels, ArePropagatedAsTheSchemaSays) {
  const Levels two({{0, 2, 3}, {0, 4, 4, 9}});
  const RaggedRef x{shape({9, 5}), two};
  const auto levels_of_output = [](const char* op, const Arguments& arguments, const char* output = "out") {
    return infer(op, arguments).at(output).levels;
  };
  EXPECT_EQ(levels_of_output("sequence_pool", Arguments().set("x", x)), two.upper());
  EXPECT_EQ(levels_of_output("sequence_pool", Arguments().set("x", x), "index"), two.upper());
  EXPECT_EQ(levels_of_output("sequence_reverse", Arguments().set("x", x)), two);
  EXPECT_EQ(levels_of_output("sequence_pad", Arguments().set("x", x)), two.upper());
  EXPECT_EQ(levels_of_output("sequence_unpad", Arguments().set("x", shape({2, 3, 4})).set("length", levels_of({3, 1}))),
            levels_of({3, 1}));
  EXPECT_EQ(
      levels_of_output("sequence_expand",
                       Arguments().set("x", RaggedRef{shape({3, 1}), levels_of({1, 2})}).set("y", levels_of({2, 1}))),
      levels_of({1, 1, 2}));
  EXPECT_EQ(levels_of_output("sequence_pool_grad", Arguments().set("x", x).set("out_grad", shape({3, 5})), "x_grad"),
            two);
}

TEST(RegistryLevels, OfOutputsComeWithTheirExtents) {
  const RaggedRef x{shape({5, 2}), levels_of({2, 0, 3})};
  EXPECT_EQ(infer("sequence_pool", Arguments().set("x", x)).at("out").extents, Extents({3, 2}));
  EXPECT_EQ(infer("sequence_pool", Arguments().set("x", x)).at("index").type, ElementType::i64);
  const auto padded = infer("sequence_pad", Arguments().set("x", x).set("padded_length", 4));
  EXPECT_EQ(padded.at("out").extents, Extents({3, 4, 2}));
  EXPECT_EQ(padded.at("length").extents, Extents({3}));
  const auto expanded = infer("sequence_expand", Arguments().set("x", shape({2, 7})).set("y", levels_of({0, 3})));
  EXPECT_EQ(expanded.at("out").extents, Extents({3, 7}));
  EXPECT_EQ(expanded.at("out").levels, levels_of({0, 3}));
}

TEST(RegistryLevels, AreSharedByOperatorsOnPositions) {
  const Levels levels = levels_of({1, 2});
  const auto out_levels = [](const Arguments& arguments) { return infer("lerp", arguments).at("out").levels; };
  EXPECT_FALSE(out_levels(Arguments().set("x", shape({3, 2})).set("y", shape({2}))));
  EXPECT_EQ(out_levels(Arguments().set("x", RaggedRef{shape({3, 2}), levels}).set("y", shape({2}))), levels);
  EXPECT_EQ(out_levels(Arguments().set("x", shape({2})).set("y", RaggedRef{shape({3, 2}), levels})), levels);
  EXPECT_EQ(infer("add", Arguments().set("x", RaggedRef{shape({3, 2}), levels}).set("y", 1.0)).at("out").levels,
            levels);
  const Levels others = levels_of({3});
  EXPECT_EQ(out_levels(Arguments().set("x", RaggedRef{shape({3}), levels}).set("y", RaggedRef{shape({3}), others})),
            levels);
  const auto gradients =
      infer("lerp_grad",
            Arguments().set("x", shape({3})).set("y", RaggedRef{shape({3}), others}).set("out_grad", shape({3})));
  EXPECT_FALSE(gradients.at("x_grad").levels);
  EXPECT_EQ(gradients.at("y_grad").levels, others);
  // Rows that are not those of the result.
  expect_error([&] { infer("lerp", Arguments().set("x", shape({4, 3})).set("y", RaggedRef{shape({3}), levels})); },
               "portops::lerp: out has extents [4, 3], but levels of 3 rows");
}

TEST(RegistryLevels, ThatDoNotFitAreRefused) {
  const auto expect_refused = [](const char* op, const Arguments& arguments, const std::string& message) {
    expect_error([&] { infer(op, arguments); }, "portops::" + std::string(op) + ": " + message);
  };
  const Levels levels = levels_of({1, 2});
  expect_refused("sequence_pool", Arguments().set("x", shape({3})), "x has no levels, expected a ragged tensor");
  expect_refused("sequence_pool", Arguments().set("x", RaggedRef{shape({4}), levels}),
                 "x has extents [4], expected 3 rows (the last offset of its levels)");
  expect_refused("sequence_pool", Arguments().set("x", RaggedRef{shape({}), levels}),
                 "x has extents [], expected at least one axis, that of the rows");
  expect_refused("p_norm", Arguments().set("x", RaggedRef{shape({3}), levels}),
                 "x has levels, expected no ragged tensor");
  expect_refused("sequence_expand", Arguments().set("x", shape({2})), "y has no levels, expected levels");
  expect_refused("sequence_expand", Arguments().set("x", shape({2})).set("y", RaggedRef{shape({3}), levels}),
                 "y is a tensor of extents [3], expected levels alone");
  expect_refused("lerp", Arguments().set("x", shape({3})).set("y", shape({3})).set("weight", levels),
                 "weight has levels, but is no tensor");
}

TEST(RegistryLevels, OfListsAreThoseOfTheirTensors) {
  const std::vector<RaggedRef> parts{{shape({3, 2}), levels_of({1, 2})}, {shape({5, 2}), levels_of({5, 0})}};
  const auto given = Arguments().set("x", std::span<const RaggedRef>(parts));
  const auto joined = infer("sequence_concat", given).at("out");
  EXPECT_EQ(joined.extents, Extents({8, 2}));
  EXPECT_EQ(joined.levels, levels_of({6, 2}));
  const auto gradients = infer("sequence_concat_grad", Arguments(given).set("out_grad", shape({8, 2}))).at("x_grad");
  ASSERT_EQ(gradients.list.size(), 2u);
  EXPECT_EQ(gradients.list[1], Extents({5, 2}));
  ASSERT_EQ(gradients.list_levels.size(), 2u);
  EXPECT_EQ(gradients.list_levels[1], levels_of({5, 0}));
  const std::vector<TensorRef> plain{shape({3, 2}), shape({5, 2})};
  expect_error([&] { infer("sequence_concat", Arguments().set("x", std::span<const TensorRef>(plain))); },
               "portops::sequence_concat: x is a list, expected one of ragged tensors");
  const std::vector<RaggedRef> wrong{{shape({3, 2}), levels_of({1, 2})}, {shape({5, 2}), {}}};
  expect_error([&] { infer("sequence_concat", Arguments().set("x", std::span<const RaggedRef>(wrong))); },
               "portops::sequence_concat: x[1] has no levels, expected a ragged tensor");
}

class RegistrySequence : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(RegistrySequence);

/// Whose output would be ragged by levels that are not its own: a row of levels that is broadcast.
TEST_P(RegistrySequence, RefusesWhatInferRefuses) {
  TestTensor<float> row(ctx, {1, 2}), rows(ctx, {7, 2}), out(ctx, {7, 2});
  const auto call = Arguments().set("x", RaggedRef{row, levels_of({1})}).set("y", rows.ref()).set("out", out.ref());
  const std::string message = "portops::add: out has extents [7, 2], but levels of 1 rows";
  expect_error([&] { infer("add", call); }, message);
  expect_error([&] { run("add", ctx, call); }, message);
  EXPECT_NO_THROW(run("add", ctx, Arguments(call).set("x", RaggedRef{row, {}})));
  const auto gradient = Arguments(call).set("out", TensorRef()).set("out_grad", rows.ref());
  EXPECT_EQ(infer("add_grad", gradient).at("x_grad").levels, levels_of({1}));
  EXPECT_NO_THROW(run("add_grad", ctx, Arguments(gradient).set("y_grad", out.ref())));
  ctx.fence();
}

TEST_P(RegistrySequence, ComputesWhatTheFunctionsCompute) {
  const Levels levels = levels_of({2, 0, 3});
  TestTensor<float> x(ctx, {5, 2}), out(ctx, {3, 2}), named(ctx, {3, 2}), x_grad(ctx, {5, 2}), named_grad(ctx, {5, 2});
  TestTensor<std::int64_t> index(ctx, {3, 2}), named_index(ctx, {3, 2});
  x.fill_randomly(1);
  const SequencePoolParams params{.pooltype = "max", .pad_value = 7.0};
  sequence_pool(ctx, {x, levels}, out, index, params);
  const auto given = Arguments().set("x", RaggedRef{x, levels}).set("pooltype", Attribute("max")).set("pad_value", 7.0);
  run("sequence_pool", ctx, Arguments(given).set("out", named.ref()).set("index", named_index.ref()));
  expect_equal(named, values_in(out));
  expect_equal(named_index, values_in(index));
  sequence_pool_grad(ctx, {x, levels}, out, x_grad, {.index = index, .pooltype = "max"});
  run("sequence_pool_grad", ctx,
      Arguments(given).set("index", index.ref()).set("out_grad", out.ref()).set("x_grad", named_grad.ref()));
  expect_equal(named_grad, values_in(x_grad));

  const std::vector<RaggedRef> parts{{x, levels}, {out, levels_of({1, 1, 1})}};
  TestTensor<float> joined(ctx, {8, 2}), named_joined(ctx, {8, 2});
  sequence_concat(ctx, parts, joined);
  run("sequence_concat", ctx, Arguments().set("x", std::span<const RaggedRef>(parts)).set("out", named_joined.ref()));
  expect_equal(named_joined, values_in(joined));

  TestTensor<float> expanded(ctx, {4, 2}), named_expanded(ctx, {4, 2});
  const Levels y = levels_of({1, 2, 1});
  sequence_expand(ctx, {out, {}}, y, expanded);
  run("sequence_expand", ctx, Arguments().set("x", out.ref()).set("y", y).set("out", named_expanded.ref()));
  expect_equal(named_expanded, values_in(expanded));
}

}  // namespace
}  // namespace portops::test
