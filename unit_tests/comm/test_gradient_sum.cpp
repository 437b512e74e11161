// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/comm/gradient_sum.hpp>
#include <portops/nn/adam.hpp>
#include <portops/nn/embedding.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sum.hpp>
#include <portops/ops/tanh.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace portops::test {
namespace {

using ag::Variable;
using testing::HasSubstr;

/// Words, looked up, averaged line by line, and two layers: ragged, with a sparse gradient where that is wanted.
struct Network : nn::Module {
  Network(const Context& ctx, bool sparse)
      : table(ctx, random, 12, 5, {.sparse = sparse}), first(ctx, random, 5, 7), second(ctx, random, 7, 3) {}
  void describe(nn::Members& members) override {
    members.module("table", table).module("first", first).module("second", second);
  }

  /// The mean loss of a micro-batch of four lines, which follows from its number.
  Variable loss(const Context& ctx, std::int64_t number) {
    Random words(static_cast<unsigned>(number));
    std::vector<std::int64_t> ids, ends{0}, labels;
    for (int line = 0; line < 4; ++line) {
      for (auto left = words.bits() % 5; left > 0; --left) ids.push_back(static_cast<std::int64_t>(words.bits() % 12));
      ends.push_back(static_cast<std::int64_t>(ids.size()));
      labels.push_back(static_cast<std::int64_t>(words.bits() % 3));
    }
    memory.push_back(tensor_of(ctx, {static_cast<std::int64_t>(ids.size())}, ids));
    const Variable lines = ag::sequence_pool(ctx, table(ctx, {memory.back().ref(), Levels({ends})}));
    const Variable scores = second(ctx, ag::tanh(ctx, first(ctx, lines)));
    return ag::cross_entropy_with_softmax(ctx, scores, tensor_of(ctx, {4}, labels));
  }

  nn::Generator random{7};
  nn::Embedding table;
  nn::Linear first, second;
  std::vector<Tensor> memory;  ///< of ids, which backward passes read
};

/// What a training came to: the bits of the losses and of the parameters.
struct Result {
  std::vector<double> losses;
  std::vector<float> parameters;

  friend bool operator==(const Result&, const Result&) = default;
};

class GradientSumTest : public OnEveryBackend {
 protected:
  const comm::Communicator& all = processes();
  Context fixed = Context(ctx).deterministic(true);

  Result train(const Context& on, const comm::Communicator& communicator, bool sparse,
               const comm::GradientSumParams& params, int steps = 3) {
    Network network(on, sparse);
    const nn::State parameters = network.parameters();
    nn::Adam optimizer(on, parameters, 0.05);
    comm::GradientSum sum(on, communicator, parameters, params);
    Result result;
    for (int step = 0; step < steps; ++step) {
      const comm::Range mine = sum.micro_batches();
      std::vector<double> losses(static_cast<std::size_t>(std::max<std::int64_t>(params.micro_batches, 1)));
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        const Variable loss = network.loss(on, 100 * step + i);
        losses[static_cast<std::size_t>(i)] = static_cast<double>(elements_of<float>(on, loss)[0]);
        sum.backward(on, loss);
      }
      sum.finish(on);
      optimizer.step(on);
      optimizer.clear_grads();
      const Tensor of_all = tensor_of(on, {static_cast<std::int64_t>(losses.size())}, losses);
      comm::all_reduce(on, communicator, of_all);  // all but one are 0
      for (const double each : elements_of<double>(on, of_all.ref())) result.losses.push_back(each);
    }
    for (const nn::NamedVariable& each : parameters) {
      for (const float number : elements_of<float>(on, each.variable)) result.parameters.push_back(number);
    }
    return result;
  }
};

TEST_P(GradientSumTest, SameBitsForAnyNumberOfProcessesAndAnyBuckets) {
  for (const bool sparse : {false, true}) {
    for (const std::int64_t micro_batches : {4, 6, 7}) {
      const Result expected = train(fixed, {}, sparse, {.micro_batches = micro_batches});
      for (const std::int64_t bucket_bytes : {1, 100, 1 << 20}) {
        const Result found = train(fixed, all, sparse, {.micro_batches = micro_batches, .bucket_bytes = bucket_bytes});
        ASSERT_TRUE(found == expected) << micro_batches << " micro-batches, buckets of " << bucket_bytes
                                       << (sparse ? ", sparse" : "");
      }
    }
  }
}

