// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/ops/concat.hpp>
#include <portops/ops/split.hpp>

#include <array>

// Every wrong call of concat, split and their gradients is refused with a message that names what was found and what
// was expected.

namespace portops::test {
namespace {

class ConcatErrorTest : public OnEveryBackend {
 protected:
  using List = std::vector<TensorRef>;

  TestTensor<float> a{ctx, {2, 3}}, b{ctx, {2, 4}}, out{ctx, {2, 7}};
  TestTensor<float> a_grad{ctx, {2, 3}}, b_grad{ctx, {2, 4}};

  TensorRef slice(const TestTensor<float>& of, std::int64_t first, const Extents& extents) const {
    return {static_cast<float*>(of.ref().data()) + first, extents, of.ref().strides(), of.ref().space()};
  }
};

PORTOPS_ON_EVERY_BACKEND(ConcatErrorTest);

TEST_P(ConcatErrorTest, empty_list) {
  expect_error([&] { concat(ctx, {}, out); }, "portops::concat: x is an empty list, expected one tensor or more");
  expect_error([&] { concat_grad(ctx, {}, out, {}); },
               "portops::concat_grad: x is an empty list, expected one tensor or more");
  expect_error([&] { split_grad(ctx, {}, out, {.sections = {7}}); },
               "portops::split_grad: out_grad is an empty list, expected one tensor or more");
}

TEST_P(ConcatErrorTest, missing_tensors) {
  expect_error([&] { concat(ctx, List{{}, b}, out, {.axis = 1}); },
               "portops::concat: x[0] is empty, expected a tensor");
  expect_error([&] { concat(ctx, List{a, {}}, out, {.axis = 1}); },
               "portops::concat: x[1] is empty, expected a tensor");
  expect_error([&] { concat(ctx, List{a, b}, {}, {.axis = 1}); }, "portops::concat: out is empty, expected a tensor");
  expect_error([&] { concat_grad(ctx, List{a, b}, {}, List{a_grad, b_grad}, {.axis = 1}); },
               "portops::concat_grad: out_grad is empty, expected a tensor");
  expect_error([&] { split(ctx, {}, List{a, b}, {.sections = {3, 4}, .axis = 1}); },
               "portops::split: x is empty, expected a tensor");
  expect_error([&] { split(ctx, out, List{a, {}}, {.sections = {3, 4}, .axis = 1}); },
               "portops::split: out[1] is empty, expected a tensor");
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {2, 4});
  expect_error([&] { concat(ctx, List{a, shape}, out, {.axis = 1}); },
               "portops::concat: x[1] has no data, but its elements are needed");
}

TEST_P(ConcatErrorTest, axis_out_of_range) {
  expect_error([&] { concat(ctx, List{a, b}, out, {.axis = 2}); },
               "portops::concat: axis is 2, expected -2 to 1 (x[0] has rank 2)");
  expect_error([&] { concat_grad(ctx, List{a, b}, out, {}, {.axis = -3}); },
               "portops::concat_grad: axis is -3, expected -2 to 1 (x[0] has rank 2)");
  expect_error([&] { split(ctx, out, List{a, b}, {.sections = {3, 4}, .axis = 2}); },
               "portops::split: axis is 2, expected -2 to 1 (x has rank 2)");
  const TestTensor<float> scalar(ctx, {});
  expect_error([&] { concat(ctx, List{scalar}, out); }, "portops::concat: x[0] has rank 0, expected one axis or more");
  expect_error([&] { split(ctx, scalar, List{a}, {.sections = {1}}); },
               "portops::split: x has rank 0, expected one axis or more");
}

TEST_P(ConcatErrorTest, extents_that_do_not_fit) {
  const TestTensor<float> other(ctx, {3, 4}), flat(ctx, {0}), high(ctx, {2, 3, 1});
  expect_error([&] { concat(ctx, List{a, b, other}, out, {.axis = 1}); },
               "portops::concat: x[2] has extents [3, 4], expected [2, any] (those of x[0] but for axis 1)");
  expect_error([&] { concat(ctx, List{high, a}, out, {.axis = -3}); },
               "portops::concat: x[1] has extents [2, 3], expected [any, 3, 1] (those of x[0] but for axis 0)");
  // What PyTorch passes over.
  expect_error([&] { concat(ctx, List{a, flat}, out, {.axis = 1}); },
               "portops::concat: x[1] has extents [0], expected [2, any] (those of x[0] but for axis 1)");
  expect_error([&] { concat(ctx, List{a, b, b}, out, {.axis = 1}); },
               "portops::concat: out has extents [2, 7], expected [2, 11] (those of x, one behind the other)");
  expect_error(
      [&] { concat_grad(ctx, List{a, b, b}, out, {}, {.axis = 1}); },
      "portops::concat_grad: out_grad has extents [2, 7], expected [2, 11] (those of x, one behind the other)");
  expect_error([&] { concat_grad(ctx, List{a, b}, out, List{a_grad, a}, {.axis = 1}); },
               "portops::concat_grad: x_grad[1] has extents [2, 3], expected [2, 4] (the extents of x[1])");
  expect_error([&] { concat_grad(ctx, List{a, b}, out, List{a_grad}, {.axis = 1}); },
               "portops::concat_grad: x_grad has 1 tensors, expected 2 (one for each of x)");
}

TEST_P(ConcatErrorTest, sections_that_do_not_fit) {
  const auto call = [&](const std::vector<std::int64_t>& sections) {
    split(ctx, out, List{a, b}, {.sections = sections, .axis = 1});
  };
  expect_error([&] { call({}); }, "portops::split: sections is empty, expected one length or more");
  expect_error([&] { call({3, 5}); },
               "portops::split: sections add up to 8, expected 7 (the extent of x along axis 1)");
  expect_error([&] { call({8, -1}); },
               "portops::split: sections add up to 8, expected at most (besides -1) 7 (the extent of x along axis 1)");
  expect_error([&] { call({-1, -1}); }, "portops::split: sections has -1 twice, expected at most once");
  expect_error([&] { call({9, -2}); }, "portops::split: sections[1] is -2, expected a length or -1");
  expect_error([&] { call({3, 3, 1}); }, "portops::split: out has 2 tensors, expected 3 (one for each of sections)");
  expect_error([&] { call({4, 3}); },
               "portops::split: out[0] has extents [2, 3], expected [2, 4] (what sections gives out[0])");
  expect_error([&] { call({INT64_MAX, INT64_MAX}); }, "portops::split: sections add up to more than 64 bits can count");
  expect_error([&] { split_grad(ctx, List{a, b}, out, {.sections = {4, 3}, .axis = 1}); },
               "portops::split_grad: out_grad[0] has extents [2, 3], expected [2, 4] (sections[0])");
  expect_error([&] { split_grad(ctx, List{a, b}, out, {.sections = {7}, .axis = 1}); },
               "portops::split_grad: out_grad has 2 tensors, expected 1 (one for each of sections)");
  const TestTensor<float> other(ctx, {2, 8});
  expect_error([&] { split_grad(ctx, List{a, b}, other, {.sections = {3, 4}, .axis = 1}); },
               "portops::split_grad: x_grad has extents [2, 8], expected [2, 7] (those of out_grad, one behind the "
               "other)");
}

TEST_P(ConcatErrorTest, mixed_element_types) {
  const TestTensor<double> wide(ctx, {2, 4});
  const TestTensor<double> wide_out(ctx, {2, 7});
  expect_error([&] { concat(ctx, List{a, wide}, out, {.axis = 1}); },
               "portops::concat: x[1] has element type f64, expected f32 (the element type of x[0])");
  expect_error([&] { concat(ctx, List{a, b}, wide_out, {.axis = 1}); },
               "portops::concat: out has element type f64, expected f32 (the element type of x[0])");
  expect_error([&] { concat_grad(ctx, List{a, wide}, out, {}, {.axis = 1}); },
               "portops::concat_grad: x[1] has element type f64, expected f32 (the element type of out_grad)");
  expect_error([&] { split(ctx, out, List{a, wide}, {.sections = {3, 4}, .axis = 1}); },
               "portops::split: out[1] has element type f64, expected f32 (the element type of x)");
}

TEST_P(ConcatErrorTest, memory_that_the_backend_cannot_reach) {
  float elements[8] = {};
  const bool on_device = ctx.backend() == Backend::cuda;
  const TensorRef elsewhere(elements, {2, 4}, on_device ? MemorySpace::host : MemorySpace::cuda);
  const std::string reason = " lies in " + std::string(name_of(elsewhere.space())) +
                             " memory, which the context's backend " + std::string(name_of(ctx.backend())) +
                             " cannot reach";
  expect_error([&] { concat(ctx, List{a, elsewhere}, out, {.axis = 1}); }, "portops::concat: x[1]" + reason);
  expect_error([&] { split(ctx, out, List{a, elsewhere}, {.sections = {3, 4}, .axis = 1}); },
               "portops::split: out[1]" + reason);
}

TEST_P(ConcatErrorTest, outputs_that_cannot_be_written) {
  const TensorRef constant(static_cast<const float*>(b.ref().data()), {2, 4}, b.ref().space());
  const TensorRef broadcast(b.ref().data(), ElementType::f32, {2, 4}, {0, 1}, b.ref().space());
  const TensorRef misaligned(static_cast<char*>(b.ref().data()) + 2, ElementType::f32, {2, 4}, {4, 1}, b.ref().space());
  const auto call = [&](const TensorRef& second) { split(ctx, out, List{a, second}, {.sections = {3, 4}, .axis = 1}); };
  expect_error([&] { call(constant); }, "portops::split: out[1] is an output, but its elements are const");
  expect_error([&] { call(broadcast); },
               "portops::split: out[1] is an output, but with extents [2, 4] and strides [0, 1] some of its elements "
               "share an address");
  expect_error([&] { call(misaligned); },
               "portops::split: the address of out[1] is not a multiple of its element size, 4");
}

TEST_P(ConcatErrorTest, overlapping_tensors) {
  const TensorRef inside = slice(out, 3, {2, 4});
  expect_error([&] { concat(ctx, List{a, inside}, out, {.axis = 1}); },
               "portops::concat: out overlaps x[1] in memory, expected disjoint tensors");
  expect_error([&] { split(ctx, out, List{a, inside}, {.sections = {3, 4}, .axis = 1}); },
               "portops::split: out[1] overlaps x in memory, expected disjoint tensors");
  expect_error([&] { concat_grad(ctx, List{a, b}, out, List{{}, inside}, {.axis = 1}); },
               "portops::concat_grad: x_grad[1] overlaps out_grad in memory, expected disjoint tensors");
  const TestTensor<float> two(ctx, {2, 6});
  expect_error([&] { split(ctx, two, List{a, a_grad, a}, {.sections = {3, 3, 0}, .axis = 1}); },
               "portops::split: out[2] has extents [2, 3], expected [2, 0] (what sections gives out[2])");
  expect_error([&] { split(ctx, two, List{a, a}, {.sections = {3, 3}, .axis = 1}); },
               "portops::split: out[0] overlaps out[1] in memory, expected disjoint tensors");
}

/// The elements of x are not read, but a gradient may lie in their memory only where the call is not told of it.
TEST_P(ConcatErrorTest, gradients_in_the_memory_of_inputs) {
  const auto refused = [&](const List& x, const List& x_grad, const std::string& overlap) {
    expect_error([&] { concat_grad(ctx, x, out, x_grad, {.axis = 1}); },
                 "portops::concat_grad: " + overlap + " in memory, expected disjoint tensors");
  };
  const TestTensor<float> whole(ctx, {2, 7}), apart(ctx, {2, 40});
  refused({a, b}, {a, {}}, "x_grad[0] overlaps x[0]");
  refused({a, b}, {{}, b}, "x_grad[1] overlaps x[1]");
  const TensorRef first = slice(whole, 0, {2, 3}), second = slice(whole, 3, {2, 4});
  refused({first, second}, {slice(whole, 2, {2, 3}), {}}, "x_grad[0] overlaps x[0]");
  refused({slice(apart, 0, {2, 3}), slice(apart, 10, {2, 4})}, {slice(apart, 20, {2, 3}), slice(apart, 12, {2, 4})},
          "x_grad[1] overlaps x[1]");
  refused({first, slice(apart, 10, {2, 4})}, {slice(apart, 8, {2, 3}), {}}, "x_grad[0] overlaps x[1]");

  const auto right = [&](const List& x, const List& x_grad) {
    EXPECT_NO_THROW(concat_grad(ctx, x, out, x_grad, {.axis = 1}));
    ctx.fence();
  };
  const auto shape = [](const TensorRef& tensor) { return TensorRef::without_data(tensor.type(), tensor.extents()); };
  right({shape(a), shape(b)}, {a, b});
  // Columns of one matrix, whose ranges of bytes meet; the inputs themselves may overlap.
  right({slice(apart, 0, {2, 3}), slice(apart, 10, {2, 4})}, {slice(apart, 20, {2, 3}), slice(apart, 14, {2, 4})});
  right({slice(apart, 0, {2, 3}), slice(apart, 1, {2, 4})}, {slice(apart, 20, {2, 3}), slice(apart, 14, {2, 4})});
}

TEST_P(ConcatErrorTest, the_same_input_twice_is_right) {
  TestTensor<float> twice(ctx, {2, 6});
  EXPECT_NO_THROW(concat(ctx, List{a, a}, twice, {.axis = 1}));
  ctx.fence();
}

/// Outputs that are columns of one matrix: their ranges of bytes all meet, but no two share one.
TEST_P(ConcatErrorTest, interleaved_outputs_do_not_overlap) {
  const TestTensor<float> matrix(ctx, {5, 40}), x(ctx, {5, 40});
  List columns;
  for (std::int64_t i = 0; i < 20; ++i) columns.push_back(slice(matrix, 2 * ((i * 7) % 20), {5, 2}));
  const SplitParams params{.sections = std::vector<std::int64_t>(20, 2), .axis = 1};
  EXPECT_NO_THROW(split(ctx, x, columns, params));
  ctx.fence();
  columns[3] = slice(matrix, 2 * ((5 * 7) % 20) + 1, {5, 2});
  expect_error([&] { split(ctx, x, columns, params); },
               "portops::split: out[3] overlaps out[5] in memory, expected disjoint tensors");
  // Across the end of a row: element 39 of row r, and element 0 of row r + 1.
  List wrapped{slice(matrix, 39, {4, 2}), slice(matrix, 0, {4, 2})};
  const TestTensor<float> small(ctx, {4, 4});
  expect_error([&] { split(ctx, small, wrapped, {.sections = {2, 2}, .axis = 1}); },
               "portops::split: out[0] overlaps out[1] in memory, expected disjoint tensors");
  // Rows that step differently are looked at pair by pair.
  List mixed{slice(matrix, 0, {5, 2}), {}};
  const TestTensor<float> tall(ctx, {7, 2});
  mixed[1] =
      TensorRef(static_cast<float*>(matrix.ref().data()) + 4, ElementType::f32, {2, 2}, {80, 1}, matrix.ref().space());
  EXPECT_NO_THROW(split(ctx, tall, mixed, {.sections = {5, 2}}));
  ctx.fence();
}

}  // namespace
}  // namespace portops::test
