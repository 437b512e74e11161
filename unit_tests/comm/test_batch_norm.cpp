// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/comm_support.hpp"

#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/comm/batch_norm.hpp>
#include <portops/comm/gradient_sum.hpp>
#include <portops/graph/record.hpp>
#include <portops/nn/batch_norm2d.hpp>
#include <portops/nn/conv2d.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>
#include <portops/nn/sgd.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/batch_norm.hpp>
#include <portops/ops/conv2d.hpp>
#include <portops/ops/cross_entropy_with_softmax.hpp>
#include <portops/ops/linear.hpp>
#include <portops/ops/mean.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sgd.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace portops::test {
namespace {

using ag::Variable;
using testing::HasSubstr;

constexpr std::int64_t channels = 5, pixels = 6;

/// What a training step of a batch norm comes to.
template <class T>
struct Step {
  std::vector<T> out, x_grad;                                 ///< of this process's items
  std::vector<double> mean, variance, scale_grad, bias_grad;  ///< of all
};

class SharedBatchNormTest : public OnEveryBackend {
 protected:
  const comm::Communicator& all = processes();

  template <class T>
  static constexpr ElementType parameters = sizeof(T) == 8 ? ElementType::f64 : ElementType::f32;

  /// Items [first, first + count) of a batch, [count, channels, 2, 3], around `mean`.
  template <class T>
  Variable items(const comm::Range& range, unsigned seed, double mean) {
    std::vector<T> elements;
    for (std::int64_t item = range.first; item < range.first + range.count; ++item) {
      Random random(1000 * seed + static_cast<unsigned>(item));
      for (std::int64_t i = 0; i < channels * pixels; ++i) {
        elements.push_back(
            static_cast<T>(static_cast<float>(mean + static_cast<double>(item) + random.uniform(-1, 1))));
      }
    }
    return {tensor_of(ctx, {range.count, channels, 2, 3}, elements), ag::Gradient::wanted};
  }

  /// The numbers of a tensor of f32 or f64.
  std::vector<double> numbers(const Variable& variable) {
    const TensorRef& tensor = variable.tensor();
    if (tensor.type() == ElementType::f64) return elements_of<double>(ctx, tensor);
    const std::vector<float> found = elements_of<float>(ctx, tensor);
    return {found.begin(), found.end()};
  }

  template <class T>
  Step<T> step(nn::BatchNorm2d& norm, const comm::Range& range, double mean) {
    const Variable x = items<T>(range, 1, mean);
    const Variable out = norm(ctx, x);
    ag::backward(ctx, out, {.loss_grads = {items<T>(range, 2, 0).detach()}});
    return {elements_of<T>(ctx, out),  elements_of<T>(ctx, x.grad()), numbers(norm.running_mean),
            numbers(norm.running_var), numbers(norm.weight.grad()),   numbers(norm.bias.grad())};
  }

  nn::BatchNorm2d make_norm(ElementType type) {
    nn::BatchNorm2d norm(ctx, channels, {.type = type});
    const std::vector<double> weight{0.5, -1, 2, 1.25, 3};
    if (type == ElementType::f64) {
      norm.weight = Variable(tensor_of(ctx, {channels}, weight), ag::Gradient::wanted);
    } else {
      norm.weight =
          Variable(tensor_of(ctx, {channels}, std::vector<float>(weight.begin(), weight.end())), ag::Gradient::wanted);
    }
    return norm;
  }

  /// The sum over processes.
  std::vector<double> summed(const std::vector<double>& own) {
    const Tensor sum = tensor_of(ctx, {static_cast<std::int64_t>(own.size())}, own);
    comm::all_reduce(ctx, all, sum);
    return elements_of<double>(ctx, sum.ref());
  }
};

template <class A, class B>
void expect_close(const A& found, const B& expected, double error, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double value = static_cast<double>(expected[i]);
    ASSERT_NEAR(static_cast<double>(found[i]), value, error * (1 + std::abs(value))) << what << ", element " << i;
  }
}

