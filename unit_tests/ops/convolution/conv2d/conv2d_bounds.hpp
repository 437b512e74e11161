// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "conv2d_reference.hpp"
#include "support/products.hpp"
#include "support/sanitized.hpp"

#include <functional>
#include <string>
#include <vector>

// How near to the reference results must be, and operands that break sums which are not what they should be.

namespace portops::test {

inline const std::vector<std::string> conv2d_results{"out", "x_grad", "weight_grad", "bias_grad"};

/// The terms of an element of a result, at most.
inline std::int64_t terms_of(const Conv2dCase& c, const std::string& name) {
  if (name == "out") return c.channels / c.groups * c.taps() + (c.has_bias ? 1 : 0);
  if (name == "x_grad") return c.out_channels / c.groups * c.taps();
  return c.images * c.windows(0) * c.windows(1);
}

/// The error that sums have in chains, one term after the other, and in those of tensor cores, which truncate.
template <class T>
double error_of_chains(std::int64_t terms) {
  return 3.0 * static_cast<double>(terms) * (std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24);
}

/// The error of a result, relative to the magnitudes summed. Chains are what a library may have, and tensor cores that
/// hold whole sums: on GPUs those of all types but f32, of products of pixels, and those over pixels.
template <class T>
double conv2d_bound(const Context& ctx, const Conv2dCase& c, const std::string& name) {
  const bool is_of_pixels = c.taps() == 1 || name == "weight_grad" || name == "bias_grad";
  const bool may_be_chains = ctx.products() == Products::kokkos_kernels ||
                             (ctx.backend() == Backend::cuda && (!std::is_same_v<T, float> || is_of_pixels));
  const std::int64_t terms = terms_of(c, name);
  // Tensor cores hold sums of 128 terms of f32, which are added one after the other.
  const bool has_steps = ctx.backend() == Backend::cuda && std::is_same_v<T, float>;
  const double of_trees =
      Conv2dProblem<T>::default_tolerance + (has_steps ? 0x1p-32 * static_cast<double>(terms) : 0.0);
  const double of_sums = may_be_chains ? std::max(of_trees, error_of_chains<T>(terms)) : of_trees;
  return of_sums + (may_round_operands<T>(ctx) ? cut_to_tf32 : 0.0);
}

/// Elements of the operands of a convolution.
struct Conv2dOperands {
  std::string name;
  std::function<double(const Conv2dCase& c, const std::string& input, std::size_t i)> element;
};

/// Whether element i of out_grad is one of the half that has the other sign, as fields of a chessboard have: of any
/// rows and columns hardly more are of one sign than of the other.
inline bool is_dark(const Conv2dCase& c, std::size_t i) {
  const auto width = static_cast<std::size_t>(c.windows(1)), plane = width * static_cast<std::size_t>(c.windows(0));
  const std::size_t image = i / plane / static_cast<std::size_t>(c.out_channels), pixel = i % plane;
  return (image + pixel / width + pixel % width) % 2 == 1;
}

/// Number i of a fixed sequence of random numbers.
inline double scattered(std::size_t i, double low, double high) { return Random(i).uniform(low, high); }

/// Powers of 2 near the ends of the range of a type, of which products of any two are in it.
template <class T>
double power_of(const std::string& input) {
  const auto choose = [&](double x, double weight, double out_grad) {
    return input == "x" ? x : input == "weight" ? weight : input == "out_grad" ? out_grad : 1.0;
  };
  if (std::is_same_v<T, double>) return choose(0x1p500, 0x1p-500, 0x1p-300);
  if (std::is_same_v<T, f16>) return choose(0x1p-18, 0x1p13, 0x1p-10);
  return choose(0x1p60, 0x1p-60, 0x1p-40);
}

/// All equal, so that additions round to one side for long; large means that cancel in all sums but x_grad's, after
/// half of an element's terms or from term to term; numbers of one sign; far from 1; and those that lose most in tf32.
template <class T>
std::vector<Conv2dOperands> conv2d_operands(const Context& ctx) {
  using Case = Conv2dCase;
  std::vector<Conv2dOperands> all{
      {"all equal",
       [](const Case&, const std::string& input, std::size_t) {
         return input == "x" ? drifting_constants[0] : input == "weight" ? 0.7 : 0.3;
       }},
      {"means that cancel",
       [](const Case& c, const std::string& input, std::size_t i) {
         if (input == "x") return 250.0 + scattered(i, -1.0, 1.0);
         if (input == "bias") return 1.0;
         const auto of_window = static_cast<std::size_t>(c.channels / c.groups * c.taps());
         const bool is_other = input == "weight" ? 2 * (i % of_window) >= of_window : is_dark(c, i);
         return (is_other ? -1.0 : 1.0) * scattered(i, 0.75, 1.25);
       }},
      {"one sign", [](const Case&, const std::string&, std::size_t i) { return scattered(i, 0.5, 1.0); }},
      {"far from 1", [](const Case&, const std::string& input, std::size_t i) {
         return power_of<T>(input) * scattered(i, 0.5, 1.0);
       }}};
  if (!may_round_operands<T>(Context(ctx).math(Math::tf32))) return all;
  for (const double lost : lost_to_tf32) {
    all.push_back({"lost to tf32", [lost](const Case&, const std::string&, std::size_t) { return lost; }});
  }
  // What a pixel loses that is brought to tf32 by tf32_factor.
  all.push_back({"lost to a factor", [](const Case&, const std::string& input, std::size_t) {
                   return input == "weight" ? lost_to_tf32[0] : 1.0 + 0.65 * 0x1p-10;
                 }});
  return all;
}

/// Calls action(problem, expected sums of the results that are wanted) for all types and operands.
template <class Action>
void for_each_operands(const Context& ctx, const Conv2dCase& c, const std::vector<std::string>& wanted,
                       const Action& action) {
  for_each_type([&]<class T>() {
    Conv2dProblem<T> problem(ctx, c);
    for (const Conv2dOperands& operands : conv2d_operands<T>(ctx)) {
      SCOPED_TRACE(operands.name);
      for (const auto& [name, values] : Conv2dValues(problem.inputs)) {
        problem.fill(name, [&](std::size_t i) { return operands.element(c, name, i); });
      }
      std::map<std::string, std::vector<Sum>> expected;
      for (const std::string& name : wanted) expected[name] = problem.expected(name);
      action(problem, expected);
      if (is_sanitized() || testing::Test::HasFailure()) return;
    }
  });
}

/// Expects the bound of the results that are wanted, of all types, operands and ways of products.
inline void check_bounds(const Context& ctx, const Conv2dCase& c,
                         const std::vector<std::string>& wanted = conv2d_results) {
  for_each_operands(ctx, c, wanted, [&]<class T>(Conv2dProblem<T>& problem, const auto& expected) {
    for (const std::string& name : conv2d_gradients) {
      if (!expected.contains(name)) problem.refs[name] = {};
    }
    for (const Context& context : contexts_of_products(ctx)) {
      if (!has_products_of<T>(context) || asks_in_vain<T>(context)) continue;
      SCOPED_TRACE(describe(context));
      for (const auto& [name, sums] : expected) problem.poison(name);
      if (expected.contains("out")) problem.run(context);
      problem.run_grad(context);
      for (const auto& [name, sums] : expected) problem.expect(name, sums, conv2d_bound<T>(context, c, name));
    }
  });
}

}  // namespace portops::test
