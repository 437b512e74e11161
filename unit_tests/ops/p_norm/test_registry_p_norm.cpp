// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/p_norm.hpp>

#include <limits>
#include <string>
#include <vector>

// An operator with attributes of several types, called by its name.

namespace portops::test {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr double inf = std::numeric_limits<double>::infinity();

/// By name and by the function itself, in the backend's own memory.
class RegistryPNorm : public OnEveryBackend {
 protected:
  using Tensor = TestTensor<float>;

  /// `arguments` says by name what `params` says.
  void expect_same(const PNormParams& params, Arguments arguments) {
    arguments.set("x", TensorRef::without_data(ElementType::f32, {2, 3, 4}));
    const Extents extents = infer("p_norm", arguments).at("out").extents;
    Tensor x(ctx, {2, 3, 4}), out_grad(ctx, extents);
    Tensor out(ctx, extents), x_grad(ctx, {2, 3, 4}), named_out(ctx, extents), named_x_grad(ctx, {2, 3, 4});
    x.fill_randomly(1);
    out_grad.fill_randomly(2);
    p_norm(ctx, x.ref(), out.ref(), params);
    p_norm_grad(ctx, x.ref(), out.ref(), out_grad.ref(), x_grad.ref(), params);
    run("p_norm", ctx, Arguments(arguments).set("x", x.ref()).set("out", named_out.ref()));
    run("p_norm_grad", ctx,
        Arguments(arguments)
            .set("x", x.ref())
            .set("out", out.ref())
            .set("out_grad", out_grad.ref())
            .set("x_grad", named_x_grad.ref()));
    expect_same_elements(named_out, out);
    expect_same_elements(named_x_grad, x_grad);
  }

  static void expect_same_elements(Tensor& found, Tensor& expected) {
    found.download();
    expected.download();
    for (std::int64_t i = 0; i < expected.extents().product(); ++i) {
      EXPECT_TRUE(same_bits(found.element(i), expected.element(i)))
          << i << ": " << found[i] << ", expected " << expected[i];
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(RegistryPNorm);

TEST_P(RegistryPNorm, ComputesWhatTheFunctionComputes) {
  expect_same({}, {});
  expect_same({.porder = 2.0}, Arguments().set("porder", "fro"));
  expect_same({.porder = 3.0}, Arguments().set("porder", 3));
  expect_same({.porder = inf, .axis = {0, 2}}, Arguments().set("porder", inf).set("axis", Integers{0, 2}));
  expect_same({.porder = 1.5, .axis = {-3}, .epsilon = 0.25, .keepdim = true},
              Arguments().set("porder", 1.5).set("axis", Integers{-3}).set("epsilon", 0.25).set("keepdim", true));
  expect_same({.porder = -1.0, .asvector = true}, Arguments().set("porder", -1).set("asvector", true));
}

TEST_P(RegistryPNorm, ReportsWhatTheFunctionRefuses) {
  Tensor x(ctx, {2, 3}), out(ctx, {2});
  out.fill([](std::int64_t) { return 7.0; });
  const auto given = Arguments().set("x", x.ref()).set("out", out.ref());
  const auto expect_refused = [&](const Arguments& arguments, const std::string& message) {
    expect_error([&] { run("p_norm", ctx, arguments); }, "portops::p_norm: " + message);
  };
  expect_refused(Arguments(given).set("porder", std::numeric_limits<double>::quiet_NaN()),
                 "porder is nan, expected a number");
  expect_refused(Arguments(given).set("epsilon", -1.0), "epsilon is -1, expected a finite number that is not negative");
  expect_refused(Arguments(given).set("axis", Integers{3}), "axis is 3, expected -2 to 1 (x has rank 2)");
  out.download();
  EXPECT_EQ(out[0], 7.0);
  EXPECT_EQ(out[1], 7.0);
}

}  // namespace
}  // namespace portops::test
