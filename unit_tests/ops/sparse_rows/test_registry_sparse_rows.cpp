// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/merge_rows.hpp>
#include <portops/ops/sparse_adam.hpp>
#include <portops/ops/sparse_momentum.hpp>
#include <portops/ops/sparse_sgd.hpp>

// Operators with indices among their tensors, called by name.

namespace portops::test {
namespace {

class RegistrySparseRows : public OnEveryBackend {
 protected:
  using Tensor = TestTensor<float>;

  RegistrySparseRows() {
    values.fill_randomly(1);
    param.fill_randomly(2);
    velocity.fill_randomly(3);
    moment.fill_randomly(4, 0.5, 1.0);
  }

  template <class T>
  static void expect_same(TestTensor<T>& found, TestTensor<T>& expected) {
    found.download();
    expected.download();
    for (std::int64_t i = 0; i < expected.extents().product(); ++i) {
      EXPECT_TRUE(same_bits(found.element(i), expected.element(i))) << i;
    }
  }

  Arguments update_arguments() {
    return Arguments().set("param", param.ref()).set("rows", rows.ref()).set("values", values.ref());
  }

  TestTensor<std::int64_t> rows = index_tensor(ctx, {3, 1, 3, 0, 1});
  Tensor values{ctx, {5, 4}}, param{ctx, {6, 4}}, velocity{ctx, {6, 4}}, moment{ctx, {6, 4}};
  Tensor out{ctx, {6, 4}}, other{ctx, {6, 4}}, third{ctx, {6, 4}};
  Tensor named{ctx, {6, 4}}, named_other{ctx, {6, 4}}, named_third{ctx, {6, 4}};
};
PORTOPS_ON_EVERY_BACKEND(RegistrySparseRows);

TEST_P(RegistrySparseRows, InfersIndicesAndNumbers) {
  const auto specs = infer("merge_rows", Arguments()
                                             .set("rows", TensorRef::without_data(ElementType::i64, {7}))
                                             .set("values", TensorRef::without_data(ElementType::bf16, {7, 2, 3}))
                                             .set("height", 9));
  EXPECT_EQ(specs.at("out_rows").type, ElementType::i64);
  EXPECT_EQ(specs.at("out_rows").extents, Extents{7});
  EXPECT_EQ(specs.at("out_values").type, ElementType::bf16);
  EXPECT_EQ(specs.at("out_values").extents, (Extents{7, 2, 3}));
  EXPECT_EQ(specs.at("count").type, ElementType::i64);
  EXPECT_EQ(specs.at("count").extents, Extents());
}

TEST_P(RegistrySparseRows, RefusesTensorsThatDoNotFit) {
  const auto given = [&](const TensorRef& its_rows) {
    return Arguments().set("rows", its_rows).set("values", values.ref()).set("height", 9);
  };
  expect_error([&] { infer("merge_rows", given(values)); },
               "portops::merge_rows: rows has element type f32, expected i64");
  expect_error([&] { infer("merge_rows", given(TensorRef::without_data(ElementType::i64, {4}))); },
               "portops::merge_rows: values has extents [5, 4], expected [4, ...] (a row for each of rows)");
  expect_error([&] { infer("merge_rows", given(rows).set("height", -2)); },
               "portops::merge_rows: height is -2, expected 0 or more");
  expect_error(
      [&] { infer("sparse_momentum", update_arguments().set("velocity", values.ref()).set("learning_rate", 1)); },
      "portops::sparse_momentum: velocity has extents [5, 4], expected [6, 4] (like(param))");
}

TEST_P(RegistrySparseRows, ComputesWhatTheFunctionsCompute) {
  TestTensor<std::int64_t> out_rows(ctx, {5}), count(ctx, {}), named_rows(ctx, {5}), named_count(ctx, {});
  Tensor merged(ctx, {5, 4}), named_merged(ctx, {5, 4});
  for (Tensor* tensor : {&merged, &named_merged}) tensor->fill([](std::int64_t) { return 5.0; });
  merge_rows(ctx, rows, values, out_rows, merged, count, {.height = 6});
  run("merge_rows", ctx,
      Arguments()
          .set("rows", rows.ref())
          .set("values", values.ref())
          .set("height", 6)
          .set("out_rows", named_rows.ref())
          .set("out_values", named_merged.ref())
          .set("count", named_count.ref()));
  expect_same(named_rows, out_rows);
  expect_same(named_merged, merged);
  expect_same(named_count, count);

  sparse_sgd(ctx, param, rows, values, out, {.learning_rate = 0.5});
  run("sparse_sgd", ctx, update_arguments().set("learning_rate", 0.5).set("param_out", named.ref()));
  expect_same(named, out);
  run("sparse_sgd", ctx,
      Arguments()
          .set("param", param.ref())
          .set("rows", out_rows.ref())
          .set("values", merged.ref())
          .set("count", count.ref())
          .set("learning_rate", 0.5)
          .set("param_out", named.ref()));
  expect_same(named, out);
}

TEST_P(RegistrySparseRows, ComputesWhatTheOptimizersCompute) {
  sparse_momentum(ctx, param, rows, values, velocity, out, other,
                  {.learning_rate = 0.5, .mu = 0.25, .use_nesterov = true});
  run("sparse_momentum", ctx,
      update_arguments()
          .set("velocity", velocity.ref())
          .set("learning_rate", 0.5)
          .set("mu", 0.25)
          .set("use_nesterov", true)
          .set("param_out", named.ref())
          .set("velocity_out", named_other.ref()));
  expect_same(named, out);
  expect_same(named_other, other);

  sparse_adam(ctx, param, rows, values, velocity, moment, out, other, third,
              {.learning_rate = 0.5, .beta1_pow = 0.81, .beta2_pow = 0.998, .epsilon = 1e-3});
  run("sparse_adam", ctx,
      update_arguments()
          .set("moment1", velocity.ref())
          .set("moment2", moment.ref())
          .set("learning_rate", 0.5)
          .set("beta1_pow", 0.81)
          .set("beta2_pow", 0.998)
          .set("epsilon", 1e-3)
          .set("param_out", named.ref())
          .set("moment1_out", named_other.ref())
          .set("moment2_out", named_third.ref()));
  expect_same(named, out);
  expect_same(named_other, other);
  expect_same(named_third, third);
}

}  // namespace
}  // namespace portops::test
