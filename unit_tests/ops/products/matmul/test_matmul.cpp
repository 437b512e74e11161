// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matmul_problem.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <array>
#include <limits>
#include <vector>

namespace portops::test {
namespace {

struct Shapes {
  Extents x, y;
  MatmulParams params = {};
};

/// Each group for the code that it reaches.
const std::vector<Shapes> shapes{
    // One matrix, and what has one row, column or term.
    {{5, 7}, {7, 3}},
    {{33, 70}, {70, 41}},
    {{1, 9}, {9, 6}},
    {{6, 9}, {9, 1}},
    {{6, 1}, {1, 9}},
    {{1, 40}, {40, 1}},
    // Vectors.
    {{7}, {7}},
    {{7}, {7, 5}},
    {{5, 7}, {7}},
    {{7}, {3, 7, 5}},
    {{3, 5, 7}, {7}},
    {{1}, {1, 4}},
    // Batches that both have, in one axis and more.
    {{4, 5, 7}, {4, 7, 3}},
    {{2, 3, 5, 7}, {2, 3, 7, 4}},
    {{2, 3, 1, 7}, {2, 3, 7, 4}},
    {{2, 3, 5, 7}, {2, 3, 7, 1}},
    {{2, 3, 5, 1}, {2, 3, 1, 4}},
    {{2, 1, 1, 1}, {2, 5, 1, 1}},
    // One matrix for many: rows of a large product, columns that stay a batch.
    {{4, 5, 7}, {7, 3}},
    {{2, 4, 5, 7}, {7, 3}},
    {{5, 7}, {4, 7, 3}},
    {{1, 5, 7}, {4, 7, 3}},
    {{4, 5, 7}, {1, 7, 3}},
    // Batches that cross, and axes of one that lie between those of the other.
    {{2, 1, 5, 7}, {1, 3, 7, 4}},
    {{1, 2, 5, 7}, {3, 1, 7, 4}},
    {{2, 1, 2, 5, 7}, {2, 3, 1, 7, 4}},
    {{2, 3, 1, 2, 1, 3, 4}, {2, 1, 5, 2, 3, 4, 2}},
    {{2, 1, 2, 1, 2, 1, 3, 4}, {1, 2, 1, 2, 1, 2, 4, 2}},
    // A matrix for each of the inner batch, whose gradient is summed over the outer one: in parts on GPUs, unless these
    // are too many.
    {{6, 3, 20, 8}, {3, 8, 12}},
    {{5, 2, 33, 7}, {1, 2, 7, 9}},
    {{3, 7, 9}, {5, 3, 9, 4}},
    {{70, 2, 4, 5}, {2, 5, 3}},
    {{2, 3, 2, 6, 5}, {3, 1, 5, 4}},
    // Tiles that are not full, and slices of the inner axis.
    {{2, 98, 260}, {2, 260, 20}},
    {{9, 300}, {300, 130}},
};

constexpr std::array transposes{MatmulParams{false, false}, MatmulParams{true, false}, MatmulParams{false, true},
                                MatmulParams{true, true}};

/// The extents of the operand that is transposed.
Extents turned(Extents extents, bool is_turned) {
  const int last = extents.rank() - 1;
  if (is_turned && last > 0) std::swap(extents[last], extents[last - 1]);
  return extents;
}

class MatmulTest : public OnEveryBackend {
 protected:
  /// Of contexts and types whose products portops adds up in trees itself.
  template <class T>
  Bound bound_of(const Context& context) const {
    const bool is_own = context.products() == Products::own || context.deterministic() || sizeof(T) == 2;
    return ctx.backend() != Backend::cuda && is_own ? Bound::tree : Bound::chain;
  }
};

PORTOPS_ON_EVERY_BACKEND(MatmulTest);

TEST_P(MatmulTest, equals_the_reference_for_all_shapes_types_and_products) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const auto& [x, y, none] : shapes) MatmulProblem<T>(ctx, x, y).check_all(context, bound_of<T>(context));
    });
  }
}

/// Of f32 all layouts; of others one for each transposition.
TEST_P(MatmulTest, equals_the_reference_for_all_transposes_and_layouts) {
  for (const Context& context : contexts_of_products(ctx)) {
    if (context.deterministic() || context.products() == Products::own) continue;  // what small products are anyway
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context) || asks_in_vain<T>(context)) return;
      std::size_t number = 0;
      for (const auto& [x, y, none] : shapes) {
        if (x.product() > 2000) continue;
        for (const MatmulParams& params : transposes) {
          ++number;
          for (std::size_t k = 0; k < std::size(all_layouts); ++k) {
            if (!std::is_same_v<T, float> && k != number % std::size(all_layouts)) continue;
            const Layout layout = all_layouts[k], other = all_layouts[(k + number) % std::size(all_layouts)];
            MatmulProblem<T>(ctx, turned(x, params.transpose_x), turned(y, params.transpose_y), params, layout, other)
                .check_all(context, bound_of<T>(context));
            if (HasFailure()) return;
          }
        }
      }
    });
  }
}

