// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/levels.hpp>

#include "core/types/levels_data.hpp"

namespace portops::test {
namespace {

using Offsets = std::vector<std::vector<std::int64_t>>;

TEST(Levels, hold_offsets_from_the_coarsest_to_the_finest) {
  const Levels levels(Offsets{{0, 2, 3}, {0, 4, 4, 9}});
  ASSERT_TRUE(levels);
  EXPECT_EQ(levels.depth(), 2);
  EXPECT_EQ(levels.items(0), 2);
  EXPECT_EQ(levels.items(1), 3);
  EXPECT_EQ(levels.items(), 3);
  EXPECT_EQ(levels.rows(), 9);
  EXPECT_EQ(levels.offsets(0), (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(levels.offsets(), (std::vector<std::int64_t>{0, 4, 4, 9}));
  EXPECT_EQ(levels.upper(), Levels(Offsets{{0, 2, 3}}));
  EXPECT_FALSE(levels.upper().upper());
  EXPECT_EQ(levels.to_string(), "[[0, 2, 3], [0, 4, 4, 9]]");
  EXPECT_EQ(Levels(Offsets{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}).to_string(), "[[0, 1, 2, 3, 4, 5, 6, …, 9]]");
}

TEST(Levels, may_have_sequences_without_rows_or_no_sequences) {
  EXPECT_EQ(Levels(Offsets{{0}}).items(), 0);
  EXPECT_EQ(Levels(Offsets{{0}}).rows(), 0);
  EXPECT_EQ(Levels(Offsets{{0, 0, 0}}).items(), 2);
  EXPECT_EQ(Levels(Offsets{{0, 0}, {0}}).items(0), 1);
  EXPECT_EQ(Levels::from_lengths({0, 2, 0, 1}), Levels(Offsets{{0, 0, 2, 2, 3}}));
  EXPECT_EQ(Levels::from_lengths({}), Levels(Offsets{{0}}));
}

TEST(Levels, are_equal_where_their_offsets_are) {
  const Levels levels(Offsets{{0, 2}});
  const Levels copy = levels;
  EXPECT_EQ(levels, copy);
  EXPECT_EQ(levels, Levels(Offsets{{0, 2}}));
  EXPECT_FALSE(levels == Levels(Offsets{{0, 1, 2}}));
  EXPECT_FALSE(levels == Levels());
  EXPECT_EQ(Levels(), Levels());
  EXPECT_EQ(Levels().depth(), 0);
  EXPECT_FALSE(Levels());
}

TEST(Levels, that_are_wrong_are_refused_with_the_level_and_the_position) {
  const auto expect_refused = [](const Offsets& offsets, const std::string& message) {
    expect_error([&] { Levels levels(offsets); }, "portops::Levels: " + message);
  };
  expect_refused({}, "there are no levels, expected at least one");
  expect_refused({{}}, "level 0 has no offsets, expected at least the first, 0");
  expect_refused({{0, 0}, {}}, "level 1 has no offsets, expected at least the first, 0");
  expect_refused({{1, 2}}, "level 0 begins with 1, expected 0");
  expect_refused({{0, 2}, {0, 4, 9, 7}}, "level 0 ends with 2, expected 3 (the items of level 1)");
  expect_refused({{0, 3}, {0, 4, 9, 7}}, "level 1 runs backwards at position 3: 7 after 9");
  expect_refused({{0, -1}}, "level 0 runs backwards at position 1: -1 after 0");
  expect_error([] { Levels::from_lengths({1, -2}); }, "portops::Levels: sequence 1 has length -2, expected 0 or more");
  expect_error([] { Levels::from_lengths({1, INT64_MAX}); },
               "portops::Levels: 64 bits cannot hold the rows of sequences 0 to 1");
  expect_error([] { Levels(Offsets{{0, 1}}).offsets(1); },
               "portops::Levels: there is no level 1, expected less than 1");
}

/// A plan of which a graph may have need.
struct TestPlan {
  bool in_graph = false;
  bool is_in_graph() const { return in_graph; }
};

TEST(LevelsPlans, of_calls_and_graphs_are_kept_however_many_come) {
  const Levels levels(Offsets{{0, 2}});
  impl::LevelsData& data = *levels.data();
  const auto plan = [&](std::int64_t key, bool in_graph = false) {
    return data.plan<TestPlan>({key}, [&] { return TestPlan{in_graph}; });
  };
  const auto held = plan(0);
  const TestPlan* const in_graph = plan(1, true).get();
  const std::weak_ptr<const TestPlan> idle = plan(2);
  for (std::int64_t key = 100; key < 200; ++key) plan(key);
  EXPECT_EQ(plan(0), held) << "a call holds it, and may be about to become part of a graph";
  EXPECT_EQ(plan(1).get(), in_graph);
  EXPECT_TRUE(idle.expired());
}

}  // namespace
}  // namespace portops::test
