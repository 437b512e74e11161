// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sums_support.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"

#include <portops/core/registry.hpp>

namespace portops::test {
namespace {

class SumsTest : public OnSums {};

PORTOPS_ON_EVERY_BACKEND(SumsTest);

TEST_P(SumsTest, equal_the_reference_for_all_axes_and_layouts) {
  const std::vector<Axes> some_axes{{0}, {1}, {-1}, {0, 1}, {0, 2}, {2, 1}, {1, -3, 2}, {}};
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Axes& axes : some_axes) {
        check<T>({3, 4, 5}, axes, false, layout, Layout::every_other);
        check<T>({7, 33, 18}, axes, true, layout);
        check<T>({5, 1, 70}, axes, false, layout, Layout::negative);
      }
      check<T>({2, 3, 4, 5}, {0, 2, 3}, false, layout);
      check<T>({2, 1, 3, 1, 2, 5, 1, 4}, {5, 0}, true, layout);
      if (HasFailure()) return;
    }
  });
}

TEST_P(SumsTest, equal_the_reference_for_many_sizes) {
  for_each_type([&]<class T>() {
    for (const std::int64_t size : {1, 2, 7, 8, 31, 64, 100, 515, 4099}) {
      check<T>({size}, {});
      check<T>({size, 3}, {0});
      check<T>({3, size}, {1});
      check<T>({3, size}, {0});
      check<T>({2, size, 6}, {0, 2});
    }
    check<T>({2, 300001}, {1});
    check<T>({300001, 2}, {0});
    check<T>({8, 16, 32, 32}, {0, 2, 3});
    check<T>({3, 4, 1000}, {0, 2});
    check<T>({5, 2, 333}, {0, 2});
    check<T>({40000, 3}, {1});
    check<T>({}, {});
    check<T>({}, {0});
    check<T>({}, {-1}, true);
  });
}

TEST_P(SumsTest, read_elements_that_stand_for_many_and_do_not_drift_over_them) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const bool down : {false, true}) {
        TestTensor<T> one(ctx, {3}), out(ctx, {3});
        one.fill([&](std::int64_t) { return constant; });
        const std::int64_t count = unless_sanitized(3'000'001, 300'001);
        const TensorRef x(static_cast<T*>(one.ref().data()), down ? Extents{count, 3} : Extents{3, count},
                          down ? Extents{0, 1} : Extents{1, 0}, one.ref().space());
        mean(ctx, x, out, {{down ? 0 : 1}});
        ReferenceSums expected({3});
        for (int i = 0; i < 3; ++i) expected.add(i, one[0], std::abs(one[0]));
        expect_near(out, expected, "mean");
      }
    }
  });
}

TEST_P(SumsTest, do_not_stagnate_over_many_terms) {
  // A chain of float additions of ones would stop at 2^24, one of f16 at 2^11.
  const std::int64_t count = (std::int64_t{1} << 25) + 12345;
  TestTensor<float> one(ctx, {1}), out(ctx, {});
  one.fill([](std::int64_t) { return 1.0; });
  sum(ctx, TensorRef(one.ref().data(), ElementType::f32, {count}, {0}, one.ref().space()), out);
  out.download();
  EXPECT_EQ(out[0], static_cast<double>(static_cast<float>(count)));
  TestTensor<f16> half(ctx, {60001}), of_half(ctx, {1});
  half.fill([](std::int64_t) { return 1.0; });
  sum(ctx, half, of_half, {.keepdim = true});
  of_half.download();
  EXPECT_EQ(of_half[0], static_cast<double>(static_cast<f16>(60001.0f)));
}

TEST_P(SumsTest, are_as_near_where_terms_cancel) {
  for_each_type([&]<class T>() {
    for (const auto& [extents, axes] : all_ways()) {
      SCOPED_TRACE(extents.to_string());
      const SumTerms terms(extents, axes, false);
      const std::int64_t half = terms.count / 2;
      TestTensor<T> x(ctx, extents), out(ctx, terms.out);
      const auto cancel = [&](double middle, const auto& value) {
        fill_terms(x, terms, [&](std::int64_t, std::int64_t k) {
          if (k < half) return value(k);
          return k >= terms.count - half ? -value(terms.count - 1 - k) : middle;
        });
      };
      // Sums of these are exact in whatever order.
      cancel(0.5, [](std::int64_t k) { return static_cast<double>(k * 37 % 100); });
      const double left = terms.count % 2 == 1 ? 0.5 : 0.0;
      sum(ctx, x, out, {axes});
      expect_exact(out, [&](std::int64_t) { return left; }, "sum");
      cancel(1e-3, [](std::int64_t k) {
        return std::ldexp(1.0 + static_cast<double>(k % 97) / 97.0, static_cast<int>(k * 7 % 24) - 9);
      });
      sum(ctx, x, out, {axes});
      expect_near(out, expected(x, terms, false), "sum");
      mean(ctx, x, out, {axes});
      expect_near(out, expected(x, terms, true), "mean");
    }
  });
}

