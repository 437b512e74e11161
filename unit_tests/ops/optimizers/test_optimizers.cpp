// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimizer_reference.hpp"

#include <limits>

// The steps of optimizers on lists of tensors: sgd, momentum and adam.

namespace portops::test {
namespace {

class OptimizersTest : public OnEveryBackend {
 protected:
  template <class T>
  void check(const StepCase& c, const std::vector<Extents>& extents, bool in_place = false,
             const std::vector<Layout>& layouts = {Layout::contiguous}, bool with_tensors = false) {
    StepLists<T> lists(ctx, c, extents, in_place, layouts);
    lists.call(ctx, with_tensors);
    lists.expect_right();
    if (HasFatalFailure()) FAIL() << name_of(c.optimizer) << " of " << name_of(ElementTypeOf<T>::value);
  }
  /// Of all optimizers and element types, with master parameters and without.
  template <class... Arguments>
  void check_all(StepCase c, const Arguments&... arguments) {
    for (const Optimizer optimizer : all_optimizers) {
      c.optimizer = optimizer;
      for (const bool has_master : {false, true}) {
        c.has_master = has_master;
        for_each_type([&]<class T>() {
          if (!HasFatalFailure()) check<T>(c, arguments...);
        });
      }
    }
  }

  /// Whole chunks, the ends of some, single elements, and nothing.
  const std::vector<Extents> extents{{8192}, {1}, {3, 5}, {0, 4}, {2049}, {}, {17, 33}, {2, 3, 0}, {20000}, {7}};
  const std::vector<Extents> small{{3, 5}, {4, 1, 6}, {7}, {2, 3, 4}, {1, 9}};
};
PORTOPS_ON_EVERY_BACKEND(OptimizersTest);

TEST_P(OptimizersTest, take_the_step_of_the_definition) {
  check_all({}, extents);
  check_all({.weight_decay = 0.1}, small);
  check_all({.maximize = true}, small);
  check_all({.weight_decay = 0.1, .grad_scale = 1024.0, .maximize = true}, small);
}

TEST_P(OptimizersTest, write_in_place) { check_all({.weight_decay = 0.01}, extents, true); }

TEST_P(OptimizersTest, read_numbers_from_tensors) {
  check_all({.weight_decay = 0.01, .grad_scale = 64.0}, extents, false, std::vector{Layout::contiguous}, true);
}

TEST_P(OptimizersTest, read_and_write_every_layout_where_it_lies) {
  const std::vector<Layout> layouts(std::begin(all_layouts), std::end(all_layouts));
  check_all({}, small, false, layouts);
  check_all({}, small, true, std::vector{Layout::reversed, Layout::padded});
  // One for all operands: they take turns, so that each meets each optimizer and each type.
  std::size_t turn = 0;
  for_each_type([&]<class T>() {
    for (const Optimizer optimizer : all_optimizers) {
      for (const bool has_master : {false, true}) {
        if (HasFatalFailure()) return;
        const Layout layout = layouts[turn++ % layouts.size()];
        check<T>({.optimizer = optimizer, .has_master = has_master}, small, false, {layout});
      }
    }
    ++turn;
  });
}

// All operands of an item have the strides of one order of the axes: one kernel takes them as if they were in order.
TEST_P(OptimizersTest, take_dense_tensors_of_any_order_of_axes) {
  check_all({}, std::vector<Extents>{{64, 65}, {33, 2, 31}}, false, std::vector{Layout::reversed});
}

TEST_P(OptimizersTest, leave_everything_as_it_is_where_they_are_skipped) {
  for (const bool in_place : {false, true}) {
    check_all({.weight_decay = 0.1, .skips = true}, extents, in_place);
  }
}

// More tensors than the largest table among a kernel's arguments has room for.
TEST_P(OptimizersTest, take_thousands_of_tensors) {
  std::vector<Extents> many;
  for (std::int64_t i = 0; i < 1500; ++i) many.push_back({i % 13, i % 3 + 1});
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adam}) {
    check<float>({.optimizer = optimizer}, many);
    check<float>({.optimizer = optimizer, .has_master = true}, many, true);
  }
}

// Steps in place, one after the other, without anything read by the host: what a captured graph repeats.
TEST_P(OptimizersTest, advance_the_powers_of_beta) {
  for (const Optimizer optimizer : all_optimizers) {
    StepLists<double> lists(ctx, {.optimizer = optimizer, .beta1_pow = 0.9, .beta2_pow = 0.99}, small, true);
    for (int step = 0; step < 5; ++step) lists.call(ctx, true);
    lists.expect_right(5);
    if (states_of(optimizer) != 2) continue;
    lists.beta1_pow.download();
    lists.beta2_pow.download();
    EXPECT_NEAR(lists.beta1_pow[0], std::pow(0.9, 6), 1e-15);
    EXPECT_NEAR(lists.beta2_pow[0], std::pow(0.99, 6), 1e-15);
  }
}

