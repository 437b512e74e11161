// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../product_reference.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"

#include <portops/core/levels.hpp>
#include <portops/core/registry.hpp>
#include <portops/ops/linear.hpp>

#include <array>
#include <limits>
#include <vector>

namespace portops::test {
namespace {

struct Shape {
  Extents x;
  std::int64_t outputs;
};

const std::vector<Shape> shapes{
    {{5, 7}, 3},                          // one matrix
    {{2, 3, 4, 7}, 5},                    // rows in several axes
    {{7}, 4},                             // one row, without an axis of its own
    {{1, 7}, 4},                          // and with one
    {{6, 7}, 1},                          // one output
    {{6, 1}, 5},                          // one term
    {{1, 1}, 1},       {{98, 260}, 133},  // tiles that are not full, slices of the inner axis
};

/// Tensors of a call of linear and of its gradient, and what these must be.
template <class T>
struct LinearProblem {
  LinearProblem(const Context& ctx, const Shape& shape, Layout layout = Layout::contiguous,
                Layout out_layout = Layout::contiguous)
      : x(ctx, shape.x, layout),
        weight(ctx, {inputs_of(shape), shape.outputs}, layout),
        bias(ctx, {shape.outputs}, layout),
        out(ctx, out_extents(shape), out_layout),
        out_grad(ctx, out_extents(shape), layout),
        x_grad(ctx, shape.x, out_layout),
        weight_grad(ctx, {inputs_of(shape), shape.outputs}, out_layout),
        bias_grad(ctx, {shape.outputs}, out_layout) {
    x.fill_randomly(1);
    weight.fill_randomly(2);
    bias.fill_randomly(3);
    out_grad.fill_randomly(4);
    for (TestTensor<T>* result : {&out, &x_grad, &weight_grad, &bias_grad}) {
      result->fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
    }
  }

  static std::int64_t inputs_of(const Shape& shape) { return shape.x[shape.x.rank() - 1]; }
  static Extents out_extents(const Shape& shape) {
    Extents result = shape.x;
    result[result.rank() - 1] = shape.outputs;
    return result;
  }

  /// Calls action(row, k, n) for each term.
  template <class Action>
  void for_terms(const Action& action) const {
    const std::int64_t inputs = weight.extents()[0], outputs = weight.extents()[1];
    const Extents& extents = x.extents();
    std::int64_t rows = 1;
    for (int axis = 0; axis + 1 < extents.rank(); ++axis) rows *= extents[axis];
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t k = 0; k < inputs; ++k) {
        for (std::int64_t n = 0; n < outputs; ++n) action(row * inputs + k, k * outputs + n, row * outputs + n);
      }
    }
  }

  void check(const Context& ctx, bool has_bias, Bound bound) {
    ReferenceProduct expected(out.extents());
    const std::int64_t outputs = weight.extents()[1];
    for_terms([&](std::int64_t i, std::int64_t j, std::int64_t k) { expected.add(k, x[i], weight[j]); });
    const std::int64_t size = out.size();
    for (std::int64_t i = 0; has_bias && i < size; ++i) expected.add(i, bias[i % outputs], 1.0);
    linear(ctx, x, weight, out, {has_bias ? bias.ref() : TensorRef()});
    if (ctx.backend() == Backend::cuda && sizeof(T) == 2 && has_bias) return expect_twice_rounded(expected);
    expect_near(out, expected, bound, has_bias ? "out with a bias" : "out", rounding_of_operands<T>(ctx));
  }

  /// cuBLAS may round a product of halves before it adds the bias.
  void expect_twice_rounded(const ReferenceProduct& expected) {
    out.download();
    const std::int64_t size = out.size();
    for (std::int64_t i = 0; i < size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const auto value = static_cast<double>(expected.value[k]);
      const double product = std::abs(value) + std::abs(bias[i % bias.size()]);
      ASSERT_NEAR(out[i], value, 4e-6 * expected.magnitude[k] + 1.01 * rounding<T>() * (std::abs(value) + product));
    }
  }

