// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"

#include <portops/comm/gradient_sum.hpp>

#include <gmock/gmock.h>

#include <cmath>

namespace portops::test {
namespace {

using testing::HasSubstr;

class CollectivesTest : public OnEveryBackend {
 protected:
  const comm::Communicator& all = processes();
  int rank = all.rank();
  int size = all.size();

  /// Element i of process p.
  static double element(int process, std::size_t i) {
    Random random(static_cast<unsigned>(1000 * process) + static_cast<unsigned>(i));
    return random.uniform(-2, 2);
  }
  template <class T>
  std::vector<T> elements_for(int process, std::size_t count) {
    std::vector<T> elements;
    for (std::size_t i = 0; i < count; ++i) elements.push_back(static_cast<T>(element(process, i)));
    return elements;
  }
};

template <class T>
T rounded_sum(T a, T b) {
  using Sum = std::conditional_t<sizeof(T) == 8, double, float>;
  return static_cast<T>(static_cast<Sum>(a) + static_cast<Sum>(b));
}

/// The sum over processes [first, last), as a tree whose left halves are powers of two.
template <class T>
T tree_sum(const std::vector<std::vector<T>>& of, std::size_t i, std::size_t first, std::size_t last) {
  if (last - first == 1) return of[first][i];
  std::size_t half = 1;
  while (2 * half < last - first) half *= 2;
  return rounded_sum(tree_sum(of, i, first, first + half), tree_sum(of, i, first + half, last));
}

TEST_P(CollectivesTest, AllReduceIsATreeInDeterministicMode) {
  const Context fixed = Context(ctx).deterministic(true);
  for_each_type([&]<class T>() {
    for (const std::size_t count : {0, 1, 2, 7, 1000}) {
      const Tensor x = tensor_of(ctx, {static_cast<std::int64_t>(count)}, elements_for<T>(rank, count));
      comm::all_reduce(fixed, all, x);
      const std::vector<T> sums = elements_of<T>(ctx, x.ref());
      std::vector<std::vector<T>> of;
      for (int process = 0; process < size; ++process) of.push_back(elements_for<T>(process, count));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(same_bits(sums[i], tree_sum(of, i, 0, of.size()))) << "element " << i << " of " << count;
      }
    }
  });
}

TEST_P(CollectivesTest, AllReduceByTheEngine) {
  for_each_type([&]<class T>() {
    const std::size_t count = 300;
    const Tensor x = tensor_of(ctx, {3, 100}, elements_for<T>(rank, count));
    comm::all_reduce(Context(ctx).deterministic(false), all, x);
    const std::vector<T> sums = elements_of<T>(ctx, x.ref());
    for (std::size_t i = 0; i < count; ++i) {
      double expected = 0, magnitude = 0;
      for (int process = 0; process < size; ++process) {
        const double term = static_cast<double>(static_cast<T>(element(process, i)));
        expected += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(static_cast<double>(sums[i]), expected, size * magnitude * rounding<T>());
    }
  });
}

TEST_P(CollectivesTest, AllReduceOfIndices) {
  const std::int64_t large = std::int64_t{1} << 60;
  for (const bool deterministic : {false, true}) {
    const Tensor x = tensor_of<std::int64_t>(ctx, {2}, {rank + 1, rank == 0 ? large + 1 : 0});
    comm::all_reduce(Context(ctx).deterministic(deterministic), all, x);
    EXPECT_EQ(elements_of<std::int64_t>(ctx, x.ref()), (std::vector<std::int64_t>{size * (size + 1) / 2, large + 1}));
  }
}

TEST_P(CollectivesTest, AllGather) {
  const Tensor x = tensor_of(ctx, {2, 3}, elements_for<float>(rank, 6));
  const Tensor out(ElementType::f32, {2 * size, 3}, default_memory_space(ctx.backend()));
  comm::all_gather(ctx, all, x, out);
  std::vector<float> expected;
  for (int process = 0; process < size; ++process) {
    for (const float each : elements_for<float>(process, 6)) expected.push_back(each);
  }
  EXPECT_EQ(elements_of<float>(ctx, out.ref()), expected);

  const Tensor number = tensor_of<std::int64_t>(ctx, {}, {10 * rank});
  const Tensor numbers(ElementType::i64, {size}, default_memory_space(ctx.backend()));
  comm::all_gather(ctx, all, number, numbers);
  EXPECT_EQ(elements_of<std::int64_t>(ctx, numbers.ref())[static_cast<std::size_t>(size) - 1], 10 * (size - 1));
}

TEST_P(CollectivesTest, BroadcastFromEveryProcess) {
  for (int root = 0; root < size; ++root) {
    const Tensor x = tensor_of(ctx, {5}, elements_for<bf16>(rank, 5));
    comm::broadcast(ctx, all, x, root);
    const std::vector<bf16> expected = elements_for<bf16>(root, 5), found = elements_of<bf16>(ctx, x.ref());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(bits_of(found[i]), bits_of(expected[i]));
  }
}

TEST_P(CollectivesTest, BroadcastOfAState) {
  const std::int64_t own = rank;
  std::int64_t steps = own;
  const nn::State state{{"weight", variable_of(ctx, {2}, {1.0 + rank, 2.0})}, {"steps", TensorRef(&steps, {})}};
  comm::broadcast(ctx, all, state, size - 1);
  EXPECT_EQ(elements_of(ctx, state[0].variable), (std::vector<double>{static_cast<double>(size), 2}));
  EXPECT_EQ(steps, size - 1);
}

TEST_P(CollectivesTest, RefusesWrongTensors) {
  TestTensor<float> strided(ctx, {4, 4}, Layout::every_other), x(ctx, {4});
  expect_error([&] { comm::all_reduce(ctx, all, TensorRef()); },
               "portops::comm::all_reduce: x is empty, expected a tensor");
  EXPECT_THAT(message_of([&] { comm::all_reduce(ctx, all, strided); }), HasSubstr("expected a contiguous tensor"));
  EXPECT_THAT(message_of([&] { comm::broadcast(ctx, all, x, size); }), HasSubstr("root is " + std::to_string(size)));
  EXPECT_THAT(message_of([&] { comm::all_gather(ctx, all, x, x); }).substr(0, 26),
              size == 1 ? HasSubstr("portops::copy") : HasSubstr("portops::comm::all_gather"));
}

TEST_P(CollectivesTest, ProcessesThatDisagreeAreNamed) {
  if (size == 1) GTEST_SKIP() << "one process agrees with itself";
  const bool is_last = rank == size - 1;
  const std::string last = std::to_string(size - 1) + " of " + std::to_string(size);
  const TestTensor<float> x(ctx, {is_last ? 5 : 4});
  expect_error([&] { comm::all_reduce(ctx, all, x); }, "portops::comm::all_reduce: process " + last +
                                                           " has portops::comm::all_reduce of x f32 [5], process 0 has "
                                                           "portops::comm::all_reduce of x f32 [4]");
  const TestTensor<double> y(ctx, {4});
  EXPECT_THAT(message_of([&] { comm::all_reduce(ctx, all, is_last ? TensorRef(y) : TensorRef(x)); }),
              HasSubstr("x f64 [4], process 0 has portops::comm::all_reduce of x f32 [4]"));
  EXPECT_THAT(message_of([&] { comm::broadcast(ctx, all, y, is_last ? 1 : 0); }),
              HasSubstr("x f64 [4] and root 1, process 0 has"));
  // Another call altogether.
  EXPECT_THAT(message_of([&] { is_last ? comm::broadcast(ctx, all, y) : comm::all_reduce(ctx, all, y); }),
              HasSubstr("process " + last +
                        " has portops::comm::broadcast of x f64 [4] and root 0, process 0 has "
                        "portops::comm::all_reduce of x f64 [4]"));
  const nn::State state{{is_last ? "bias" : "weight", variable_of(ctx, {1}, {1})}};
  expect_error([&] { comm::broadcast(ctx, all, state); },
               "portops::comm::broadcast: process " + last + " has bias f64 [1], process 0 has weight f64 [1]");
  // All of them can go on.
  comm::all_reduce(ctx, all, y);
}

TEST_P(CollectivesTest, OneProcessAlone) {
  const comm::Communicator alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.engine_name(ctx), "none");
  alone.barrier();
  const Tensor x = tensor_of<double>(ctx, {2}, {1, 2}), out = tensor_of<double>(ctx, {2}, {0, 0});
  for (const bool deterministic : {false, true}) comm::all_reduce(Context(ctx).deterministic(deterministic), alone, x);
  comm::broadcast(ctx, alone, x);
  comm::all_gather(ctx, alone, x, out);
  EXPECT_EQ(elements_of<double>(ctx, out.ref()), (std::vector<double>{1, 2}));
}

PORTOPS_ON_SENT_BACKENDS(CollectivesTest);

}  // namespace
}  // namespace portops::test
