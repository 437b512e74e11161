// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/autograd_support.hpp"

#include <portops/autograd/backward.hpp>
#include <portops/autograd/operators.hpp>
#include <portops/autograd/scopes.hpp>
#include <portops/ops/add.hpp>
#include <portops/ops/multiply.hpp>
#include <portops/ops/relu.hpp>
#include <portops/ops/sum.hpp>

#include <array>
#include <limits>
#include <thread>

// Leaves, passes and what stands between them.

namespace portops::test {
namespace {

using Elements = std::vector<double>;

class AutogradTapeTest : public OnEveryBackend {
 protected:
  void SetUp() override { need_type<double>(); }
  ag::Variable leaf(const Elements& elements) {
    return variable_of(ctx, {static_cast<std::int64_t>(elements.size())}, elements);
  }
  Elements grad(const ag::Variable& variable) {
    return variable.grad() ? elements_of(ctx, variable.grad()) : Elements();
  }
};

TEST_P(AutogradTapeTest, GradientsOfLeavesAreAdded) {
  ag::Variable x = leaf({1, 2, 3}), y = leaf({5, 7, 9});
  EXPECT_FALSE(x.grad());
  const ag::Variable product = ag::multiply(ctx, x, y);
  EXPECT_TRUE(product.wants_gradient());
  EXPECT_FALSE(product.is_leaf());
  ag::backward(ctx, ag::sum(ctx, product));
  EXPECT_EQ(grad(x), (Elements{5, 7, 9}));
  EXPECT_EQ(grad(y), (Elements{1, 2, 3}));
  EXPECT_FALSE(product.grad());
  ag::backward(ctx, ag::sum(ctx, ag::multiply(ctx, x, 2)));
  EXPECT_EQ(grad(x), (Elements{7, 9, 11}));
  x.clear_grad();
  EXPECT_FALSE(x.grad());
  EXPECT_EQ(grad(y), (Elements{1, 2, 3}));
}

TEST_P(AutogradTapeTest, OneVariableSeveralTimes) {
  const ag::Variable x = leaf({2, 3});
  const ag::Variable square = ag::multiply(ctx, x, x);
  ag::backward(ctx, ag::sum(ctx, ag::add(ctx, ag::multiply(ctx, square, x), square)));
  EXPECT_EQ(grad(x), (Elements{3 * 4 + 2 * 2, 3 * 9 + 2 * 3}));
}

TEST_P(AutogradTapeTest, ALossThatIsALeaf) {
  const ag::Variable x = leaf({3});
  ag::backward(ctx, x);
  EXPECT_EQ(grad(x), (Elements{1}));
}

TEST_P(AutogradTapeTest, AGivenGradientOfTheLoss) {
  const ag::Variable x = leaf({1, 2});
  const ag::Variable loss_grad = variable_of(ctx, {2}, {10, 100}, ag::Gradient::none);
  ag::backward(ctx, ag::add(ctx, x, 1), {.loss_grads = {loss_grad}});
  EXPECT_EQ(grad(x), (Elements{10, 100}));
  // It is the caller's: nothing is written over it, or added to it.
  ag::backward(ctx, ag::add(ctx, x, 1), {.loss_grads = {loss_grad}});
  EXPECT_EQ(grad(x), (Elements{20, 200}));
  EXPECT_EQ(elements_of(ctx, loss_grad), (Elements{10, 100}));
}

TEST_P(AutogradTapeTest, GradientsOfChosenVariables) {
  const ag::Variable x = leaf({1, 2}), y = leaf({3, 4}), unused = leaf({0});
  const ag::Variable between = ag::multiply(ctx, x, y);
  const ag::Variable loss = ag::sum(ctx, ag::multiply(ctx, between, between));
  const auto found = ag::gradients(ctx, {loss, ag::sum(ctx, y)}, {y, between, unused}, {.keep_graph = true});
  EXPECT_EQ(elements_of(ctx, found[0]), (Elements{2 * 3 * 1 + 1, 2 * 8 * 2 + 1}));
  EXPECT_EQ(elements_of(ctx, found[1]), (Elements{6, 16}));
  EXPECT_FALSE(found[2]);
  EXPECT_FALSE(x.grad() || y.grad());
  EXPECT_FALSE(found[0].wants_gradient());
  // What lies beyond the variables is not computed, and not given back.
  const auto nearer = ag::gradients(ctx, {loss}, {between, between});
  EXPECT_EQ(elements_of(ctx, nearer[1]), (Elements{6, 16}));
  ag::backward(ctx, ag::sum(ctx, between));
  EXPECT_EQ(grad(x), (Elements{3, 4}));
}

TEST_P(AutogradTapeTest, GradientsOfTheLossItself) {
  const ag::Variable x = leaf({3});
  const ag::Variable loss = ag::multiply(ctx, x, x);
  const auto found = ag::gradients(ctx, {loss, x}, {loss, x}, {.loss_grads = {leaf({10}), leaf({1})}});
  EXPECT_EQ(elements_of(ctx, found[0]), (Elements{10}));
  EXPECT_EQ(elements_of(ctx, found[1]), (Elements{61}));
}

TEST_P(AutogradTapeTest, KeepGraph) {
  const ag::Variable x = leaf({3});
  const ag::Variable loss = ag::multiply(ctx, x, x);
  ag::backward(ctx, loss, {.keep_graph = true});
  ag::backward(ctx, loss);
  EXPECT_EQ(grad(x), (Elements{12}));
  expect_error([&] { ag::backward(ctx, loss); },
               "portops::autograd::backward: what multiply kept for its gradient has been given back by an earlier "
               "pass, expected keep_graph there");
  EXPECT_EQ(grad(x), (Elements{12}));
}

TEST_P(AutogradTapeTest, ScopesWithoutGradients) {
  const ag::Variable x = leaf({1, 2});
  {
    const ag::NoGradients scope;
    EXPECT_FALSE(ag::multiply(ctx, x, x).wants_gradient());
    {
      const ag::NoGradients inner;
    }
    EXPECT_FALSE(ag::multiply(ctx, x, x).wants_gradient());
  }
  EXPECT_TRUE(ag::multiply(ctx, x, x).wants_gradient());
  EXPECT_FALSE(x.detach().wants_gradient());
  ag::backward(ctx, ag::sum(ctx, ag::multiply(ctx, x, x.detach())));
  EXPECT_EQ(grad(x), (Elements{1, 2}));
}

TEST_P(AutogradTapeTest, InPlace) {
  const ag::Variable x = leaf({-1, 2, 3});
  ag::Variable y = ag::multiply(ctx, x, 2);
  const void* memory = y.tensor().data();
  const ag::Variable same = y;
  ag::in_place::relu(ctx, y);
  ag::in_place::add(ctx, y, x);
  EXPECT_EQ(y.tensor().data(), memory);
  EXPECT_EQ(elements_of(ctx, y), (Elements{-1, 6, 9}));
  // relu kept its result, which add has changed.
  expect_error([&] { ag::backward(ctx, ag::sum(ctx, same)); },
               "portops::autograd::backward: relu kept out for its gradient, but add has changed it in place since");
  EXPECT_FALSE(x.grad());

  ag::Variable z = ag::multiply(ctx, x, 2);
  ag::in_place::add(ctx, z, x);
  ag::in_place::relu(ctx, z);
  ag::backward(ctx, ag::sum(ctx, z));
  EXPECT_EQ(grad(x), (Elements{0, 3, 3}));
}

TEST_P(AutogradTapeTest, WhatIsChangedAfterItWasKept) {
  const ag::Variable x = leaf({1, 2}), y = leaf({3, 4});
  ag::Variable z = ag::multiply(ctx, x, 1);
  const ag::Variable loss = ag::sum(ctx, ag::multiply(ctx, z, y));
  ag::in_place::multiply(ctx, z, 2);
  expect_error([&] { ag::backward(ctx, loss); },
               "portops::autograd::backward: multiply kept x for its gradient, but multiply has changed it in place "
               "since");
}

TEST_P(AutogradTapeTest, WhatPlainCallsChange) {
  const ag::Variable x = leaf({1, 2});
  const ag::Variable loss = ag::sum(ctx, ag::multiply(ctx, x, x));
  x.mark_changed("sgd");
  expect_error([&] { ag::backward(ctx, loss); },
               "portops::autograd::backward: multiply kept x for its gradient, but sgd has changed it in place since");
}

TEST_P(AutogradTapeTest, LeavesInPlace) {
  ag::Variable x = leaf({1, 2});
  expect_error([&] { ag::in_place::add(ctx, x, 1); },
               "portops::add: x is a leaf whose gradient is wanted, and cannot be changed in place but within "
               "NoGradients");
  {
    const ag::NoGradients scope;
    ag::in_place::add(ctx, x, 1);
  }
  EXPECT_EQ(elements_of(ctx, x), (Elements{2, 3}));
  EXPECT_TRUE(x.is_leaf() && x.wants_gradient());
  ag::Variable constant = variable_of(ctx, {2}, {5, 6}, ag::Gradient::none);
  ag::in_place::add(ctx, constant, x);
  EXPECT_FALSE(constant.is_leaf());
  ag::backward(ctx, ag::sum(ctx, constant));
  EXPECT_EQ(grad(x), (Elements{1, 1}));
}

TEST_P(AutogradTapeTest, Errors) {
  const ag::Variable x = leaf({1, 2}), constant = x.detach();
  const std::string backward = "portops::autograd::backward: ", gradients = "portops::autograd::gradients: ";
  expect_error([&] { ag::backward(ctx, {}); }, backward + "loss is empty, expected a tensor");
  expect_error([&] { ag::backward(ctx, constant); }, backward + "loss was made from nothing whose gradient is wanted");
  expect_error([&] { ag::backward(ctx, ag::add(ctx, x, 1)); },
               backward + "loss has extents [2], expected one element, or loss_grads");
  expect_error([&] { ag::backward(ctx, x, {.loss_grads = {leaf({1})}}); },
               backward + "the gradient of loss is f64 [1], expected f64 [2] (as loss)");
  expect_error([&] { ag::backward(ctx, x, {.loss_grads = {ag::Variable()}}); },
               backward + "the gradient of loss is empty, expected f64 [2] (as loss)");
  expect_error([&] { ag::gradients(ctx, {}, {x}); }, gradients + "there is no loss");
  expect_error([&] { ag::gradients(ctx, {x, x}, {x}, {.loss_grads = {x}}); },
               gradients + "loss_grads has 1 tensors, expected 2 (one for each loss)");
  expect_error([&] { ag::gradients(ctx, {x, constant}, {x}, {.loss_grads = {x, x}}); },
               gradients + "loss[1] was made from nothing whose gradient is wanted");
  expect_error([&] { ag::gradients(ctx, {ag::sum(ctx, x)}, {x, constant}); },
               gradients + "variables[1] was made from nothing whose gradient is wanted");
  expect_error([&] { ag::gradients(ctx, {ag::sum(ctx, x)}, {ag::Variable()}); },
               gradients + "variables[0] is empty, expected a tensor");
  const std::string variable = "portops::autograd::Variable";
  expect_error([&] { const ag::Variable none(TensorRef(), ag::Gradient::wanted); },
               variable + ": a gradient is wanted, but the tensor is empty");
  expect_error([&] { const ag::Variable rows(tensor_of<std::int64_t>(ctx, {1}, {1}), ag::Gradient::wanted); },
               variable + ": a gradient is wanted of elements of type i64, expected f64, f32, f16 or bf16");
  ag::Variable made = ag::add(ctx, x, 1);
  expect_error([&] { made.on_gradient([](const ag::Variable&) {}); },
               variable + "::on_gradient: the variable is no leaf whose gradient is wanted");
  // Those of the operators are theirs.
  expect_error([&] { ag::add(ctx, {}, x); }, "portops::add: x is empty, expected a tensor");
  expect_error([&] { ag::add(ctx, x, ag::Variable()); }, "portops::add: y is empty, expected a tensor");
  expect_error(
      [&] { ag::add(ctx, x, leaf({1, 2, 3})); },
      "portops::add: the extents x [2], y [3] do not broadcast; aligned at the last axis, extents must be equal or 1");
}

TEST_P(AutogradTapeTest, EmptyTensors) {
  const ag::Variable x = variable_of(ctx, {0, 3}, {}), y = leaf({1, 2, 3});
  ag::backward(ctx, ag::sum(ctx, ag::multiply(ctx, x, y)));
  EXPECT_EQ(grad(x), Elements());
  EXPECT_EQ(x.grad().tensor().extents(), (Extents{0, 3}));
  EXPECT_EQ(grad(y), (Elements{0, 0, 0}));
}

TEST_P(AutogradTapeTest, AHookAfterEachLeaf) {
  ag::Variable x = leaf({1, 2}), y = leaf({3, 4});
  std::vector<std::string> calls;
  x.on_gradient([&](const ag::Variable& its) {
    calls.push_back("x");
    EXPECT_EQ(elements_of(ctx, its.grad()), (Elements{2 * 3 + 1, 2 * 4 + 1}));
    ag::Variable(its).clear_grad();
  });
  y.on_gradient([&](const ag::Variable& its) {
    calls.push_back("y");
    EXPECT_TRUE(its.grad());
  });
  const ag::Variable first = ag::multiply(ctx, x, 2);
  const ag::Variable second = ag::multiply(ctx, first, y);  // y's gradient is complete before x's
  const ag::Variable loss = ag::sum(ctx, ag::add(ctx, second, x));
  ag::gradients(ctx, {loss}, {x}, {.keep_graph = true});
  EXPECT_TRUE(calls.empty());
  ag::backward(ctx, loss);
  EXPECT_EQ(calls, (std::vector<std::string>{"y", "x"}));
  EXPECT_FALSE(x.grad());
  x.on_gradient({});
  ag::backward(ctx, ag::sum(ctx, x));
  EXPECT_EQ(calls.size(), 2U);
}

// A gradient that nobody shares is taken over: that of x lies where add's out_grad lay, and so on.
TEST_P(AutogradTapeTest, GradientsAreTakenOver) {
  ag::Variable x = leaf({1, 2, 3});
  const ag::Variable y = ag::add(ctx, x, 1), z = ag::add(ctx, y, 1);
  const ag::Variable loss = ag::multiply(ctx, z, 2);
  const ag::Variable loss_grad = leaf({1, 1, 1});
  const ag::Variable z_grad = ag::gradients(ctx, {loss}, {z}, {.loss_grads = {loss_grad}, .keep_graph = true})[0];
  ag::backward(ctx, z, {.loss_grads = {z_grad}});
  EXPECT_EQ(grad(x), (Elements{2, 2, 2}));
  EXPECT_NE(x.grad().tensor().data(), z_grad.tensor().data());  // that one is held here
  // The next one is added where the first one lies.
  const void* own = x.grad().tensor().data();
  ag::backward(ctx, ag::sum(ctx, x));
  EXPECT_EQ(x.grad().tensor().data(), own);
  EXPECT_EQ(grad(x), (Elements{3, 3, 3}));
  // Unless somebody holds it.
  const ag::Variable held = x.grad();
  ag::backward(ctx, ag::sum(ctx, x));
  EXPECT_EQ(elements_of(ctx, held), (Elements{3, 3, 3}));
  EXPECT_EQ(grad(x), (Elements{4, 4, 4}));
}

TEST_P(AutogradTapeTest, SavedTensorHooks) {
  const ag::Variable x = leaf({1, 2}), y = leaf({3, 4});
  int packed = 0, unpacked = 0;
  ag::Variable loss;
  {
    const ag::SavedTensorHooks hooks(
        [&](const Context&, const ag::Variable& tensor) {
          ++packed;
          return std::any(elements_of(ctx, tensor));
        },
        [&](const Context&, const std::any& elements) {
          ++unpacked;
          return variable_of(ctx, {2}, std::any_cast<Elements>(elements), ag::Gradient::none);
        });
    loss = ag::multiply(ctx, ag::add(ctx, x, 1), y);  // add keeps extents alone
  }
  EXPECT_EQ(packed, 2);
  const ag::Variable not_packed = ag::multiply(ctx, loss, x);
  EXPECT_EQ(packed, 2);
  ag::backward(ctx, ag::sum(ctx, not_packed));
  EXPECT_EQ(unpacked, 2);
  EXPECT_EQ(grad(x), (Elements{3 * 1 + 6, 4 * 2 + 12}));
}

TEST_P(AutogradTapeTest, HooksThatUnpackSomethingElse) {
  const ag::Variable x = leaf({1, 2});
  const ag::SavedTensorHooks hooks([](const Context&, const ag::Variable&) { return std::any(); },
                                   [&](const Context&, const std::any&) { return leaf({1, 2, 3}); });
  const ag::Variable loss = ag::sum(ctx, ag::multiply(ctx, x, x));
  expect_error([&] { ag::backward(ctx, loss); },
               "portops::multiply_grad: hooks unpacked f64 [3] for x that multiply kept, expected f64 [2]");
}

TEST_P(AutogradTapeTest, TheFirstNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const ag::Variable x = leaf({1, inf, 3}), zero = leaf({0, 0, 0});
  EXPECT_NO_THROW(ag::multiply(ctx, leaf({nan}), 1));
  const ag::FindNan scope;
  const ag::Variable y = ag::add(ctx, x, 1);
  expect_error([&] { ag::multiply(ctx, y, zero); },
               "portops::multiply: out of extents [3] is the first with a NaN, at element 1");
  // 0 · inf appears in a gradient: that of z, and no output.
  const ag::Variable z = ag::multiply(ctx, ag::add(ctx, x, 1), leaf({1, 1, 1}));
  expect_error([&] { ag::backward(ctx, z, {.loss_grads = {leaf({1, 0, 1})}}); },
               "portops::multiply_grad: y_grad of extents [3] is the first with a NaN, at element 1");
}

// What a context lends is for temporaries: results would be written over by the next call.
TEST_P(AutogradTapeTest, ResultsAreNotInTheWorkspace) {
  const Tensor lent(ElementType::f64, {1 << 16}, default_memory_space(ctx.backend()));
  const std::size_t bytes = 8 << 16;
  const Context lending = Context(ctx).workspace({lent.ref().data(), bytes});
  const ag::Variable x = leaf({1, 2});
  const ag::Variable y = ag::add(lending, x, 1), z = ag::multiply(lending, y, y);
  ag::backward(lending, ag::sum(lending, z));
  EXPECT_EQ(elements_of(ctx, y), (Elements{2, 3}));
  EXPECT_EQ(grad(x), (Elements{4, 6}));
  for (const ag::Variable& each : {y, z, x.grad()}) {
    const auto* data = static_cast<const std::byte*>(each.tensor().data());
    EXPECT_FALSE(data >= lent.data<std::byte>() && data < lent.data<std::byte>() + bytes);
  }
}

// Additions are in the order of the calls, whatever the threads and whatever is still in the pool.
TEST_P(AutogradTapeTest, TheSameBitsOnEveryRun) {
  need_type<float>();
  const std::vector<float> elements{0.1f, 1e6f, -3.3e-4f};
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    const ag::Variable x(tensor_of(ctx, {3}, elements), ag::Gradient::wanted);
    ag::Variable y = x;
    for (int i = 1; i < 20; ++i) {
      y = ag::add(ctx, ag::multiply(ctx, y, 0.3 * i), ag::multiply(ctx, x, i % 2 == 0 ? x.detach() : y));
    }
    ag::backward(ctx, ag::sum(ctx, y));
    const std::vector<float> found = elements_of<float>(ctx, x.grad());
    if (run == 0) first = found;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(same_bits(found[i], first[i]));
  }
}

// Neither a pass nor the end of the tape takes a stack that is as deep as the tape is long. (Without elements: no
// kernels.)
TEST_P(AutogradTapeTest, LongChains) {
  constexpr int length = 100000;
  const ag::Variable x = leaf({});
  ag::Variable y = x;
  for (int i = 0; i < length; ++i) y = ag::add(ctx, y, 1);
  ag::backward(ctx, y, {.loss_grads = {leaf({})}});
  EXPECT_TRUE(x.grad());
  y = x;
  for (int i = 0; i < length; ++i) y = ag::multiply(ctx, y, y);
}

// Threads have tapes of their own, and passes of their own over tapes that share calls.
TEST_P(AutogradTapeTest, Threads) {
  constexpr int count = 4, repeats = 50;
  const ag::Variable shared = leaf({1, 2, 3});
  const ag::Variable trunk = ag::multiply(ctx, shared, shared);
  std::array<ag::Variable, count> own;
  for (ag::Variable& each : own) each = leaf({1, 1, 1});
  if (GetParam() == Backend::serial) GTEST_SKIP() << "one thread at a time calls on an instance of Serial";
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      const Context its(ctx.backend());
      for (int i = 0; i < repeats; ++i) {
        const ag::Variable product = ag::multiply(its, trunk, own[static_cast<std::size_t>(t)]);
        ag::backward(its, ag::sum(its, product), {.keep_graph = true});
        its.fence();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(grad(shared), (Elements{2.0 * count * repeats, 4.0 * count * repeats, 6.0 * count * repeats}));
  for (const ag::Variable& each : own) EXPECT_EQ(grad(each), (Elements{repeats, 4 * repeats, 9 * repeats}));
}

TEST_P(AutogradTapeTest, TensorsOfTheCallers) {
  TestTensor<double> x(ctx, {2, 3}, Layout::reversed), y(ctx, {2, 3}, Layout::every_other);
  x.fill_randomly(1);
  y.fill_randomly(2);
  const ag::Variable a(x.ref(), ag::Gradient::wanted), b(y.ref(), ag::Gradient::wanted);
  ag::backward(ctx, ag::sum(ctx, ag::multiply(ctx, a, b)));
  const Elements a_grad = grad(a), b_grad = grad(b);
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(a_grad[static_cast<std::size_t>(i)], y[i]);
    EXPECT_EQ(b_grad[static_cast<std::size_t>(i)], x[i]);
  }
}

PORTOPS_ON_EVERY_BACKEND(AutogradTapeTest);

}  // namespace
}  // namespace portops::test
