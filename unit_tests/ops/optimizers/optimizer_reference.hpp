// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/support.hpp"

#include <portops/ops/adam.hpp>
#include <portops/ops/momentum.hpp>
#include <portops/ops/sgd.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

// The steps of optimizers on lists: calls of all of them in one form, and what they must give.

namespace portops::test {

enum class Optimizer { sgd, momentum, nesterov, adam, adamw };
inline constexpr Optimizer all_optimizers[] = {Optimizer::sgd, Optimizer::momentum, Optimizer::nesterov,
                                               Optimizer::adam, Optimizer::adamw};

inline std::string name_of(Optimizer which) {
  switch (which) {
    case Optimizer::sgd: return "sgd";
    case Optimizer::momentum: return "momentum";
    case Optimizer::nesterov: return "nesterov";
    case Optimizer::adam: return "adam";
    case Optimizer::adamw: return "adamw";
  }
  return "?";
}

inline int states_of(Optimizer which) {
  return which == Optimizer::sgd ? 0 : which == Optimizer::adam || which == Optimizer::adamw ? 2 : 1;
}

/// The numbers of a step.
struct StepCase {
  Optimizer optimizer = Optimizer::sgd;
  double learning_rate = 0.05, weight_decay = 0.0, grad_scale = 1.0;
  double mu = 0.9, beta1 = 0.9, beta2 = 0.99, epsilon = 1e-6;
  double beta1_pow = 0.729, beta2_pow = 0.970299;
  bool maximize = false, has_master = false, skips = false;
};

/// What a step makes of the parameter and the states of one element.
inline std::vector<double> expected_step(const StepCase& c, std::vector<double> before, double grad) {
  if (c.skips) return before;
  double& param = before[0];
  double g = (c.maximize ? -1.0 : 1.0) * grad / c.grad_scale;
  if (c.optimizer == Optimizer::adamw) {
    param *= 1.0 - c.learning_rate * c.weight_decay;
  } else {
    g += c.weight_decay * param;
  }
  if (c.optimizer == Optimizer::sgd) {
    param -= c.learning_rate * g;
  } else if (states_of(c.optimizer) == 1) {
    before[1] = c.mu * before[1] + g;
    param -= c.learning_rate * (c.optimizer == Optimizer::nesterov ? g + c.mu * before[1] : before[1]);
  } else {
    before[1] = c.beta1 * before[1] + (1.0 - c.beta1) * g;
    before[2] = c.beta2 * before[2] + (1.0 - c.beta2) * g * g;
    const double m = before[1] / (1.0 - c.beta1_pow), v = before[2] / (1.0 - c.beta2_pow);
    param -= c.learning_rate * m / (std::sqrt(v) + c.epsilon);
  }
  return before;
}

/// The type of sums of T.
template <class T>
using SumsOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Parameters, gradients, states and results of a step, on some backend.
template <class T>
class StepLists {
 public:
  using A = SumsOf<T>;

  StepLists(const Context& ctx, const StepCase& c, const std::vector<Extents>& extents, bool in_place = false,
            const std::vector<Layout>& layouts = {Layout::contiguous})
      : case_(c), in_place_(in_place) {
    scalar(learning_rate, ctx, c.learning_rate);
    scalar(grad_scale, ctx, c.grad_scale);
    scalar(skip, ctx, c.skips ? 3.0 : 0.0);
    scalar(beta1_pow, ctx, c.beta1_pow);
    scalar(beta2_pow, ctx, c.beta2_pow);
    states.resize(static_cast<std::size_t>(states_of(c.optimizer)));
    states_out.resize(states.size());
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const Layout layout = layouts[i % layouts.size()];
      const auto seed = static_cast<unsigned>(10 * i + 1);
      // Strides of the operands of one item differ where there are several layouts.
      const Layout other = layouts[(i + layouts.size() / 2) % layouts.size()];
      add(param, ctx, extents[i], layout, seed);
      add(grad, ctx, extents[i], other, seed + 1);
      add(param_out, ctx, extents[i], layout, seed + 2);
      if (c.has_master) {
        add(master, ctx, extents[i], layout, seed + 3);
        add(master_out, ctx, extents[i], other, seed + 4);
      }
      for (std::size_t k = 0; k < states.size(); ++k) {
        // A second moment is not negative.
        add(states[k], ctx, extents[i], layout, seed + 5 + static_cast<unsigned>(k), k == 1 ? 0.5 : -2.0);
        add(states_out[k], ctx, extents[i], layout, seed + 8);
      }
    }
    remember();
  }