TEST_P(OptimizersTest, do_not_advance_the_powers_of_beta_where_they_are_skipped) {
  StepLists<float> lists(ctx, {.optimizer = Optimizer::adam, .skips = true}, small, true);
  lists.call(ctx, true);
  lists.beta1_pow.download();
  lists.beta2_pow.download();
  EXPECT_EQ(lists.beta1_pow[0], 0.729);
  EXPECT_EQ(lists.beta2_pow[0], 0.970299);
}

TEST_P(OptimizersTest, give_one_power_alone) {
  StepLists<float> lists(ctx, {.optimizer = Optimizer::adam}, small);
  TestTensor<double> power(ctx, {});
  const auto list = [](const auto& tensors) { return StepLists<float>::refs(tensors); };
  adam(ctx, list(lists.param), list(lists.grad), list(lists.states[0]), list(lists.states[1]), 0.05, 0.729,
       lists.beta2_pow, list(lists.param_out), list(lists.states_out[0]), list(lists.states_out[1]), {}, power, {},
       {.beta2 = 0.99, .epsilon = 1e-6});
  lists.expect_right();
  power.download();
  EXPECT_EQ(power[0], 0.970299 * 0.99);
}

// The moment of the first step is 1 − beta2 of a square: its correction must not lose what makes the step.
TEST_P(OptimizersTest, first_steps_are_as_long_as_the_learning_rate) {
  for_each_type([&]<class T>() {
    for (const double size : {1e-3, 1.0, 1e3}) {
      TestTensor<T> param(ctx, {100}), grad(ctx, {100});
      TestTensor<SumsOf<T>> m(ctx, {100}), v(ctx, {100});
      grad.fill([&](std::int64_t i) { return i % 2 == 0 ? size : -size; });
      for (auto* zero : {&m, &v}) zero->fill([](std::int64_t) { return 0.0; });
      param.fill([](std::int64_t) { return 0.0; });
      const std::vector<TensorRef> p{param}, g{grad}, m_list{m}, v_list{v};
      adam(ctx, p, g, m_list, v_list, 0.25, 0.9, 0.999, p, m_list, v_list, {}, {}, {});
      param.download();
      const double error = std::is_same_v<T, double> ? 1e-5 : 1e-5 + rounding<T>();
      for (std::int64_t i = 0; i < 100; ++i) EXPECT_NEAR(param[i], i % 2 == 0 ? -0.25 : 0.25, 0.25 * error) << i;
    }
  });
}

// Without a decay nothing is multiplied by it: parameters that are Inf stay, and gradients of NaN spoil their own
// alone.
TEST_P(OptimizersTest, numbers_that_are_not_finite_stay_where_they_are) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for_each_type([&]<class T>() {
    TestTensor<T> param(ctx, {64}), grad(ctx, {64});
    param.fill([&](std::int64_t i) { return i == 3 ? inf : 1.0; });
    grad.fill([&](std::int64_t i) { return i == 5 ? nan : 0.5; });
    const std::vector<TensorRef> p{param}, g{grad};
    sgd(ctx, p, g, 0.5, p, {});
    param.download();
    for (std::int64_t i = 0; i < 64; ++i) {
      if (i == 5) {
        EXPECT_TRUE(std::isnan(param[i]));
      } else {
        EXPECT_EQ(param[i], i == 3 ? inf : 0.75) << i;
      }
    }
  });
}

// A step that a half type cannot hold moves the master parameter, and in the end the parameter too.
TEST_P(OptimizersTest, master_parameters_add_up_what_halves_would_lose) {
  const auto check_type = [&]<class T>() {
    TestTensor<T> param(ctx, {40}), grad(ctx, {40});
    TestTensor<float> master(ctx, {40});
    for (auto* ones : {&param, &grad}) ones->fill([](std::int64_t) { return 1.0; });
    master.fill([](std::int64_t) { return 1.0; });
    const std::vector<TensorRef> p{param}, g{grad}, masters{master};
    for (int step = 0; step < 1000; ++step) sgd(ctx, p, g, 1e-5, p, masters, {.master_param = masters});
    param.download();
    for (std::int64_t i = 0; i < 40; ++i) EXPECT_NEAR(param[i], 0.99, 2 * rounding<T>());
  };
  for_each_type([&]<class T>() {
    if constexpr (sizeof(T) == 2) check_type.template operator()<T>();
  });
}

TEST_P(OptimizersTest, give_the_same_bits_in_place_and_elsewhere) {
  for_each_type([&]<class T>() {
    for (const Optimizer optimizer : all_optimizers) {
      StepLists<T> apart(ctx, {.optimizer = optimizer}, extents),
          in_place(ctx, {.optimizer = optimizer}, extents, true);
      apart.call(Context(ctx).deterministic(true));
      in_place.call(ctx, true);
      for (std::size_t i = 0; i < extents.size(); ++i) {
        apart.param_out[i].download();
        in_place.param[i].download();
        for (std::int64_t j = 0; j < apart.param_out[i].size(); ++j) {
          ASSERT_TRUE(same_bits(apart.param_out[i].element(j), in_place.param[i].element(j))) << i << ", " << j;
        }
      }
    }
  });
}

}  // namespace
}  // namespace portops::test