TEST_P(GradientSumTest, NearTheSameWithoutATree) {
  const Context any = Context(ctx).deterministic(false);
  for (const bool sparse : {false, true}) {
    const Result expected = train(fixed, {}, sparse, {.micro_batches = 4});
    const Result found = train(any, all, sparse, {.micro_batches = 4, .bucket_bytes = 100});
    for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
      ASSERT_NEAR(found.parameters[i], expected.parameters[i], 1e-3);
    }
  }
}

/// In f64 the order of additions shows in the last digits alone: the mean is that of all micro-batches.
TEST_P(GradientSumTest, MeansAndSums) {
  for (const bool mean : {true, false}) {
    for (const bool tree : {true, false}) {
      const Context on = Context(ctx).deterministic(tree);
      Variable w = variable_of(ctx, {2}, {1, 2});
      comm::GradientSum sum(on, all, {{"w", w}}, {.micro_batches = 5, .mean = mean});
      double expected = 0;
      for (int i = 0; i < 5; ++i) expected += i + 1;
      const comm::Range mine = sum.micro_batches();
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        sum.backward(on, ag::sum(on, ag::multiply(on, w, static_cast<double>(i + 1))));
      }
      sum.finish(on);
      const double each = mean ? expected / 5 : expected;
      EXPECT_EQ(elements_of(ctx, w.grad()), (std::vector<double>{each, each}));
    }
  }
}

/// Running statistics, which every micro-batch changes, have the same bits for any number of processes.
TEST_P(GradientSumTest, Statistics) {
  const auto run = [&](const Context& on, const comm::Communicator& communicator) {
    const Variable w = variable_of(on, {3}, {1, 2, 3}), running = variable_of(on, {3}, {1, 1, 1}, ag::Gradient::none);
    comm::GradientSum sum(on, communicator, {{"w", w}}, {.micro_batches = 6, .statistics = {{"running", running}}});
    for (int step = 0; step < 3; ++step) {
      const comm::Range mine = sum.micro_batches();
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        const TensorRef& its = running.tensor();
        multiply(on, its, 0.9 + 0.01 * static_cast<double>(i), its);
        sum.backward(on, ag::sum(on, w));
      }
      sum.finish(on);
    }
    return elements_of(on, running);
  };
  const std::vector<double> expected = run(fixed, {});
  double factor = 0;
  for (int i = 0; i < 6; ++i) factor += (0.9 + 0.01 * i) / 6;
  EXPECT_NEAR(expected[0], factor * factor * factor, 1e-14);
  EXPECT_EQ(run(fixed, all), expected);
  EXPECT_EQ(run(Context(ctx).deterministic(false), all), expected);
}

/// Of each element type, several buckets of different sizes, and a parameter without elements.
TEST_P(GradientSumTest, EveryElementType) {
  for_each_type([&]<class T>() {
    for (const bool tree : {true, false}) {
      const Context on = Context(ctx).deterministic(tree);
      nn::State parameters;
      Variable loss;
      for (const std::int64_t count : {33, 0, 1, 5, 40}) {
        const Tensor tensor = tensor_of(on, {count}, std::vector<T>(static_cast<std::size_t>(count)));
        parameters.push_back({"w" + std::to_string(count), Variable(tensor, ag::Gradient::wanted)});
        const Variable term = ag::sum(on, ag::multiply(on, parameters.back().variable, all.rank() + 1.0));
        loss = loss ? ag::add(on, loss, term) : term;
      }
      comm::GradientSum sum(on, all, parameters, {.mean = false, .bucket_bytes = 64});
      sum.backward(on, loss);
      sum.finish(on);
      for (const nn::NamedVariable& each : parameters) {
        for (const T number : elements_of<T>(on, each.variable.grad())) {
          ASSERT_EQ(static_cast<double>(number), all.size() * (all.size() + 1) / 2) << each.name;
        }
      }
    }
  });
}