TEST_P(SumsTest, give_the_same_bits_on_every_run_and_in_both_modes) {
  for (const Extents& extents : {Extents{3, 150001}, Extents{150001, 3}, Extents{64, 200, 33}}) {
    for (const Axes& axes : {Axes{0}, Axes{1}, Axes{}}) {
      const SumTerms terms(extents, axes, false);
      TestTensor<float> x(ctx, extents), out(ctx, terms.out), again(ctx, terms.out);
      x.fill_randomly(1);
      sum(ctx, x, out, {axes});
      out.download();
      for (int run = 0; run < 4; ++run) {
        sum(Context(ctx).deterministic(run % 2 == 1), x, again, {axes});
        again.download();
        for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_TRUE(same_bits(again.element(i), out.element(i))) << run;
      }
    }
  }
}

TEST_P(SumsTest, give_the_same_bits_on_every_backend) {
  const Context first(enabled_backends().front());
  if (first.backend() == ctx.backend()) GTEST_SKIP() << "the one that the others are compared with";
  for_each_type([&]<class T>() {
    for (const auto& [extents, axes] : all_ways()) {
      const SumTerms terms(extents, axes, false);
      for (const Layout layout : {Layout::contiguous, Layout::padded, Layout::reversed}) {
        SCOPED_TRACE(extents.to_string() + " layout " + std::to_string(static_cast<int>(layout)));
        TestTensor<T> here(ctx, extents, layout), there(first, extents, layout);
        TestTensor<T> out(ctx, terms.out), expected(first, terms.out);
        for (TestTensor<T>* x : {&here, &there}) {
          Random random(1);
          x->fill([&](std::int64_t i) { return std::ldexp(random.uniform(-1.0, 1.0), static_cast<int>(i * 7 % 24)); });
        }
        for (const bool is_mean : {false, true}) {
          is_mean ? mean(ctx, here, out, {axes}) : sum(ctx, here, out, {axes});
          is_mean ? mean(first, there, expected, {axes}) : sum(first, there, expected, {axes});
          expected.download();
          expect_exact(out, [&](std::int64_t i) { return expected[i]; }, is_mean ? "mean" : "sum");
        }
      }
    }
  });
}

TEST_P(SumsTest, gradients_agree_with_central_differences) {
  TestTensor<double> x(ctx, {4, 2, 3}), out(ctx, {2}), out_grad(ctx, {2}), x_grad(ctx, {4, 2, 3});
  x.fill_randomly(1);
  out_grad.fill_randomly(2);
  sum_grad(ctx, x, out_grad, x_grad, {{0, 2}});
  expect_slopes(x, x_grad, [&] {
    sum(ctx, x, out, {{0, 2}});
    return weighted_sum(out, out_grad);
  });
  mean_grad(ctx, x, out_grad, x_grad, {{0, 2}});
  expect_slopes(x, x_grad, [&] {
    mean(ctx, x, out, {{0, 2}});
    return weighted_sum(out, out_grad);
  });
}

TEST_P(SumsTest, accept_tensors_without_elements) {
  for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
    for_each_type([&]<class T>() {
      TestTensor<T> x(ctx, {0, 4, 3}), out(ctx, {4, 3}, layout), all(ctx, {}), none(ctx, {0, 4}),
          x_grad(ctx, {0, 4, 3});
      out.fill([](std::int64_t) { return 7.0; });
      sum(ctx, x, out, {{0}});
      out.download();
      for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(out[i], 0.0);
      mean(ctx, x, out, {{0}});
      out.download();
      for (std::int64_t i = 0; i < 12; ++i) EXPECT_TRUE(std::isnan(out[i]));
      sum(ctx, x, all);
      all.download();
      EXPECT_EQ(all[0], 0.0);
      EXPECT_EQ(sum_workspace(ctx, x, all), 0u);
      EXPECT_NO_THROW(sum(ctx, x, none, {{2}}));
      EXPECT_NO_THROW(mean_grad(ctx, x, none, x_grad, {{2}}));
      EXPECT_NO_THROW(sum_grad(ctx, x, all, x_grad));
    });
  }
}