/// Of a batch that processes share unevenly, some of them perhaps with nothing, also where the mean is large.
TEST_P(SharedBatchNormTest, IsBatchNormOfTheWholeBatch) {
  for_each_type([&]<class T>() {
    const double error = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 2e-5 : 2e-2;
    for (const std::int64_t batch : {1, 2, 5, 7, 64}) {
      for (const double mean : {0.0, 1000.0}) {
        if (mean > 0 && sizeof(T) == 2) continue;
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + ", " + std::to_string(batch) + " items");
        nn::BatchNorm2d whole = make_norm(parameters<T>), shared = make_norm(parameters<T>);
        comm::synchronise_batch_norm(all, shared);
        const Step<T> expected = step<T>(whole, {0, batch}, mean);
        const comm::Range mine = comm::share_of(batch, all.rank(), all.size());
        const Step<T> found = step<T>(shared, mine, mean);
        const auto own = [&](const std::vector<T>& of_all) {
          const auto first = of_all.begin() + mine.first * channels * pixels;
          return std::vector<T>(first, first + mine.count * channels * pixels);
        };
        expect_close(found.mean, expected.mean, error, "running_mean");
        expect_close(found.variance, expected.variance, error, "running_var");
        // Of large means the rounding of x̂ is that of the mean, in f32.
        const double rounding = mean > 0 && sizeof(T) == 4 ? 1e-3 : error;
        expect_close(found.out, own(expected.out), rounding, "out");
        expect_close(found.x_grad, own(expected.x_grad), rounding, "x_grad");
        expect_close(summed(found.scale_grad), expected.scale_grad, 10 * rounding, "scale_grad");
        expect_close(summed(found.bias_grad), expected.bias_grad, 10 * error, "bias_grad");
      }
    }
  });
}

/// All of them have one set of statistics, on every run.
TEST_P(SharedBatchNormTest, StatisticsAreTheSameBitsEverywhere) {
  std::vector<std::vector<double>> runs;
  for (int run = 0; run < 2; ++run) {
    nn::BatchNorm2d norm(ctx, channels);
    comm::synchronise_batch_norm(all, norm);
    for (int i = 0; i < 3; ++i) step<float>(norm, comm::share_of(11, all.rank(), all.size()), 3.0 * i);
    runs.push_back(numbers(norm.running_mean));
    const std::vector<double> variance = numbers(norm.running_var);
    runs.back().insert(runs.back().end(), variance.begin(), variance.end());
  }
  EXPECT_EQ(runs[0], runs[1]);
  const Tensor own = tensor_of(ctx, {2 * channels}, runs[0]);
  const Tensor of_all(ElementType::f64, {all.size() * 2 * channels}, default_memory_space(ctx.backend()));
  comm::all_gather(ctx, all, own, of_all);
  const std::vector<double> found = elements_of<double>(ctx, of_all.ref());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], runs[0][i % runs[0].size()]);
}

TEST_P(SharedBatchNormTest, OneProcessHasTheBitsOfBatchNorm) {
  /// A share that is all there is.
  struct Lone final : nn::SharedBatch {
    int size() const override { return 1; }
    void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> of_all) const override {
      std::copy(own.begin(), own.end(), of_all.begin());
    }
    void gather(const Context& on, const TensorRef& x, const TensorRef& of_all) const override {
      copy(on, x, TensorRef(of_all.data(), x.type(), x.extents(), x.extents().row_major_strides(), x.space()));
    }
  };
  for_each_type([&]<class T>() {
    nn::BatchNorm2d plain = make_norm(parameters<T>), lone = make_norm(parameters<T>), none = make_norm(parameters<T>);
    lone.share_batch(std::make_shared<Lone>());
    comm::synchronise_batch_norm(all, none);
    comm::synchronise_batch_norm({}, none);
    const Step<T> expected = step<T>(plain, {0, 9}, 5);
    for (nn::BatchNorm2d* norm : {&lone, &none}) {
      const Step<T> found = step<T>(*norm, {0, 9}, 5);
      for (std::size_t i = 0; i < found.out.size(); ++i) {
        ASSERT_TRUE(same_bits(found.out[i], expected.out[i]));
        ASSERT_TRUE(same_bits(found.x_grad[i], expected.x_grad[i]));
      }
      EXPECT_EQ(found.mean, expected.mean);
      EXPECT_EQ(found.variance, expected.variance);
      EXPECT_EQ(found.scale_grad, expected.scale_grad);
      EXPECT_EQ(found.bias_grad, expected.bias_grad);
    }
  });
}

/// A network whose gradients are sent, in many buckets, while statistics of the backward pass go between processes.
struct Network : nn::Module {
  explicit Network(const Context& ctx)
      : conv1(ctx, random, 1, 4, {3, 3}, {.padding = {1, 1}, .bias = false, .type = ElementType::f64}),
        conv2(ctx, random, 4, 6, {3, 3}, {.padding = {1, 1}, .bias = false, .type = ElementType::f64}),
        norm1(ctx, 4, {.type = ElementType::f64}),
        norm2(ctx, 6, {.type = ElementType::f64}),
        head(ctx, random, 6, 3, {.type = ElementType::f64}) {}
  void describe(nn::Members& members) override {
    members.module("conv1", conv1).module("norm1", norm1).module("conv2", conv2).module("norm2", norm2);
    members.module("head", head);
  }
  Variable operator()(const Context& ctx, const Variable& x) {
    const Variable y = ag::relu(ctx, norm1(ctx, conv1(ctx, x)));
    return head(ctx, ag::mean(ctx, ag::relu(ctx, norm2(ctx, conv2(ctx, y))), {.axis = {2, 3}}));
  }