/// Gradients that are not contiguous are sent in the order of their elements.
TEST_P(GradientSumTest, StridedGradients) {
  TestTensor<double> turned(ctx, {3, 2}, Layout::reversed);
  turned.fill([&](std::int64_t i) { return static_cast<double>(i); });
  const Variable w = variable_of(ctx, {3, 2}, {0, 0, 0, 0, 0, 0});
  for (const bool tree : {true, false}) {
    const Context on = Context(ctx).deterministic(tree);
    comm::GradientSum sum(on, all, {{"w", w}}, {.micro_batches = 2 * all.size()});
    for (int i = 0; i < 2; ++i) sum.backward(on, ag::add(on, w, 0.0), {.loss_grads = {Variable(turned.ref())}});
    sum.finish(on);
    EXPECT_EQ(elements_of(on, w.grad()), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  }
}

/// Both ends of every bucket are told, in the order of the buckets, and the last one in `finish`.
TEST_P(GradientSumTest, BucketsAreTold) {
  const Variable a = variable_of(ctx, {2}, {1, 2}), b = variable_of(ctx, {3}, {1, 2, 3}),
                 running = variable_of(ctx, {1}, {1}, ag::Gradient::none);
  for (const bool tree : {true, false}) {
    const Context on = Context(ctx).deterministic(tree);
    std::vector<comm::BucketEvent> begun, sent;
    comm::GradientSum sum(on, all, {{"a", a}, {"b", b}},
                          {.micro_batches = 4,
                           .bucket_bytes = 1,
                           .statistics = {{"running", running}},
                           .on_bucket = [&](const comm::BucketEvent& event) {
                             EXPECT_TRUE(!event.is_sent || sent.size() < begun.size());
                             (event.is_sent ? sent : begun).push_back(event);
                           }});
    for (std::int64_t step = 0; step < 2; ++step) {
      const comm::Range mine = sum.micro_batches();
      for (std::int64_t i = 0; i < mine.count; ++i) {
        EXPECT_THAT(begun, testing::IsEmpty()) << "sent before the last micro-batch";
        sum.backward(on, ag::add(on, ag::sum(on, a), ag::sum(on, b)));
      }
      EXPECT_EQ(begun.size(), 3U);
      sum.finish(on);
      ASSERT_EQ(sent.size(), 3U);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(begun[i].number, static_cast<std::int64_t>(i));
        EXPECT_EQ(sent[i].number, static_cast<std::int64_t>(i));
        EXPECT_EQ(sent[i].bytes, begun[i].bytes);
      }
      EXPECT_EQ(begun[0].bytes, 24);  // the last parameter's first
      EXPECT_EQ(begun[2].bytes, 8);
      begun.clear();
      sent.clear();
    }
  }
}

TEST_P(GradientSumTest, UnusedParameters) {
  const Variable used = variable_of(ctx, {1}, {1}), sometimes = variable_of(ctx, {1}, {1}),
                 never = variable_of(ctx, {1}, {1});
  const nn::State parameters{{"used", used}, {"sometimes", sometimes}, {"never", never}};
  for (const bool tree : {true, false}) {
    const Context on = Context(ctx).deterministic(tree);
    comm::GradientSum sum(on, all, parameters, {.micro_batches = 4, .mean = false, .may_be_unused = true});
    const comm::Range mine = sum.micro_batches();
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      sum.backward(on, i == 2 ? ag::add(on, used, sometimes) : ag::multiply(on, used, 1.0));
    }
    sum.finish(on);
    EXPECT_EQ(elements_of(on, Variable(used).grad()), std::vector<double>{4});
    EXPECT_EQ(elements_of(on, Variable(sometimes).grad()), std::vector<double>{1});
    EXPECT_FALSE(Variable(never).grad());
  }
  const comm::Communicator alone;
  comm::GradientSum sum(ctx, alone, parameters, {.micro_batches = 2});
  expect_error([&] { sum.backward(ctx, ag::add(ctx, used, sometimes)); },
               "portops::comm::GradientSum: micro-batch 0 has brought no gradient of never, expected one, or "
               "may_be_unused");
}

