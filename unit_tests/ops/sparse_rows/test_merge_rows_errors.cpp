// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"

#include <portops/ops/merge_rows.hpp>

// Every wrong call of merge_rows and merged_count is refused with a message that names what was found and what was
// expected.

namespace portops::test {
namespace {

class MergeRowsErrorTest : public OnEveryBackend {
 protected:
  MergeRowsErrorTest() {
    for (TestTensor<std::int64_t>* tensor : {&rows, &out_rows, &count}) tensor->fill([](std::int64_t) { return 1.0; });
  }

  void refused(const TensorRef& with_rows, const TensorRef& with_values, const TensorRef& with_out_rows,
               const TensorRef& with_out_values, const TensorRef& with_count, const std::string& message,
               std::int64_t height = 9) {
    const auto call = [&] {
      merge_rows(ctx, with_rows, with_values, with_out_rows, with_out_values, with_count, {.height = height});
    };
    expect_error(call, "portops::merge_rows: " + message);
  }

  TestTensor<std::int64_t> rows{ctx, {4}}, out_rows{ctx, {4}}, count{ctx, {}};
  TestTensor<float> values{ctx, {4, 3}}, out_values{ctx, {4, 3}};
};
PORTOPS_ON_EVERY_BACKEND(MergeRowsErrorTest);

TEST_P(MergeRowsErrorTest, element_types) {
  TestTensor<float> floats(ctx, {4});
  TestTensor<double> doubles(ctx, {4, 3});
  TestTensor<std::int64_t> indices(ctx, {4, 3});
  refused(floats, values, out_rows, out_values, count, "rows has element type f32, expected i64");
  refused(rows, indices, out_rows, out_values, count, "values has element type i64, expected f64, f32, f16 or bf16");
  refused(rows, values, floats, out_values, count, "out_rows has element type f32, expected i64");
  refused(rows, values, out_rows, doubles, count,
          "out_values has element type f64, expected f32 (the element type of values)");
  refused(rows, values, out_rows, out_values, floats, "count has element type f32, expected i64");
}

TEST_P(MergeRowsErrorTest, extents) {
  TestTensor<std::int64_t> matrix(ctx, {4, 1}), three(ctx, {3});
  TestTensor<float> few(ctx, {3, 3}), number(ctx, {});
  refused(matrix, values, out_rows, out_values, count, "rows has extents [4, 1], expected rank 1");
  refused(rows, few, out_rows, out_values, count,
          "values has extents [3, 3], expected [4, ...] (a row for each of rows)");
  refused(rows, number, out_rows, out_values, count,
          "values has extents [], expected [4, ...] (a row for each of rows)");
  refused(rows, values, three, out_values, count, "out_rows has extents [3], expected [4] (the extents of rows)");
  refused(rows, values, out_rows, few, count, "out_values has extents [3, 3], expected [4, 3] (the extents of values)");
  refused(rows, values, out_rows, out_values, three, "count has extents [3], expected [] (one number)");
  refused(rows, values, out_rows, out_values, count, "height is -1, expected 0 or more", -1);
}

TEST_P(MergeRowsErrorTest, tensors_that_are_missing_or_cannot_be_used) {
  refused({}, values, out_rows, out_values, count, "rows is empty, expected a tensor");
  refused(rows, values, out_rows, out_values, {}, "count is empty, expected a tensor");
  refused(TensorRef::without_data(ElementType::i64, {4}), values, out_rows, out_values, count,
          "rows has no data, but its elements are needed");
  const TensorRef spread(rows.ref().data(), ElementType::i64, {4}, {0}, rows.ref().space());
  refused(rows, values, spread, out_values, count,
          "out_rows is an output, but with extents [4] and strides [0] some of its elements share an address");
  const TensorRef constant(count.ref().data(), ElementType::i64, {}, {}, count.ref().space(), true);
  refused(rows, values, out_rows, out_values, constant, "count is an output, but its elements are const");
}

TEST_P(MergeRowsErrorTest, overlaps) {
  refused(rows, values, rows, out_values, count, "out_rows overlaps rows in memory, expected disjoint tensors");
  refused(rows, values, out_rows, values, count, "out_values overlaps values in memory, expected disjoint tensors");
  const TensorRef inside(static_cast<std::int64_t*>(out_rows.ref().data()) + 2, Extents{}, out_rows.ref().space());
  refused(rows, values, out_rows, out_values, inside, "out_rows overlaps count in memory, expected disjoint tensors");
}

TEST_P(MergeRowsErrorTest, counts_that_merge_rows_did_not_write) {
  const std::string message = "portops::merged_count: expected a tensor of i64 of extents [], as merge_rows writes it";
  expect_error([&] { merged_count(ctx, {}); }, message);
  expect_error([&] { merged_count(ctx, rows); }, message);
  TestTensor<double> number(ctx, {});
  expect_error([&] { merged_count(ctx, number); }, message);
}

}  // namespace
}  // namespace portops::test