/// What a GPU's tensor cores take, and with what they share tiles.
const std::vector<Shapes> large_shapes{
    {{132, 516}, {516, 68}}, {{2, 64, 128}, {128, 96}}, {{2, 1, 64, 128}, {3, 128, 64}}};

TEST_P(MatmulTest, equals_the_reference_for_large_matrices) {
  need_type<float>();
  for (const auto& [x, y, none] : large_shapes) {
    for (const MatmulParams& params : transposes) {
      MatmulProblem<float>(ctx, turned(x, params.transpose_x), turned(y, params.transpose_y), params).check_all(ctx);
    }
  }
}

/// Strides that no layout above has: operands spread over rows, over what is summed, over everything.
TEST_P(MatmulTest, reads_operands_that_are_broadcast_by_strides) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const Extents& strides : {Extents{0, 7, 1}, Extents{35, 0, 1}, Extents{35, 7, 0}, Extents{0, 0, 1},
                                     Extents{0, 0, 0}, Extents{1, 4, 20}, Extents{7, 28, 1}, Extents{2, 3, 5}}) {
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + " " + strides.to_string() + describe(context));
        TestTensor<T> memory(ctx, {140}), y(ctx, {4, 7, 3}), out(ctx, {4, 5, 3}), y_grad(ctx, {4, 7, 3});
        TestTensor<T> out_grad(ctx, {4, 5, 3}), one(ctx, {}), x_grad(ctx, {4, 5, 7});
        memory.fill_randomly(1);
        y.fill_randomly(2);
        out_grad.fill_randomly(3);
        one.fill([](std::int64_t) { return 0.75; });
        const TensorRef x(static_cast<T*>(memory.ref().data()), {4, 5, 7}, strides, memory.ref().space());
        ReferenceProduct expected({4, 5, 3}), of_y({4, 7, 3}), of_x({4, 5, 7});
        for (std::int64_t i = 0; i < 4 * 5 * 3 * 7; ++i) {
          const std::int64_t k = i % 7, n = i / 7 % 3, m = i / 21 % 5, batch = i / 105;
          const double value = memory[batch * strides[0] + m * strides[1] + k * strides[2]];
          expected.add((batch * 5 + m) * 3 + n, value, y[(batch * 7 + k) * 3 + n]);
          of_y.add((batch * 7 + k) * 3 + n, value, out_grad[(batch * 5 + m) * 3 + n]);
          of_x.add((batch * 5 + m) * 7 + k, one[0], y[(batch * 7 + k) * 3 + n]);
        }
        matmul(context, x, y, out);
        expect_near(out, expected, Bound::chain, "out", rounding_of_operands<T>(context));
        matmul_grad(context, x, y, out_grad, {}, y_grad);
        expect_near(y_grad, of_y, Bound::chain, "y_grad", rounding_of_operands<T>(context));
        const TensorRef ones(static_cast<T*>(one.ref().data()), {4, 5, 3}, {0, 0, 0}, one.ref().space());
        matmul_grad(context, x, y, ones, x_grad, {});
        expect_near(x_grad, of_x, Bound::chain, "x_grad", rounding_of_operands<T>(context));
        if (HasFailure()) return;
      }
    });
  }
}

TEST_P(MatmulTest, does_not_drift_over_constant_data) {
  for_each_type([&]<class T>() {
    const bool is_on_host = ctx.backend() != Backend::cuda;
    for (const double constant : drifting_constants) {
      std::vector<Shapes> cases{{{1, 70000}, {70000, 3}}, {{3, 70000}, {70000}}, {{100000}, {100000}}};
      if (is_on_host) cases.push_back({{3, 20000}, {20000, 5}});
      for (const auto& [x, y, none] : cases) {
        MatmulProblem<T> problem(ctx, x, y);
        problem.x.fill([&](std::int64_t) { return constant; });
        problem.y.fill([](std::int64_t) { return 0.0875; });
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + " " + x.to_string());
        problem.check(Context(ctx).deterministic(true), Bound::tree);
      }
    }
  });
}

