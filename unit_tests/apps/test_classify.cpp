// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "classify/batches.hpp"
#include "classify/model.hpp"
#include "classify/speaking_words.hpp"
#include "classify/text.hpp"
#include "common/order.hpp"
#include "support/support.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace portops;
using namespace portops::apps;
using namespace portops::test;
using testing::ElementsAre;
using testing::IsEmpty;

// --- text --------------------------------------------------------------------------------------------------

TEST(ClassifyText, WordsAreRunsOfLetters) {
  EXPECT_THAT(words_of("In the Beginning, GOD: (x2y)"), ElementsAre("in", "the", "beginning", "god", "x", "y"));
  EXPECT_THAT(words_of("naïve ÉTÉ’s"), ElementsAre("naïve", "ÉtÉ’s"));  // bytes beyond ASCII stay as they are
  EXPECT_THAT(words_of("12 -- 3\r"), IsEmpty());
  EXPECT_THAT(words_of(""), IsEmpty());
}

Text read_text(const std::string& content) {
  const std::string name = testing::TempDir() + "portops_classify_text";
  std::ofstream(name) << content;
  Text text;
  text.read(name);
  return text;
}

TEST(ClassifyText, LinesAreLabelsAndWords) {
  const Text text = read_text("b\tone two\n\na\ttwo\tTwo\r\nb\t...");
  EXPECT_THAT(text.classes(), ElementsAre("b", "a"));
  EXPECT_THAT(text.words(), ElementsAre("one", "two"));
  ASSERT_EQ(text.lines().size(), 3u);
  EXPECT_THAT(text.lines()[0].words, ElementsAre(0, 1));
  EXPECT_THAT(text.lines()[1].words, ElementsAre(1, 1));
  EXPECT_THAT(text.lines()[2].words, IsEmpty());
  EXPECT_EQ(text.lines()[1].label, 1);
  EXPECT_EQ(text.lines()[2].label, 0);
}

TEST(ClassifyText, RowsAreForTheFrequentWordsOfTheLinesToLearnFrom) {
  std::string content;
  for (int i = 0; i < 10; ++i)
    content += (i % 2 == 0 ? "a\tseldom often often w" : "b\toften w") + std::string(1, 'a' + i) + "\n";
  const Text text = read_text(content);
  const Examples examples = divide(text, {.held_out = 0.3, .min_count = 2});
  EXPECT_EQ(examples.train.size(), 7u);
  EXPECT_EQ(examples.held_out.size(), 3u);
  EXPECT_THAT(examples.words, ElementsAre("often", "seldom"));  // each of the others is in one line alone
  EXPECT_EQ(examples.rows(), 3);
  for (const std::vector<Line>* lines : {&examples.train, &examples.held_out}) {
    for (const Line& line : *lines) {
      const std::vector<std::int64_t> of_a{0, 2, 1, 1};
      EXPECT_EQ(line.words, line.label == 0 ? of_a : (std::vector<std::int64_t>{0, 1}));
    }
  }
  EXPECT_THAT(divide(text, {.held_out = 0.3, .min_count = 1}).words, testing::SizeIs(9));  // not those held out
  EXPECT_EQ(divide(text, {.held_out = 0.001}).held_out.size(), 1u);
  EXPECT_EQ(divide(text, {.held_out = 0.999}).train.size(), 1u);
}

TEST(ClassifyText, WordsThatSpeakForAClassAreThoseOfItsLines) {
  Examples examples;
  examples.classes = {"a", "b"};
  examples.words = {"both", "of_a", "of_b", "little_a"};
  const std::vector<double> table{9, 0, 5, 5, 3, -3, -2, 2, 1, 0};  // row 0 is no word's
  EXPECT_THAT(speaking_words(examples, table, 0, 2), ElementsAre("of_a", "little_a"));
  EXPECT_THAT(speaking_words(examples, table, 1, 9), ElementsAre("of_b"));
}

// --- on the device -----------------------------------------------------------------------------------------

class ClassifyTest : public OnEveryBackend {};

const std::vector<Line> some_lines{{0, {0, 1, 1}}, {1, {0, 2}}, {1, {0}}, {0, {0, 3, 1, 2}}, {2, {0, 3}}};

TEST_P(ClassifyTest, BatchesAreRagged) {
  const Batches batches(ctx, some_lines, {4, 3, 2, 1, 0}, 2);
  EXPECT_EQ(batches.lines(), 5);
  std::vector<std::vector<std::int64_t>> words;
  std::vector<std::vector<std::int64_t>> offsets;
  std::vector<std::int64_t> first;
  for (const Batch& batch : batches) {
    const Tensor host(ElementType::i64, batch.words.extents());
    copy(ctx, batch.words, host);
    ctx.fence();
    words.emplace_back(host.data<std::int64_t>(), host.data<std::int64_t>() + host.ref().size());
    offsets.push_back(batch.levels.offsets());
    first.push_back(batch.first);
  }
  EXPECT_THAT(words, ElementsAre(ElementsAre(0, 3, 0, 3, 1, 2), ElementsAre(0, 0, 2), ElementsAre(0, 1, 1)));
  EXPECT_THAT(offsets, ElementsAre(ElementsAre(0, 2, 6), ElementsAre(0, 1, 3), ElementsAre(0, 3)));
  EXPECT_THAT(first, ElementsAre(0, 2, 4));
  EXPECT_EQ(batches.words(), 12);
  EXPECT_THAT(batches.labels(), ElementsAre(2, 0, 1, 1, 0));
}

/// The table after a step of gradient descent from zeros, by all of some_lines at once: the probabilities are a third.
std::vector<double> table_after_a_step(double learning_rate) {
  std::vector<double> table(12);
  for (const Line& line : some_lines) {
    for (const std::int64_t word : line.words) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const double gradient = (1.0 / 3 - (c == line.label ? 1.0 : 0.0)) / 5;
        table[static_cast<std::size_t>(3 * word + c)] -=
            learning_rate * gradient / static_cast<double>(line.words.size());
      }
    }
  }
  return table;
}

TEST_P(ClassifyTest, AStepDescendsAlongTheGradientOfTheMeanLoss) {
  for (const ElementType type : {ElementType::f64, ElementType::f32}) {
    Model model(ctx, {type, Optimizer::sgd}, 4, 3);
    const Measures before = model.learn(Batches(ctx, some_lines, numbers_to(5), 5), 2.0, 1.0);
    EXPECT_NEAR(before.loss(), std::log(3.0), 1e-6);
    EXPECT_EQ(before.accuracy(), 0.0);
    const std::vector<double> expected = table_after_a_step(2.0);
    const std::vector<double> table = model.table();
    for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(table[i], expected[i], 1e-6) << i;
  }
}

TEST_P(ClassifyTest, EveryOptimizerLearnsTheLines) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::momentum, Optimizer::sgd}) {
    Model model(ctx, {ElementType::f32, optimizer}, 4, 3);
    const Batches batches(ctx, some_lines, numbers_to(5), 2);
    for (int epoch = 0; epoch < 300; ++epoch) model.learn(batches, 0.1, 0.1);
    const Measures learned = model.measure(batches);
    EXPECT_LT(learned.loss(), 0.9 * std::log(3.0));
    EXPECT_EQ(learned.accuracy(), 1.0);
    const Measures again = model.measure(batches);  // it changes nothing
    EXPECT_EQ(again.loss(), learned.loss());
  }
}

PORTOPS_ON_EVERY_BACKEND(ClassifyTest);

}  // namespace