  nn::Generator random{7};
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d norm1, norm2;
  nn::Linear head;
};

/// The whole batch on one process, and a share of it on each, come to one network but for rounding.
TEST_P(SharedBatchNormTest, TrainsAsOneProcessDoes) {
  constexpr std::int64_t batch = 10;
  const auto train = [&](const Context& on, const comm::Communicator& communicator) {
    Network network(on);
    comm::synchronise_batch_norm(communicator, network);
    nn::Sgd optimizer(on, network.parameters(), 0.5);
    comm::GradientSum sum(on, communicator, network.parameters(), {.mean = false, .bucket_bytes = 1});
    for (unsigned step = 0; step < 4; ++step) {
      const comm::Range mine = comm::share_of(batch, communicator.rank(), communicator.size());
      std::vector<double> images;
      std::vector<std::int64_t> labels;
      for (std::int64_t item = mine.first; item < mine.first + mine.count; ++item) {
        Random random(100 * step + static_cast<unsigned>(item));
        for (int i = 0; i < 16; ++i) images.push_back(random.uniform(-1, 3));
        labels.push_back(static_cast<std::int64_t>(random.bits() % 3));
      }
      const Tensor x = tensor_of(on, {mine.count, 1, 4, 4}, images), label = tensor_of(on, {mine.count}, labels);
      const Variable loss = ag::cross_entropy_with_softmax(on, network(on, x), label);
      sum.backward(on, ag::multiply(on, loss, static_cast<double>(mine.count) / static_cast<double>(batch)));
      sum.finish(on);
      optimizer.step(on);
      optimizer.clear_grads();
    }
    std::vector<double> state;
    for (const nn::NamedVariable& each : network.state()) {
      for (const double number : elements_of<double>(on, each.variable)) state.push_back(number);
    }
    return state;
  };
  for (const bool is_deterministic : {true, false}) {
    const Context on = Context(ctx).deterministic(is_deterministic);
    const std::vector<double> expected = train(on, {}), found = train(on, all);
    expect_close(found, expected, 1e-9, "state");
    if (is_deterministic) {
      EXPECT_EQ(train(on, all), found);
    }
  }
}

/// What is evaluated is no affair of the others.
TEST_P(SharedBatchNormTest, EvaluationIsOfOneProcess) {
  nn::BatchNorm2d norm(ctx, channels);
  comm::synchronise_batch_norm(all, norm);
  norm.train(false);
  if (all.rank() > 0) return;
  nn::BatchNorm2d plain(ctx, channels);
  plain.train(false);
  const Variable x = items<float>({0, 3}, 1, 2);
  EXPECT_EQ(elements_of<float>(ctx, norm(ctx, x)), elements_of<float>(ctx, plain(ctx, x)));
}

TEST_P(SharedBatchNormTest, ProcessesThatDisagreeAreNamed) {
  const int size = all.size();
  if (size == 1) GTEST_SKIP() << "one process agrees with itself";
  const bool is_last = all.rank() == size - 1;
  const std::string name = "portops::nn::BatchNorm2d: ",
                    last = std::to_string(size - 1) + " of " + std::to_string(size);
  nn::BatchNorm2d other(ctx, is_last ? 2 : 3);
  comm::synchronise_batch_norm(all, other);
  const Variable x = random_variable(ctx, {2, is_last ? 2 : 3, 2, 2}, 1);
  const Tensor narrow(ElementType::f32, x.tensor().extents(), default_memory_space(ctx.backend()));
  expect_error([&] { other(ctx, narrow); },
               name + "process " + last + " has 2 channels of f32, process 0 has 3 channels of f32");
  nn::BatchNorm2d norm(ctx, 2);
  comm::synchronise_batch_norm(all, norm);
  const Tensor one(ElementType::f32, {all.rank() == 0 ? 1 : 0, 2, 1, 1}, default_memory_space(ctx.backend()));
  expect_error([&] { norm(ctx, one); }, name + "the processes have one value per channel, expected more in training");
  // What is wrong here alone is said here alone, as by the operator; and nothing has been sent.
  const Tensor flat(ElementType::f32, {2}, default_memory_space(ctx.backend()));
  const std::string wrong = message_of([&] { norm(ctx, flat); });
  EXPECT_THAT(wrong, HasSubstr("portops::batch_norm: x has extents [2]"));
  graph::Recorder recorder(ctx);
  EXPECT_THAT(message_of([&] { norm(ctx, one); }), HasSubstr("is no part of a program"));
}

PORTOPS_ON_SENT_BACKENDS(SharedBatchNormTest);

}  // namespace
}  // namespace portops::test