/// All of one sign, so that sums grow and every addition rounds: the bound of a chain.
TEST_P(MatmulTest, keeps_its_bound_over_long_inner_axes) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      MatmulProblem<T> problem(ctx, {64, 1500}, {1500, 68});
      problem.x.fill_randomly(1, 0.5, 1.0);
      problem.y.fill_randomly(2, 0.5, 1.0);
      problem.check(context, bound_of<T>(context));
    });
  }
}

/// Large products, thin ones, of vectors, and in batches.
std::vector<Shapes> shapes_in_tf32() {
  std::vector<Shapes> all{{{100, 200}, {200, 72}}, {{4, 512}, {512, 64}},      {{70, 300}, {300, 3}},
                          {{300}, {300, 70}},      {{3, 40, 96}, {3, 96, 72}}, {{6, 3, 20, 8}, {3, 8, 12}}};
  all.insert(all.end(), large_shapes.begin(), large_shapes.end());
  return all;
}

/// Numbers at random, and those of which tf32 takes away the most, so that errors add up.
TEST_P(MatmulTest, tf32_rounds_operands_to_11_bits_at_most) {
  need_type<float>();
  std::size_t number = 0;
  for (const auto& [x, y, none] : shapes_in_tf32()) {
    for (const MatmulParams& params : transposes) {
      MatmulProblem<float> problem(ctx, turned(x, params.transpose_x), turned(y, params.transpose_y), params);
      const std::size_t kinds = 1 + std::size(lost_to_tf32), kind = number % kinds;
      if (kind > 0) problem.fill_inputs(lost_to_tf32[kind - 1]);
      problem.check_all(Context(ctx).math(Math::tf32).deterministic(number / kinds % 2 == 1));
      ++number;
    }
  }
}

/// Nor of f32 on hosts.
TEST_P(MatmulTest, tf32_changes_no_bit_of_other_types) {
  const Context deterministic = Context(ctx).deterministic(true), tf32 = Context(deterministic).math(Math::tf32);
  for_each_type([&]<class T>() {
    if (may_round_operands<T>(tf32)) return;
    for (const auto& [x, y, none] : shapes_in_tf32()) {
      for (const MatmulParams& params : transposes) {
        const Extents x_extents = turned(x, params.transpose_x), y_extents = turned(y, params.transpose_y);
        SCOPED_TRACE(std::string(name_of(ElementTypeOf<T>::value)) + " " + x.to_string() + ", " + y.to_string());
        MatmulProblem<T> ieee(ctx, x_extents, y_extents, params), rounded(ctx, x_extents, y_extents, params);
        ieee.run(deterministic);
        rounded.run(tf32);
        rounded.expect_same_bits_as(ieee);
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(MatmulTest, gradients_agree_with_central_differences) {
  need_type<double>();
  for (const auto& [x_extents, y_extents, params] :
       {Shapes{{2, 3}, {3, 2}}, Shapes{{2, 1, 3, 2}, {3, 3, 2}, {true, false}}, Shapes{{3}, {2, 2, 3}, {false, true}},
        Shapes{{2, 2, 3}, {3}}, Shapes{{3, 2}, {2, 2, 3}, {true, true}}}) {
    MatmulProblem<double> problem(ctx, x_extents, y_extents, params);
    auto& [attributes, x, y, out, out_grad, x_grad, y_grad] = problem;
    matmul_grad(ctx, x, y, out_grad, x_grad, y_grad, attributes);
    const auto objective = [&] {
      matmul(ctx, problem.x, problem.y, problem.out, problem.params);
      return weighted_sum(problem.out, problem.out_grad);
    };
    expect_slopes(x, x_grad, objective);
    expect_slopes(y, y_grad, objective);
  }
}

TEST_P(MatmulTest, gives_each_gradient_alone) {
  for_each_type([&]<class T>() {
    MatmulProblem<T> problem(ctx, {3, 1, 4, 5}, {2, 5, 3}), both(ctx, {3, 1, 4, 5}, {2, 5, 3});
    both.check_grad(ctx);
    const TensorRef no_x = TensorRef::without_data(ElementTypeOf<T>::value, problem.x.extents());
    matmul_grad(ctx, no_x, problem.y, problem.out_grad, problem.x_grad, {});
    matmul_grad(ctx, problem.x, problem.y, problem.out_grad, {}, problem.y_grad);
    EXPECT_NO_THROW(matmul_grad(ctx, no_x, problem.y, problem.out_grad, {}, {}));
    problem.x_grad.download();
    problem.y_grad.download();
    for (std::int64_t i = 0; i < both.x_grad.size(); ++i) ASSERT_EQ(problem.x_grad[i], both.x_grad[i]) << i;
    for (std::int64_t i = 0; i < both.y_grad.size(); ++i) ASSERT_EQ(problem.y_grad[i], both.y_grad[i]) << i;
  });
}

TEST_P(MatmulTest, accepts_tensors_without_elements) {
  const std::vector<Shapes> cases{
      {{0, 3}, {3, 4}},       {{4, 3}, {3, 0}},    {{4, 0}, {0, 3}},         {{0}, {0}},
      {{0}, {0, 3}},          {{3, 0}, {0}},       {{2, 4, 0}, {2, 0, 3}},   {{0, 4, 5}, {0, 5, 3}},
      {{0, 4, 5}, {1, 5, 3}}, {{4, 5}, {0, 5, 3}}, {{3, 1, 2, 0}, {2, 0, 2}}};
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const auto& [x, y, none] : cases) {
        for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
          MatmulProblem<T> problem(ctx, x, y, {}, layout, layout);
          for (TestTensor<T>* tensor : {&problem.out, &problem.x_grad, &problem.y_grad}) {
            tensor->fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
          }
          problem.check_all(context);
        }
      }
    });
  }
}