  void check_grad(const Context& ctx, Bound bound) {
    ReferenceProduct of_x(x.extents()), of_weight(weight.extents()), of_bias(bias.extents());
    for_terms([&](std::int64_t i, std::int64_t j, std::int64_t k) {
      of_x.add(i, out_grad[k], weight[j]);
      of_weight.add(j, x[i], out_grad[k]);
    });
    const std::int64_t size = out_grad.size(), outputs = weight.extents()[1];
    for (std::int64_t i = 0; i < size; ++i) of_bias.add(i % outputs, out_grad[i], 1.0);
    linear_grad(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad);
    expect_near(x_grad, of_x, bound, "x_grad", rounding_of_operands<T>(ctx));
    expect_near(weight_grad, of_weight, bound, "weight_grad", rounding_of_operands<T>(ctx));
    expect_near(bias_grad, of_bias, Bound::tree, "bias_grad");
  }

  void check_all(const Context& ctx, Bound bound = Bound::chain) {
    SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + " " + x.extents().to_string() + ", " +
                 weight.extents().to_string() + ", " + describe(ctx));
    check(ctx, false, bound);
    check(ctx, true, bound);
    check_grad(ctx, bound);
  }

  /// Runs both operators.
  void run(const Context& ctx) {
    linear(ctx, x, weight, out, {bias});
    linear_grad(ctx, x, weight, out_grad, x_grad, weight_grad, bias_grad);
  }

  void expect_same_bits_as(LinearProblem& other) {
    expect_same_bits(out, other.out, "out");
    expect_same_bits(x_grad, other.x_grad, "x_grad");
    expect_same_bits(weight_grad, other.weight_grad, "weight_grad");
    expect_same_bits(bias_grad, other.bias_grad, "bias_grad");
  }

  /// Fills what is multiplied with one number.
  void fill_factors(double value) {
    for (TestTensor<T>* tensor : {&x, &weight, &out_grad}) tensor->fill([&](std::int64_t) { return value; });
  }

  TestTensor<T> x, weight, bias, out, out_grad, x_grad, weight_grad, bias_grad;
};

class LinearTest : public OnEveryBackend {
 protected:
  template <class T>
  Bound bound_of(const Context& context) const {
    const bool is_own = context.products() == Products::own || context.deterministic() || sizeof(T) == 2;
    return ctx.backend() != Backend::cuda && is_own ? Bound::tree : Bound::chain;
  }
};

PORTOPS_ON_EVERY_BACKEND(LinearTest);

TEST_P(LinearTest, equals_the_reference_for_all_shapes_types_and_products) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const Shape& shape : shapes) LinearProblem<T>(ctx, shape).check_all(context, bound_of<T>(context));
    });
  }
}

TEST_P(LinearTest, equals_the_reference_for_all_layouts) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const Shape& shape : shapes) {
        if (shape.outputs > 10) continue;
        for (const Layout layout : all_layouts) {
          for (const Layout out_layout : {layout, Layout::contiguous}) {
            LinearProblem<T>(ctx, shape, layout, out_layout).check_all(context, bound_of<T>(context));
          }
        }
      }
    });
  }
}

/// What a GPU's tensor cores take, which add the bias as they write.
TEST_P(LinearTest, equals_the_reference_for_large_matrices) {
  need_type<float>();
  for (const Layout layout : {Layout::contiguous, Layout::reversed, Layout::padded}) {
    LinearProblem<float>(ctx, {{132, 260}, 68}, layout).check_all(ctx);
    LinearProblem<float>(ctx, {{66, 512}, 129}, layout, layout).check_all(ctx);
  }
}

/// One row, few rows and many; the weight as Paddle and as PyTorch have it, and so that it is copied.
const std::vector<Shape> shapes_in_tf32{{{512}, 64},      {{1, 512}, 64},     {{4, 512}, 96},
                                        {{98, 260}, 133}, {{2, 66, 128}, 68}, {{300, 70}, 3}};
constexpr Layout layouts_in_tf32[] = {Layout::contiguous, Layout::reversed, Layout::every_other};

