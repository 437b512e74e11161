// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/measures.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace portops::apps;
using testing::ElementsAre;

TEST(AppMeasures, SayWhatLogitsTell) {
  const std::vector<double> logits{0, std::log(2.0), 0, 1000, 1000, -1000, -5, -7, -6};
  const std::vector<std::int64_t> labels{0, 2, 0};
  const std::vector<Told> told = told_by(logits, labels);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].label, 1);
  EXPECT_TRUE(told[0].is_alone);
  EXPECT_NEAR(told[0].loss, std::log(4.0), 1e-12);
  EXPECT_NEAR(told[0].share, 0.5, 1e-12);
  EXPECT_EQ(told[1].label, 0);
  EXPECT_FALSE(told[1].is_alone);
  EXPECT_NEAR(told[1].loss, 2000 + std::log(2.0), 1e-9);
  EXPECT_EQ(told[2].label, 0);

  Measures measures;
  measures.add(told, labels);
  measures.add(measures);
  EXPECT_EQ(measures.items, 6);
  EXPECT_NEAR(measures.accuracy(), 1.0 / 3, 1e-12);
  EXPECT_NEAR(measures.loss(), (told[0].loss + told[1].loss + told[2].loss) / 3, 1e-9);
  EXPECT_THAT(confusion(told, labels, 3), ElementsAre(1, 1, 0, 0, 0, 0, 1, 0, 0));
}

TEST(AppMeasures, ALogitThatIsNoNumberGivesALossThatIsNone) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& logits : {std::vector{nan, 1.0}, {1.0, nan}, {inf, 1.0}, {nan, nan}, {-inf, -inf}}) {
    EXPECT_FALSE(std::isfinite(told_by(logits, std::vector<std::int64_t>{1})[0].loss));
  }
  EXPECT_TRUE(told_by({}, {}).empty());
}

}  // namespace