TEST_P(MatmulTest, follows_the_formula_for_nan_and_inf) {
  for (const Context& context : contexts_of_products(ctx)) {
    for_each_type([&]<class T>() {
      if (!has_products_of<T>(context)) return;
      for (const std::int64_t columns : {1, 6}) {
        MatmulProblem<T> problem(ctx, {4, 9}, {9, columns});
        const double inf = std::numeric_limits<double>::infinity();
        problem.x.fill([&](std::int64_t i) { return i == 3 ? std::nan("") : i == 12 ? inf : 1.0; });
        problem.y.fill([](std::int64_t) { return 1.0; });
        problem.out.fill([](std::int64_t) { return std::nan(""); });
        matmul(context, problem.x, problem.y, problem.out);
        problem.out.download();
        for (std::int64_t j = 0; j < columns; ++j) {
          EXPECT_TRUE(std::isnan(problem.out[j]));
          EXPECT_EQ(problem.out[columns + j], inf);
          EXPECT_EQ(problem.out[2 * columns + j], 9.0);
        }
      }
    });
  }
}

/// Where tensor cores take f32 as three bf16 numbers: as the page says of numbers below 2^-110, and of large ones.
TEST_P(MatmulTest, keeps_its_error_near_the_ends_of_the_range_of_f32) {
  need_type<float>();
  constexpr std::int64_t rows = 132, inner = 516, columns = 68;
  for (const auto& [of_x, of_y] : {std::pair{0x1p-122, 1.0}, {0x1p-108, 0x1p-12}, {0x1p+127, 0x1p-24}}) {
    MatmulProblem<float> problem(ctx, {rows, inner}, {inner, columns});
    problem.x.fill([&](std::int64_t i) { return of_x * (static_cast<double>(i * 37 % 1009) / 1009.0 - 0.4); });
    problem.y.fill([&](std::int64_t i) { return of_y * (static_cast<double>(i * 53 % 997) / 997.0 - 0.6); });
    matmul(ctx, problem.x, problem.y, problem.out);
    problem.out.download();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0.0, magnitude = 0.0, absolute = 0.0;
        for (std::int64_t k = 0; k < inner; ++k) {
          const double a = problem.x[i * inner + k], b = problem.y[k * columns + j];
          sum += a * b;
          magnitude += std::abs(a * b);
          absolute += 0x1p-134 * (std::abs(a) + std::abs(b));
        }
        const double tolerance = 3.0 * inner * 0x1p-24 * magnitude + absolute + inner * 0x1p-149;
        ASSERT_NEAR(problem.out[i * columns + j], sum, tolerance) << of_x << ", " << i << ", " << j;
      }
    }
  }
}

TEST_P(MatmulTest, gives_the_same_bits_again_in_deterministic_mode) {
  const Context deterministic = Context(ctx).deterministic(true);
  for_each_type([&]<class T>() {
    for (const auto& [x, y, none] :
         {Shapes{{70, 3000}, {3000, 90}}, Shapes{{3, 70, 300}, {300, 50}}, Shapes{{9000}, {9000, 70}}}) {
      if (is_sanitized() && x[x.rank() - 1] > 1000) continue;
      MatmulProblem<T> first(ctx, x, y);
      first.run(deterministic);
      for (int run = 0; run < 3; ++run) {
        MatmulProblem<T> again(ctx, x, y);
        again.run(deterministic);
        again.expect_same_bits_as(first);
      }
    }
  });
}