/// Numbers at random, and those of which tf32 takes away the most, so that errors add up.
TEST_P(LinearTest, tf32_rounds_operands_to_11_bits_at_most) {
  need_type<float>();
  std::size_t number = 0;
  for (const Shape& shape : shapes_in_tf32) {
    for (const Layout layout : layouts_in_tf32) {
      for (std::size_t kind = 0; kind <= std::size(lost_to_tf32); ++kind) {
        LinearProblem<float> problem(ctx, shape, layout);
        if (kind > 0) problem.fill_factors(lost_to_tf32[kind - 1]);
        problem.check_all(Context(ctx).math(Math::tf32).deterministic(number++ % 2 == 1));
      }
    }
  }
}

/// Nor of f32 on hosts.
TEST_P(LinearTest, tf32_changes_no_bit_of_other_types) {
  const Context deterministic = Context(ctx).deterministic(true), tf32 = Context(deterministic).math(Math::tf32);
  for_each_type([&]<class T>() {
    if (may_round_operands<T>(tf32)) return;
    for (const Shape& shape : shapes_in_tf32) {
      for (const Layout layout : layouts_in_tf32) {
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + " " + shape.x.to_string());
        LinearProblem<T> ieee(ctx, shape, layout), rounded(ctx, shape, layout);
        ieee.run(deterministic);
        rounded.run(tf32);
        rounded.expect_same_bits_as(ieee);
        if (HasFailure()) return;
      }
    }
  });
}

/// PyTorch's weight, [N, K], seen as [K, N], is read as it lies.
TEST_P(LinearTest, takes_the_weight_of_pytorch_without_a_copy) {
  need_type<float>();
  LinearProblem<float> p(ctx, {{9, 7}, 5}, Layout::reversed, Layout::contiguous);
  p.check_all(ctx);
  if (ctx.backend() == Backend::cuda) return;  // cuBLAS wants a workspace
  EXPECT_EQ(linear_workspace(ctx, p.x, p.weight, p.out, {p.bias}), 0u);
}

/// The bias joins in before the result is rounded.
TEST_P(LinearTest, rounds_once) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "cuBLAS may round twice";
  need_type<bf16>();
  TestTensor<bf16> x(ctx, {2, 2}), weight(ctx, {2, 2}), bias(ctx, {2}), out(ctx, {2, 2});
  x.fill([](std::int64_t i) { return i % 2 == 0 ? 1.0 : 0x1p-8; });
  weight.fill([](std::int64_t) { return 1.0; });
  bias.fill([](std::int64_t) { return -1.0; });
  linear(ctx, x, weight, out, {bias});
  out.download();
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], 0x1p-8);
}

TEST_P(LinearTest, bias_grad_does_not_drift_over_constant_data) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      TestTensor<T> row(ctx, {2}), x(ctx, {2}), weight(ctx, {1, 2}), bias_grad(ctx, {2});
      row.fill([&](std::int64_t) { return constant; });
      constexpr std::int64_t rows = 1 << 15;
      const TensorRef out_grad(static_cast<T*>(row.ref().data()), {rows, 2}, {0, 1}, row.ref().space());
      const TensorRef no_x = TensorRef::without_data(ElementTypeOf<T>::value, {rows, 1});
      linear_grad(ctx, no_x, weight, out_grad, {}, {}, bias_grad);
      ReferenceProduct expected({2});
      for (std::int64_t i = 0; i < 2 * rows; ++i) expected.add(i % 2, row[0], 1.0);
      expect_near(bias_grad, expected, Bound::tree, "bias_grad");
    }
  });
}

TEST_P(LinearTest, gradients_agree_with_central_differences) {
  need_type<double>();
  LinearProblem<double> p(ctx, {{2, 3, 4}, 3});
  linear_grad(ctx, p.x, p.weight, p.out_grad, p.x_grad, p.weight_grad, p.bias_grad);
  const auto objective = [&] {
    linear(ctx, p.x, p.weight, p.out, {p.bias});
    return weighted_sum(p.out, p.out_grad);
  };
  expect_slopes(p.x, p.x_grad, objective);
  expect_slopes(p.weight, p.weight_grad, objective);
  expect_slopes(p.bias, p.bias_grad, objective);
}