/// A table whose gradient is wanted sparse and comes dense, in all micro-batches or in some.
TEST_P(GradientSumTest, TablesThatAreUsedOtherwise) {
  const Variable table = variable_of(ctx, {3, 2}, {1, 2, 3, 4, 5, 6}, ag::Gradient::sparse);
  const Tensor ids = tensor_of<std::int64_t>(ctx, {2}, {2, 0});
  const auto run = [&](auto is_dense) {
    comm::GradientSum sum(fixed, all, {{"table", table}}, {.micro_batches = 4, .mean = false});
    const comm::Range mine = sum.micro_batches();
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      sum.backward(fixed, ag::sum(fixed, is_dense(i) ? table : ag::embedding(fixed, table, ids)));
    }
    sum.finish(fixed);
  };
  run([](std::int64_t) { return true; });
  EXPECT_EQ(elements_of(ctx, table.grad()), (std::vector<double>{4, 4, 4, 4, 4, 4}));
  run([](std::int64_t) { return false; });
  const ag::SparseGradient sparse = table.sparse_grad();
  ASSERT_TRUE(sparse);
  EXPECT_EQ(elements_of<std::int64_t>(ctx, sparse.count), std::vector<std::int64_t>{2});
  EXPECT_EQ(elements_of<std::int64_t>(ctx, sparse.rows)[1], 2);
  EXPECT_EQ(elements_of(ctx, sparse.values)[3], 4);
  expect_error([&] { run([](std::int64_t i) { return i == 3; }); },
               "portops::comm::GradientSum: the gradient of table is sparse in some micro-batches and dense in others, "
               "expected one of both in all");
}

TEST_P(GradientSumTest, OneProcessWithOneMicroBatchIsBackwardItself) {
  const Variable w = variable_of(ctx, {2}, {1, 2});
  {
    comm::GradientSum sum(ctx, {}, {{"w", w}});
    for (int i = 1; i < 3; ++i) {
      sum.backward(ctx, ag::sum(ctx, w));
      sum.finish(ctx);
      EXPECT_EQ(elements_of(ctx, w.grad())[0], i);  // added, as backward does
    }
  }
}

TEST_P(GradientSumTest, OtherPassesAndTheEndLeaveGradientsAlone) {
  Variable w = variable_of(ctx, {1}, {1});
  {
    comm::GradientSum sum(fixed, all, {{"w", w}}, {.micro_batches = 4});
    ag::backward(fixed, ag::multiply(fixed, w, 3));
    EXPECT_EQ(elements_of(ctx, w.grad()), std::vector<double>{3});
  }
  w.clear_grad();
  ag::backward(ctx, ag::multiply(ctx, w, 3));
  EXPECT_EQ(elements_of(ctx, w.grad()), std::vector<double>{3});
}

TEST_P(GradientSumTest, WrongNumbersOfPasses) {
  const Variable w = variable_of(ctx, {1}, {1});
  comm::GradientSum sum(fixed, {}, {{"w", w}}, {.micro_batches = 2});
  sum.backward(fixed, ag::multiply(fixed, w, 3));
  expect_error([&] { sum.finish(fixed); },
               "portops::comm::GradientSum: finish is called after 1 of the 2 micro-batches of this process");
  sum.backward(fixed, ag::multiply(fixed, w, 3));
  expect_error([&] { sum.backward(fixed, ag::multiply(fixed, w, 3)); },
               "portops::comm::GradientSum: backward is called 3 times, expected finish after the 2 micro-batches of "
               "this process");
  sum.finish(fixed);
}