TEST_P(MatmulTest, deterministic_bits_do_not_depend_on_the_number_of_threads) {
  // The host backends of a build have different numbers of threads.
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "a GPU's threads are what they are";
  const Context serial(enabled_backends().back());
  for_each_type([&]<class T>() {
    for (const auto& [x, y, none] :
         {Shapes{{130, 700}, {700, 90}}, Shapes{{4, 7, 900}, {4, 900, 5}}, Shapes{{70000}, {70000}}}) {
      MatmulProblem<T> here(ctx, x, y), there(serial, x, y);
      matmul(Context(ctx).deterministic(true), here.x, here.y, here.out);
      matmul(Context(serial).deterministic(true), there.x, there.y, there.out);
      here.out.download();
      there.out.download();
      for (std::int64_t i = 0; i < here.out.size(); ++i) {
        ASSERT_TRUE(same_bits(here.out.element(i), there.out.element(i))) << i;
      }
    }
  });
}

TEST_P(MatmulTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  for (const Context& context : contexts_of_products(ctx)) {
    std::size_t turn = 0;  // of the types, each of which takes every third shape
    for_each_type([&]<class T>() {
      std::size_t number = turn++;
      if (!has_products_of<T>(context)) return;
      for (const auto& [x, y, none] : shapes) {
        if (x.product() > 2000 || number++ % 3 != 0) continue;
        for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
          MatmulProblem<T> p(ctx, x, y, {}, layout, layout);
          LentMemory memory(ctx, matmul_workspace(context, p.x, p.y, p.out));
          LentMemory grad_memory(ctx, matmul_grad_workspace(context, p.x, p.y, p.out_grad, p.x_grad, p.y_grad));
          p.check(Context(context).workspace(memory.workspace()));
          p.check_grad(Context(context).workspace(grad_memory.workspace()));
          EXPECT_TRUE(memory.is_untouched_outside());
          EXPECT_TRUE(grad_memory.is_untouched_outside());
        }
      }
    });
  }
}

TEST_P(MatmulTest, copies_nothing_that_can_be_read_as_it_lies) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "cuBLAS wants a workspace";
  need_type<float>();
  for (const Layout layout : {Layout::contiguous, Layout::reversed, Layout::padded}) {
    for (const MatmulParams& params : transposes) {
      MatmulProblem<float> p(ctx, turned({4, 5}, params.transpose_x), turned({5, 6}, params.transpose_y), params,
                             layout, layout);
      EXPECT_EQ(matmul_workspace(ctx, p.x, p.y, p.out, params), 0u);
      EXPECT_EQ(matmul_grad_workspace(ctx, p.x, p.y, p.out_grad, p.x_grad, p.y_grad, params), 0u);
    }
  }
  // What is broadcast, and the gradient of a matrix that rows of a batch share.
  MatmulProblem<float> crossing(ctx, {2, 1, 4, 5}, {3, 5, 6}), rows(ctx, {3, 4, 5}, {5, 6});
  EXPECT_EQ(matmul_workspace(ctx, crossing.x, crossing.y, crossing.out), 0u);
  EXPECT_EQ(matmul_grad_workspace(ctx, rows.x, rows.y, rows.out_grad, rows.x_grad, rows.y_grad), 0u);
}

TEST_P(MatmulTest, a_call_by_name_computes_what_the_function_computes) {
  need_type<float>();
  MatmulProblem<float> p(ctx, {5, 4}, {3, 6, 5}, {true, true}), named(ctx, {5, 4}, {3, 6, 5}, {true, true});
  p.check_all(ctx);
  const auto arguments =
      Arguments().set("x", p.x.ref()).set("y", p.y.ref()).set("transpose_x", true).set("transpose_y", true);
  run("matmul", ctx, Arguments(arguments).set("out", named.out.ref()));
  run("matmul_grad", ctx,
      Arguments(arguments)
          .set("out_grad", p.out_grad.ref())
          .set("x_grad", named.x_grad.ref())
          .set("y_grad", named.y_grad.ref()));
  named.out.download();
  named.x_grad.download();
  named.y_grad.download();
  for (std::int64_t i = 0; i < p.out.size(); ++i) EXPECT_EQ(named.out[i], p.out[i]);
  for (std::int64_t i = 0; i < p.x_grad.size(); ++i) EXPECT_EQ(named.x_grad[i], p.x_grad[i]);
  for (std::int64_t i = 0; i < p.y_grad.size(); ++i) EXPECT_EQ(named.y_grad[i], p.y_grad[i]);
}

}  // namespace
}  // namespace portops::test