  /// With numbers, or with all of them in tensors.
  void call(const Context& ctx, bool with_tensors = false) const {
    const auto number = [&](const auto& tensor, double value) -> TensorOrNumber {
      if (with_tensors) return tensor;
      return value;
    };
    const TensorRef scale = with_tensors || case_.grad_scale != 1.0 ? grad_scale.ref() : TensorRef();
    const TensorRef skipped = with_tensors || case_.skips ? skip.ref() : TensorRef();
    const auto masters = refs(master), masters_out = in_place_ ? masters : refs(master_out);
    const auto params = refs(param), grads = refs(grad), params_out = in_place_ ? params : refs(param_out);
    std::vector<std::vector<TensorRef>> before, after;
    for (std::size_t k = 0; k < states.size(); ++k) {
      before.push_back(refs(states[k]));
      after.push_back(in_place_ ? before.back() : refs(states_out[k]));
    }
    const TensorOrNumber rate = number(learning_rate, case_.learning_rate);
    switch (case_.optimizer) {
      case Optimizer::sgd:
        return sgd(ctx, params, grads, rate, params_out, masters_out,
                   {.master_param = masters,
                    .grad_scale = scale,
                    .skip = skipped,
                    .weight_decay = case_.weight_decay,
                    .maximize = case_.maximize});
      case Optimizer::momentum:
      case Optimizer::nesterov:
        return momentum(ctx, params, grads, before[0], rate, params_out, after[0], masters_out,
                        {.master_param = masters,
                         .grad_scale = scale,
                         .skip = skipped,
                         .mu = case_.mu,
                         .use_nesterov = case_.optimizer == Optimizer::nesterov,
                         .weight_decay = case_.weight_decay,
                         .maximize = case_.maximize});
      case Optimizer::adam:
      case Optimizer::adamw: break;
    }
    const TensorRef none;
    adam(ctx, params, grads, before[0], before[1], rate, number(beta1_pow, case_.beta1_pow),
         number(beta2_pow, case_.beta2_pow), params_out, after[0], after[1], with_tensors ? beta1_pow.ref() : none,
         with_tensors ? beta2_pow.ref() : none, masters_out,
         {.master_param = masters,
          .grad_scale = scale,
          .skip = skipped,
          .beta1 = case_.beta1,
          .beta2 = case_.beta2,
          .epsilon = case_.epsilon,
          .weight_decay = case_.weight_decay,
          .decoupled_weight_decay = case_.optimizer == Optimizer::adamw,
          .maximize = case_.maximize});
  }

  /// That the results are what so many steps make of what there was.
  void expect_right(int steps = 1) {
    auto& params = in_place_ ? param : param_out;
    auto& masters = in_place_ ? master : master_out;
    for (auto* list : {&params}) download(*list);
    download(masters);
    for (auto& list : in_place_ ? states : states_out) download(list);
    for (std::size_t i = 0; i < params.size(); ++i) {
      for (std::int64_t j = 0; j < params[i].size(); ++j) {
        const auto& before = case_.has_master ? master_before_[i] : param_before_[i];
        const auto at = static_cast<std::size_t>(j);
        std::vector<double> values{before[at]};
        for (const auto& state : states_before_) values.push_back(state[i][at]);
        StepCase now = case_;
        for (int step = 0; step < steps; ++step) {
          values = expected_step(now, values, grad_before_[i][at]);
          if (now.skips) continue;
          now.beta1_pow *= now.beta1;
          now.beta2_pow *= now.beta2;
        }
        const double last = std::is_same_v<A, T> ? 0.0 : 1.01 * rounding<T>() * std::abs(values[0]);
        expect_near(params[i][j], values[0], last + tolerance(values[0], before[at]), "param", i, j);
        if (case_.has_master) expect_near(masters[i][j], values[0], tolerance(values[0], before[at]), "master", i, j);
        for (std::size_t k = 0; k < states.size(); ++k) {
          const double found = (in_place_ ? states : states_out)[k][i][j];
          expect_near(found, values[k + 1], tolerance(values[k + 1], 4.0), "state", i, j);
        }
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  const StepCase& step_case() const { return case_; }

  template <class Number>
  static std::vector<TensorRef> refs(const std::vector<TestTensor<Number>>& tensors) {
    return {tensors.begin(), tensors.end()};
  }

  std::vector<TestTensor<T>> param, grad, param_out;
  std::vector<TestTensor<A>> master, master_out;
  std::vector<std::vector<TestTensor<A>>> states, states_out;
  TestTensor<A> learning_rate, grad_scale;
  TestTensor<std::int64_t> skip;
  TestTensor<double> beta1_pow, beta2_pow;

 private:
  using Numbers = std::vector<std::vector<double>>;

  template <class Number>
  static void scalar(TestTensor<Number>& tensor, const Context& ctx, double value) {
    tensor = TestTensor<Number>(ctx, {});
    tensor.fill([&](std::int64_t) { return value; });
  }
  template <class Number>
  static void add(std::vector<TestTensor<Number>>& list, const Context& ctx, const Extents& extents, Layout layout,
                  unsigned seed, double low = -2.0) {
    list.emplace_back(ctx, extents, layout).fill_randomly(seed, low);
  }
  template <class Number>
  static void download(std::vector<TestTensor<Number>>& list) {
    for (auto& tensor : list) tensor.download();
  }
  template <class Number>
  static Numbers numbers_in(const std::vector<TestTensor<Number>>& list) {
    Numbers numbers;
    for (const auto& tensor : list) {
      auto& own = numbers.emplace_back();
      for (std::int64_t i = 0; i < tensor.size(); ++i) own.push_back(tensor[i]);
    }
    return numbers;
  }

  void remember() {
    param_before_ = numbers_in(param);
    grad_before_ = numbers_in(grad);
    master_before_ = numbers_in(master);
    for (const auto& state : states) states_before_.push_back(numbers_in(state));
  }

  /// A few roundings of the numbers on the way.
  static double tolerance(double value, double before) {
    return 8.0 * rounding<A>() * (std::abs(value) + std::abs(before) + 1.0);
  }
  static void expect_near(double found, double expected, double error, const char* what, std::size_t i,
                          std::int64_t j) {
    ASSERT_LE(std::abs(found - expected), error)
        << what << ' ' << i << ", element " << j << " is " << found << ", expected " << expected;
  }

  StepCase case_;
  bool in_place_;
  Numbers param_before_, grad_before_, master_before_;
  std::vector<Numbers> states_before_;
};

}  // namespace portops::test