TEST_P(LinearTest, reads_a_transposed_weight_as_a_view_of_it) {
  for (const Context& context : {ctx, Context(ctx).deterministic(true), Context(ctx).math(Math::tf32)}) {
    for_each_type([&]<class T>() {
      LinearProblem<T> p(ctx, {{4, 6, 7}, 5}), other(ctx, {{4, 6, 7}, 5});
      TestTensor<T> weight(ctx, {5, 7}), weight_grad(ctx, {5, 7}), grad_of_view(ctx, {5, 7});
      weight.fill([&](std::int64_t i) { return p.weight[i % 7 * 5 + i / 7]; });
      const auto view = [](const TestTensor<T>& matrix) {
        const TensorRef tensor = matrix;
        return TensorRef(tensor.data(), tensor.type(), {7, 5}, {1, 7}, tensor.space());
      };
      linear(context, p.x, view(weight), p.out, {.bias = p.bias});
      linear(context, p.x, weight, other.out, {.bias = p.bias, .transpose_weight = true});
      linear_grad(context, p.x, view(weight), p.out_grad, p.x_grad, view(grad_of_view), p.bias_grad);
      linear_grad(context, p.x, weight, p.out_grad, other.x_grad, weight_grad, other.bias_grad,
                  {.transpose_weight = true});
      expect_same_bits(other.out, p.out, "out");
      expect_same_bits(other.x_grad, p.x_grad, "x_grad");
      expect_same_bits(weight_grad, grad_of_view, "weight_grad");
      expect_same_bits(other.bias_grad, p.bias_grad, "bias_grad");
    });
  }
}

TEST_P(LinearTest, gives_each_gradient_alone) {
  for_each_type([&]<class T>() {
    LinearProblem<T> both(ctx, {{6, 5}, 3}), one(ctx, {{6, 5}, 3});
    both.check_grad(ctx, Bound::chain);
    const TensorRef no_x = TensorRef::without_data(ElementTypeOf<T>::value, {6, 5});
    linear_grad(ctx, no_x, one.weight, one.out_grad, one.x_grad, {}, {});
    linear_grad(ctx, one.x, one.weight, one.out_grad, {}, one.weight_grad, {});
    linear_grad(ctx, no_x, one.weight, one.out_grad, {}, {}, one.bias_grad);
    EXPECT_NO_THROW(linear_grad(ctx, no_x, one.weight, one.out_grad, {}, {}, {}));
    expect_same_bits(one.x_grad, both.x_grad, "x_grad");
    expect_same_bits(one.weight_grad, both.weight_grad, "weight_grad");
    expect_same_bits(one.bias_grad, both.bias_grad, "bias_grad");
  });
}

TEST_P(LinearTest, accepts_tensors_without_elements) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const Shape& shape :
           {Shape{{0, 4}, 3}, Shape{{5, 0}, 3}, Shape{{2, 5, 0}, 3}, Shape{{0}, 3}, Shape{{5, 4}, 0}}) {
        for (const Layout layout : {Layout::contiguous, Layout::every_other, Layout::reversed}) {
          LinearProblem<T>(ctx, shape, layout, layout).check_all(context);
        }
      }
    });
  }
}

TEST_P(LinearTest, gives_the_same_bits_again_in_deterministic_mode) {
  const Context deterministic = Context(ctx).deterministic(true);
  for_each_type([&]<class T>() {
    LinearProblem<T> first(ctx, {{300, 70}, 65});
    first.run(deterministic);
    for (int run = 0; run < 2; ++run) {
      LinearProblem<T> again(ctx, {{300, 70}, 65});
      again.run(deterministic);
      again.expect_same_bits_as(first);
    }
  });
}