TEST_P(GradientSumTest, RefusesWrongOptions) {
  const nn::State none;
  EXPECT_THAT(message_of([&] { comm::GradientSum(ctx, {}, none, {.micro_batches = -1}); }),
              HasSubstr("micro_batches is -1, expected one for each of 1 processes or more"));
  EXPECT_THAT(message_of([&] { comm::GradientSum(ctx, {}, none, {.bucket_bytes = 0}); }),
              HasSubstr("bucket_bytes is 0"));
  const Variable w = variable_of(ctx, {1}, {1});
  expect_error([&] { comm::GradientSum(ctx, {}, {{"w", ag::multiply(ctx, w, 2)}}); },
               "portops::comm::GradientSum: w is no leaf");
}

TEST_P(GradientSumTest, ProcessesThatDisagreeAreNamed) {
  const int size = all.size();
  if (size == 1) GTEST_SKIP() << "one process agrees with itself";
  const bool is_last = all.rank() == size - 1;
  const std::string last = std::to_string(size - 1) + " of " + std::to_string(size);
  const Variable a = variable_of(ctx, {2}, {1, 2}), b = variable_of(ctx, {3}, {1, 2, 3});
  const auto make = [&](const Context& on, const nn::State& parameters, const comm::GradientSumParams& params) {
    return message_of([&] { const comm::GradientSum sum(on, all, parameters, params); });
  };
  const nn::State one{{"a", a}}, two{{"a", a}, {"b", b}}, other{{"a", a}, {"b", a}};
  EXPECT_EQ(make(ctx, is_last ? other : two, {}),
            "portops::comm::GradientSum: process " + last + " has b f64 [2], process 0 has b f64 [3]");
  EXPECT_EQ(make(ctx, is_last ? two : one, {}),
            "portops::comm::GradientSum: process " + last + " has b f64 [3], process 0 has nothing");
  EXPECT_THAT(make(ctx, one, {.mean = is_last}), HasSubstr("means"));
  EXPECT_THAT(make(Context(ctx).deterministic(is_last), one, {}), HasSubstr("deterministic"));
}

PORTOPS_ON_SENT_BACKENDS(GradientSumTest);

class GradientSumAloneTest : public OnEveryBackend {};

/// What a GPU finds in one micro-batch, after the host has gone on, the sum over all of them still says.
TEST_P(GradientSumAloneTest, RowsOutsideOfTheTable) {
  if (ctx.backend() != Backend::cuda) GTEST_SKIP() << "hosts refuse such rows before anything is enqueued";
  const Variable table = variable_of(ctx, {3, 2}, {1, 2, 3, 4, 5, 6}, ag::Gradient::sparse);
  comm::GradientSum sum(ctx, {}, {{"table", table}}, {.micro_batches = 3, .mean = false});
  std::vector<Tensor> ids;  // which backward passes read
  for (const std::int64_t id : {0, 3, 2}) {
    ids.push_back(tensor_of<std::int64_t>(ctx, {2}, {0, id}));
    sum.backward(ctx, ag::sum(ctx, ag::embedding(ctx, table, ids.back())));
  }
  sum.finish(ctx);
  const ag::SparseGradient sparse = table.sparse_grad();
  EXPECT_THAT(message_of([&] { merged_count(ctx, sparse.count.tensor()); }), HasSubstr("is not a row of the table"));
  EXPECT_EQ(elements_of<std::int64_t>(ctx, sparse.rows)[1], 2);
  EXPECT_EQ(elements_of(ctx, sparse.values)[0], 4);
}

PORTOPS_ON_EVERY_BACKEND(GradientSumAloneTest);

TEST(ShareTest, SharesAreAllItemsInOrder) {
  for (const std::int64_t count : {0, 1, 5, 8, 1000003}) {
    for (const int size : {1, 2, 3, 7, 4096}) {
      std::int64_t first = 0, least = count, most = 0;
      for (int rank = 0; rank < size; ++rank) {
        const comm::Range share = comm::share_of(count, rank, size);
        ASSERT_EQ(share.first, first);
        first += share.count;
        least = std::min(least, share.count);
        most = std::max(most, share.count);
      }
      EXPECT_EQ(first, count);
      EXPECT_LE(most - least, 1);
    }
  }
}

}  // namespace
}  // namespace portops::test
