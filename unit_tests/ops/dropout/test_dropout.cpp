// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/lanes/philox.hpp"
#include "support/large_tensors.hpp"
#include "support/support.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/dropout.hpp>

#include <cmath>
#include <limits>

namespace portops::test {
namespace {

/// Whether element i is dropped, from the definition.
bool is_dropped(std::int64_t i, double p, std::uint64_t seed, std::uint64_t offset) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const auto block = static_cast<std::uint64_t>(i / 4);
  std::uint32_t words[4] = {low(block), high(block), low(offset), high(offset)};
  impl::Philox(low(seed), high(seed))(words);
  return static_cast<double>(words[i % 4]) < std::nearbyint(p * 0x1p32);
}

class DropoutTest : public OnEveryBackend {
 protected:
  /// That `out` is what dropout makes of x, or dropout_grad of out_grad.
  template <class T>
  void expect_right(const TestTensor<T>& x, TestTensor<T>& out, double p, std::uint64_t seed, std::uint64_t offset) {
    out.download();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const T expected = static_cast<T>(static_cast<A>(x.element(i)) * static_cast<A>(1.0 / (1.0 - p)));
      const bool dropped = is_dropped(i, p, seed, offset);
      ASSERT_TRUE(same_bits(out.element(i), dropped ? static_cast<T>(0.0f) : expected))
          << i << " of " << x.extents().to_string() << ", " << name_of(ElementTypeOf<T>::value);
    }
  }
  template <class T>
  void check(const TestTensor<T>& x, Layout out_layout, const DropoutParams& params) {
    TestTensor<T> out(ctx, x.extents(), out_layout);
    const auto seed = static_cast<std::uint64_t>(params.seed), offset = static_cast<std::uint64_t>(params.offset);
    dropout(ctx, x, out, params);
    expect_right(x, out, params.p, seed, offset);
    out.fill([](std::int64_t) { return 7.0; });
    dropout_grad(Context(ctx).deterministic(true), x, out, params);
    expect_right(x, out, params.p, seed, offset);
  }
  template <class T>
  void check(const Extents& extents, Layout layout, Layout out_layout, const DropoutParams& params) {
    TestTensor<T> x(ctx, extents, layout);
    x.fill_randomly(5);
    check(x, out_layout, params);
  }
};
PORTOPS_ON_EVERY_BACKEND(DropoutTest);

TEST_P(DropoutTest, drops_the_elements_of_the_definition) {
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{4096}, Extents{1}, Extents{}, Extents{37, 53}, Extents{5}, Extents{9001}}) {
      check<T>(extents, Layout::contiguous, Layout::contiguous, {.p = 0.3, .seed = 11});
    }
    check<T>({1000}, Layout::contiguous, Layout::contiguous, {.p = 0.5, .seed = -3, .offset = far});
    check<T>({1000}, Layout::contiguous, Layout::contiguous, {.p = 0.9, .seed = far, .offset = -1});
  });
}

TEST_P(DropoutTest, drops_the_same_elements_whatever_the_strides) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      check<T>({7, 1, 13, 6}, layout, Layout::contiguous, {.p = 0.4, .seed = 2});
      check<T>({7, 13, 6}, Layout::contiguous, layout, {.p = 0.4, .seed = 2});
      check<T>({7, 13, 6}, layout, layout, {.p = 0.4, .seed = 2});
    }
  });
}

TEST_P(DropoutTest, works_in_place) {
  for_each_type([&]<class T>() {
    TestTensor<T> x(ctx, {777}), kept(ctx, {777});
    x.fill_randomly(3);
    kept.fill_randomly(3);
    dropout(ctx, x, x, {.p = 0.25, .seed = 8});
    expect_right(kept, x, 0.25, 8, 0);
    kept.fill([&](std::int64_t i) { return x[i]; });
    dropout_grad(ctx, x, x, {.p = 0.25, .seed = 8});
    expect_right(kept, x, 0.25, 8, 0);
  });
}

TEST_P(DropoutTest, adds_a_step_that_lies_in_a_tensor) {
  TestTensor<std::int64_t> step(ctx, {});
  TestTensor<float> x(ctx, {500}), out(ctx, {500});
  x.fill_randomly(4);
  for (const std::int64_t number : {0, 3, -5}) {
    step.fill([&](std::int64_t) { return number; });
    dropout(ctx, x, out, {.step = step, .p = 0.5, .seed = 1, .offset = 40});
    expect_right(x, out, 0.5, 1, static_cast<std::uint64_t>(40 + number));
    dropout_grad(ctx, x, out, {.step = step, .p = 0.5, .seed = 1, .offset = 40});
    expect_right(x, out, 0.5, 1, static_cast<std::uint64_t>(40 + number));
  }
}