TEST_P(SumsTest, take_their_temporaries_from_a_workspace_that_is_lent) {
  TestTensor<float> x(ctx, {2, 300001}), out(ctx, {2}), lent_out(ctx, {2});
  x.fill_randomly(1);
  mean(ctx, x, out, {{1}});
  out.download();
  const std::size_t bytes = mean_workspace(ctx, x, lent_out, {{1}});
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(sum_workspace(ctx, x, lent_out, {{1}}), bytes);
  LentMemory memory(ctx, bytes);
  mean(Context(ctx).workspace(memory.workspace()), x, lent_out, {{1}});
  lent_out.download();
  for (std::int64_t i = 0; i < 2; ++i) EXPECT_EQ(lent_out[i], out[i]);
  EXPECT_TRUE(memory.is_untouched_outside());
}

TEST_P(SumsTest, calls_by_name_compute_what_the_functions_compute) {
  TestTensor<float> x(ctx, {2, 3, 4}), out(ctx, {3}), named_out(ctx, {3}), x_grad(ctx, {2, 3, 4});
  x.fill_randomly(1);
  for (const std::string op : {"sum", "mean"}) {
    op == "sum" ? sum(ctx, x, out, {{0, -1}}) : mean(ctx, x, out, {{0, -1}});
    const auto arguments = Arguments().set("x", x.ref()).set("axis", Axes{0, -1});
    run(op, ctx, Arguments(arguments).set("out", named_out.ref()));
    out.download();
    named_out.download();
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(named_out[i], out[i]);
    run(op + "_grad", ctx, Arguments(arguments).set("out_grad", out.ref()).set("x_grad", x_grad.ref()));
    x_grad.download();
    const double divisor = op == "sum" ? 1.0 : 8.0;
    EXPECT_EQ(x_grad[5], out[1] / divisor);
    EXPECT_EQ(infer(op, Arguments().set("x", x.ref())).at("out").extents, Extents()) << "all axes";
    EXPECT_EQ(infer(op, Arguments().set("x", x.ref()).set("keepdim", true)).at("out").extents, Extents({1, 1, 1}));
  }
}

TEST_P(SumsTest, refuse_wrong_calls) {
  TestTensor<float> x(ctx, {3, 4}), out(ctx, {}), row(ctx, {4}), x_grad(ctx, {3, 4});
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  refused([&] { sum(ctx, x, row, {{2}}); }, "sum: axis is 2, expected -2 to 1 (x has rank 2)");
  refused([&] { mean(ctx, x, row, {{0, -2}}); }, "mean: axis names axis 0 twice, expected each once");
  refused([&] { sum(ctx, x, row); }, "sum: out has extents [4], expected [] (the extents of x without axes 0, 1)");
  refused([&] { mean(ctx, x, row, {{0}, true}); },
          "mean: out has extents [4], expected [1, 4] (the extents of x with 1 for axis 0)");
  refused([&] { sum(ctx, x, TestTensor<double>(ctx, {})); },
          "sum: out has element type f64, expected f32 (the element type of x)");
  refused([&] { mean(ctx, {}, out); }, "mean: x is empty, expected a tensor");
  const TensorRef inside(static_cast<float*>(x.ref().data()) + 5, {}, x.ref().space());
  refused([&] { sum(ctx, x, inside); }, "sum: out overlaps x in memory, expected disjoint tensors");
  refused([&] { sum_grad(ctx, x, out, x_grad, {{0}}); },
          "sum_grad: out_grad has extents [], expected [4] (the extents of x without axis 0)");
  refused([&] { mean_grad(ctx, x, out, row); },
          "mean_grad: x_grad has extents [4], expected [3, 4] (the extents of x)");
  refused([&] { mean_grad(ctx, x_grad, inside, x); },
          "mean_grad: x_grad overlaps out_grad in memory, expected disjoint tensors");
  EXPECT_NO_THROW(sum_grad(ctx, x, out, {}));
  EXPECT_NO_THROW(mean_grad(ctx, x, out, {}));
}

}  // namespace
}  // namespace portops::test