TEST_P(LinearTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  for_each_type([&]<class T>() {
    for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
      LinearProblem<T> p(ctx, {{2000, 30}, 7}, layout, layout);
      LentMemory memory(ctx, linear_workspace(ctx, p.x, p.weight, p.out, {p.bias}));
      LentMemory grad_memory(
          ctx, linear_grad_workspace(ctx, p.x, p.weight, p.out_grad, p.x_grad, p.weight_grad, p.bias_grad));
      p.check(Context(ctx).workspace(memory.workspace()), true, Bound::chain);
      p.check_grad(Context(ctx).workspace(grad_memory.workspace()), Bound::chain);
      EXPECT_TRUE(memory.is_untouched_outside());
      EXPECT_TRUE(grad_memory.is_untouched_outside());
    }
  });
}

TEST_P(LinearTest, a_call_by_name_computes_what_the_function_computes_and_shares_levels) {
  need_type<float>();
  LinearProblem<float> p(ctx, {{5, 4}, 3}), named(ctx, {{5, 4}, 3});
  p.check(ctx, true, Bound::chain);
  p.check_grad(ctx, Bound::chain);
  const Levels levels = Levels::from_lengths(std::vector<std::int64_t>{2, 0, 3});
  const auto arguments = Arguments().set("x", RaggedRef{p.x.ref(), levels}).set("weight", p.weight.ref());
  const auto forward = Arguments(arguments).set("bias", p.bias.ref());
  EXPECT_EQ(infer("linear", forward).at("out").extents, (Extents{5, 3}));
  run("linear", ctx, Arguments(forward).set("out", named.out.ref()));
  run("linear_grad", ctx,
      Arguments(arguments)
          .set("out_grad", p.out_grad.ref())
          .set("x_grad", named.x_grad.ref())
          .set("weight_grad", named.weight_grad.ref())
          .set("bias_grad", named.bias_grad.ref()));
  named.expect_same_bits_as(p);
}

TEST_P(LinearTest, refuses_wrong_calls) {
  need_type<float>();
  TestTensor<float> x(ctx, {4, 5}), weight(ctx, {5, 3}), out(ctx, {4, 3}), scalar(ctx, {}), row(ctx, {3}),
      long_row(ctx, {5});
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  refused([&] { linear(ctx, scalar, weight, out); }, "linear: x has extents [], expected one axis or more");
  refused([&] { linear(ctx, x, row, out); },
          "linear: weight has extents [3], expected [5, the outputs] (x has extents [4, 5])");
  refused([&] { linear(ctx, x, out, out); },
          "linear: weight has extents [4, 3], expected [5, the outputs] (x has extents [4, 5])");
  refused(
      [&] { linear(ctx, x, weight, out, {.bias = {}, .transpose_weight = true}); },
      "linear: weight has extents [5, 3], expected [the outputs, 5] (x has extents [4, 5], transpose_weight is true)");
  refused([&] { linear(ctx, x, weight, out, {long_row}); },
          "linear: bias has extents [5], expected [3] (the outputs of weight)");
  refused([&] { linear(ctx, x, weight, x); },
          "linear: out has extents [4, 5], expected [4, 3] (the extents of x, the last one the outputs of weight)");
  refused(
      [&] { linear(ctx, x, weight, out, {TensorRef(static_cast<float*>(out.ref().data()), {3}, out.ref().space())}); },
      "linear: out overlaps bias in memory, expected disjoint tensors");
  refused([&] { linear_grad(ctx, x, weight, out, {}, {}, long_row); },
          "linear_grad: bias_grad has extents [5], expected [3] (the outputs of weight)");
  refused(
      [&] {
        linear_grad(ctx, TensorRef::without_data(ElementType::f32, {4, 5}), weight, out, {},
                    TestTensor<float>(ctx, {5, 3}), {});
      },
      "linear_grad: x has no data, but its elements are needed");
  if (has_kokkos_kernels) {
    refused(
        [&] { linear(with_kokkos_kernels(ctx).deterministic(true), x, weight, out); },
        "linear: the context's products are kokkos_kernels, expected automatic or own in deterministic mode (Kokkos "
        "Kernels promises no order of additions)");
  }
}

}  // namespace
}  // namespace portops::test