// Elements that lie flat or apart; with p = 0 and 1, all of them and none are kept. What is dropped is 0 without a
// sign.
TEST_P(DropoutTest, keeps_nan_inf_and_subnormals_or_drops_them) {
  for_each_type([&]<class T>() {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double tiny = std::is_same_v<T, double> ? 0x1p-1074 : std::is_same_v<T, f16> ? 0x1p-24 : 0x1p-133;
    const double large = std::is_same_v<T, f16> ? 65504.0 : 0x1p127;
    const double values[] = {inf, nan, -inf, 1.5, -0.0, tiny, large, -3 * tiny, -large};
    for (const Layout layout : {Layout::contiguous, Layout::padded, Layout::every_other}) {
      TestTensor<T> x(ctx, {10, 113}, layout);
      x.fill([&](std::int64_t i) { return values[i % 9]; });
      for (const double p : {0.0, 0.3, 0.5, 0.97, 1.0}) check(x, Layout::contiguous, {.p = p, .seed = 4});
    }
  });
}

// Within five standard deviations of what so many independent draws come to; neighbours, and sequences of different
// offsets or seeds, know nothing of each other.
TEST_P(DropoutTest, drops_as_many_as_the_probability_says) {
  constexpr std::int64_t n = 200000;
  TestTensor<float> x(ctx, {n}), out(ctx, {n}), other(ctx, {n});
  x.fill([](std::int64_t) { return 1.0; });
  for (const double p : {0.001, 0.1, 0.5, 0.9}) {
    for (const DropoutParams& params : {DropoutParams{.p = p, .offset = 1}, DropoutParams{.p = p, .seed = 1}}) {
      dropout(ctx, x, out, {.p = p});
      dropout(ctx, x, other, params);
      out.download();
      other.download();
      std::int64_t dropped = 0, both = 0, neighbours = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        dropped += out[i] == 0.0 ? 1 : 0;
        both += out[i] == 0.0 && other[i] == 0.0 ? 1 : 0;
        neighbours += out[i] == 0.0 && out[(i + 1) % n] == 0.0 ? 1 : 0;
      }
      const auto expect_about = [&](std::int64_t found, double probability) {
        EXPECT_NEAR(static_cast<double>(found), n * probability, 5 * std::sqrt(n * probability) + 1) << p;
      };
      expect_about(dropped, p);
      expect_about(both, p * p);
      expect_about(neighbours, p * p);
    }
  }
}

TEST_P(DropoutTest, tensors_without_elements_are_valid) {
  TestTensor<float> x(ctx, {0, 3}), out(ctx, {0, 3});
  dropout(ctx, x, out, {.seed = 1});
  dropout_grad(ctx, x, out, {.seed = 1});
  dropout_grad(ctx, TestTensor<float>(ctx, {4}), {}, {});
}

TEST_P(DropoutTest, refuses_what_does_not_fit) {
  TestTensor<float> x(ctx, {4}), out(ctx, {4}), longer(ctx, {5});
  TestTensor<std::int64_t> indices(ctx, {4});
  for (const double p : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(dropout(ctx, x, out, {.p = p}), Error);
    EXPECT_THROW(dropout_grad(ctx, x, out, {.p = p}), Error);
  }
  expect_error([&] { dropout(ctx, x, out, {.p = 1.5}); },
               "portops::dropout: p is 1.5, expected at least 0 and at most 1");
  expect_error([&] { dropout(ctx, x, longer); },
               "portops::dropout: out has extents [5], expected [4] (the extents of x)");
  expect_error([&] { dropout(ctx, indices, out); },
               "portops::dropout: x has element type i64, expected f64, f32, f16 or bf16");
  expect_error([&] { dropout(ctx, x, out, {.step = longer}); },
               "portops::dropout: step has element type f32, expected i64");
  expect_error([&] { dropout(ctx, x, out, {.step = indices}); },
               "portops::dropout: step has extents [4], expected [] (those of a scalar)");
  expect_error([&] { dropout_grad(ctx, x, longer); },
               "portops::dropout_grad: x_grad has extents [5], expected [4] (the extents of out_grad)");
}

TEST_P(DropoutTest, is_called_by_name) {
  TestTensor<float> x(ctx, {50}), out(ctx, {50});
  TestTensor<std::int64_t> step(ctx, {});
  x.fill_randomly(9);
  step.fill([](std::int64_t) { return 2; });
  run("dropout", ctx,
      Arguments().set("x", x.ref()).set("out", out.ref()).set("p", 0.75).set("seed", 6).set("step", step.ref()));
  expect_right(x, out, 0.75, 6, 2);
  run("dropout_grad", ctx, Arguments().set("out_grad", x.ref()).set("x_grad", out.ref()).set("p", 0.75).set("seed", 6));
  expect_right(x, out, 0.75, 6, 0);
}

using DropoutLargeTest = OnALargeGpu;

TEST_F(DropoutLargeTest, counts_more_than_2_to_the_31_elements) {
  const Context ctx(Backend::cuda);
  const std::int64_t size = two_to_31 + 3000000;
  const Tensor x(ElementTypeOf<f16>::value, {size}, MemorySpace::cuda),
      out(ElementTypeOf<f16>::value, {size}, MemorySpace::cuda);
  fill_in_pieces<f16>(ctx, x, 1);
  dropout(ctx, x, out, {.p = 0.5, .seed = 3});
  expect_ranges<f16>(ctx, out, [](std::int64_t i) {
    return is_dropped(i, 0.5, 3, 0) ? f16(0.0f) : f16(2.0f * static_cast<float>(in_pieces<f16>(i, 1)));
  });
}

}  // namespace
}  // namespace portops::test
