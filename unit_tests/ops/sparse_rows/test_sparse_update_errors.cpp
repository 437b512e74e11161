// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"
#include "support/lent_memory.hpp"

#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

// Every wrong call of the steps by sparse gradients is refused with a message that names what was found and what was
// expected.

namespace portops::test {
namespace {

class SparseUpdateErrorTest : public OnEveryBackend {
 protected:
  SparseUpdateErrorTest() {
    count.fill([](std::int64_t) { return 3.0; });
  }

  void refused(const TensorRef& with_param, const TensorRef& with_rows, const TensorRef& with_values,
               const TensorRef& with_out, const std::string& message, const TensorRef& with_count = {}) {
    const auto call = [&] {
      sparse_sgd(ctx, with_param, with_rows, with_values, with_out, {.count = with_count, .learning_rate = 1.0});
    };
    expect_error(call, "portops::sparse_sgd: " + message);
  }

  TestTensor<std::int64_t> rows = index_tensor(ctx, {2, 0, 2}), count{ctx, {}};
  TestTensor<float> param{ctx, {5, 4}}, out{ctx, {5, 4}}, values{ctx, {3, 4}}, more{ctx, {5, 4}}, most{ctx, {5, 4}};
};
PORTOPS_ON_EVERY_BACKEND(SparseUpdateErrorTest);

TEST_P(SparseUpdateErrorTest, element_types) {
  TestTensor<double> doubles(ctx, {3, 4});
  TestTensor<std::int64_t> indices(ctx, {5, 4});
  refused(indices, rows, values, out, "param has element type i64, expected f64, f32, f16 or bf16");
  refused(param, values, values, out, "rows has element type f32, expected i64");
  refused(param, rows, doubles, out, "values has element type f64, expected f32 (the element type of param)");
  refused(param, rows, values, indices, "param_out has element type i64, expected f32 (the element type of param)");
  refused(param, rows, values, out, "count has element type f32, expected i64", values);
}

TEST_P(SparseUpdateErrorTest, extents) {
  TestTensor<std::int64_t> two(ctx, {2}), matrix(ctx, {3, 1});
  TestTensor<float> wide(ctx, {3, 5}), number(ctx, {}), tall(ctx, {6, 4});
  refused(param, matrix, values, out, "rows has extents [3, 1], expected rank 1");
  refused(number, rows, values, number, "param has extents [], expected rank 1 or more");
  refused(param, two, values, out, "values has extents [3, 4], expected [2, 4] (a row of param for each of rows)");
  refused(param, rows, wide, out, "values has extents [3, 5], expected [3, 4] (a row of param for each of rows)");
  refused(param, rows, values, tall, "param_out has extents [6, 4], expected [5, 4] (the extents of param)");
  refused(param, rows, values, out, "count has extents [2], expected []", two);
  expect_error([&] { sparse_momentum(ctx, param, rows, values, tall, out, more, {.learning_rate = 1.0}); },
               "portops::sparse_momentum: velocity has extents [6, 4], expected [5, 4] (the extents of param)");
}

TEST_P(SparseUpdateErrorTest, tensors_that_are_missing) {
  refused({}, rows, values, out, "param is empty, expected a tensor");
  refused(param, {}, values, out, "rows is empty, expected a tensor");
  refused(param, rows, values, {}, "param_out is empty, expected a tensor");
  expect_error([&] { sparse_adam(ctx, param, rows, values, more, {}, out, more, most, {.learning_rate = 1.0}); },
               "portops::sparse_adam: moment2 is empty, expected a tensor");
}

TEST_P(SparseUpdateErrorTest, overlaps) {
  const auto* const second = static_cast<float*>(param.ref().data()) + 4;
  const TensorRef inside(second, {3, 4}, param.ref().space());
  refused(param, rows, inside, param, "param_out overlaps values in memory, expected disjoint tensors");
  const TensorRef shifted(const_cast<float*>(second), {5, 4}, param.ref().space());
  refused(
      param, rows, values, shifted,
      "param_out overlaps param in memory, expected disjoint tensors or the same one (address, extents and strides)");
  expect_error([&] { sparse_momentum(ctx, param, rows, values, more, out, out, {.learning_rate = 1.0}); },
               "portops::sparse_momentum: param_out overlaps velocity_out in memory, expected disjoint tensors");
  expect_error([&] { sparse_momentum(ctx, param, rows, values, more, more, out, {.learning_rate = 1.0}); },
               "portops::sparse_momentum: param_out overlaps velocity in memory, expected disjoint tensors");
}

TEST_P(SparseUpdateErrorTest, too_short_a_workspace_before_anything_is_written) {
  param.fill([](std::int64_t i) { return static_cast<double>(i); });
  out.fill([](std::int64_t) { return 7.0; });
  LentMemory memory(ctx, 256);
  // A GPU needs none for few rows, or to add in any order.
  const Context deterministic = Context(ctx).deterministic(true);
  const Context lent = Context(deterministic).workspace(memory.workspace());
  const TestTensor<std::int64_t> many_rows = index_tensor(ctx, Places(20000, 2));
  const TestTensor<float> many_values(ctx, {20000, 4});
  const std::size_t bytes =
      sparse_sgd_workspace(deterministic, param, many_rows, many_values, out, {.learning_rate = 1.0});
  ASSERT_GT(bytes, 256u);
  expect_error([&] { sparse_sgd(lent, param, many_rows, many_values, out, {.learning_rate = 1.0}); },
               "portops::sparse_sgd::rows: the workspace has 256 bytes, expected at least " + std::to_string(bytes));
  out.download();
  for (std::int64_t i = 0; i < out.extents().product(); ++i) ASSERT_EQ(out[i], 7.0) << i;
}

TEST_P(SparseUpdateErrorTest, powers_of_adam) {
  const auto refused_powers = [&](double beta1_pow, double beta2_pow, const std::string& message) {
    expect_error(
        [&] {
          sparse_adam(ctx, param, rows, values, more, most, out, more, most,
                      {.learning_rate = 1.0, .beta1_pow = beta1_pow, .beta2_pow = beta2_pow});
        },
        "portops::sparse_adam: " + message);
  };
  refused_powers(1.0, 0.5, "beta1_pow is 1, expected at least 0 and less than 1");
  refused_powers(0.5, -0.5, "beta2_pow is -0.5, expected at least 0 and less than 1");
  refused_powers(std::nan(""), 0.5, "beta1_pow is nan, expected at least 0 and less than 1");
}

TEST_P(SparseUpdateErrorTest, rows_that_the_host_reads) {
  if (ctx.backend() == Backend::cuda) GTEST_SKIP() << "the host does not read them";
  refused(param, index_tensor(ctx, {0, 5, 1}), values, out,
          "rows[1] is 5, expected at least 0 and less than 5 (the height)");
  refused(param, index_tensor(ctx, {0, 2, 1}), values, out,
          "rows[2] is 1 after 2, expected ascending rows (count is given)", count);
  refused(param, index_tensor(ctx, {0, 2, 2}), values, out,
          "rows[2] is 2 after 2, expected ascending rows (count is given)", count);
}

}  // namespace
}  // namespace portops::test
