// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/ops/p_norm.hpp>

#include <limits>

// Every wrong call is refused with a message that names what was found and what was expected.

namespace portops::test {
namespace {

class PNormErrorTest : public OnEveryBackend {
 protected:
  TestTensor<float> x{ctx, {3, 4}}, rows{ctx, {3}}, columns{ctx, {4}};
  TestTensor<float> rows_grad{ctx, {3}}, columns_grad{ctx, {4}}, x_grad{ctx, {3, 4}};
  TestTensor<float> cube{ctx, {2, 3, 4}}, cube_grad{ctx, {2, 3, 4}}, number{ctx, {}};
};

PORTOPS_ON_EVERY_BACKEND(PNormErrorTest);

TEST_P(PNormErrorTest, axes_out_of_range) {
  expect_error([&] { p_norm(ctx, x, rows, {.axis = {3}}); },
               "portops::p_norm: axis is 3, expected -2 to 1 (x has rank 2)");
  expect_error([&] { p_norm(ctx, x, rows, {.axis = {1, -3}}); },
               "portops::p_norm: axis is -3, expected -2 to 1 (x has rank 2)");
  expect_error([&] { p_norm(ctx, number, rows, {.axis = {1}}); },
               "portops::p_norm: axis is 1, expected -1 to 0 (x has rank 0)");
  expect_error([&] { p_norm_grad(ctx, cube, rows, rows_grad, cube_grad, {.axis = {3}}); },
               "portops::p_norm_grad: axis is 3, expected -3 to 2 (x has rank 3)");
}

TEST_P(PNormErrorTest, axes_named_twice) {
  expect_error([&] { p_norm(ctx, x, rows, {.axis = {1, 1}}); },
               "portops::p_norm: axis names axis 1 twice, expected each once");
  expect_error([&] { p_norm(ctx, x, rows, {.axis = {1, -1}}); },
               "portops::p_norm: axis names axis 1 twice, expected each once");
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, x_grad, {.axis = {-2, 0}}); },
               "portops::p_norm_grad: axis names axis 0 twice, expected each once");
}

TEST_P(PNormErrorTest, no_axis) {
  expect_error([&] { p_norm(ctx, x, rows, {.axis = {}}); },
               "portops::p_norm: axis is empty, expected one axis or more, or asvector");
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, x_grad, {.axis = {}}); },
               "portops::p_norm_grad: axis is empty, expected one axis or more, or asvector");
}

TEST_P(PNormErrorTest, order_that_is_no_number) {
  const PNormParams params{.porder = std::numeric_limits<double>::quiet_NaN()};
  expect_error([&] { p_norm(ctx, x, rows, params); }, "portops::p_norm: porder is nan, expected a number");
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, x_grad, params); },
               "portops::p_norm_grad: porder is nan, expected a number");
}

TEST_P(PNormErrorTest, epsilon_that_is_negative_or_not_finite) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [epsilon, written] : {std::pair(-1.0, "-1"), std::pair(inf, "inf"), std::pair(nan, "nan")}) {
    const PNormParams params{.epsilon = epsilon};
    const std::string expected =
        ": epsilon is " + std::string(written) + ", expected a finite number that is not negative";
    expect_error([&] { p_norm(ctx, x, rows, params); }, "portops::p_norm" + expected);
    expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, x_grad, params); }, "portops::p_norm_grad" + expected);
  }
}

TEST_P(PNormErrorTest, norms_of_other_extents) {
  expect_error([&] { p_norm(ctx, x, x_grad); },
               "portops::p_norm: out has extents [3, 4], expected [3] (the extents of x without axis 1)");
  expect_error([&] { p_norm(ctx, x, columns, {.axis = {-1}}); },
               "portops::p_norm: out has extents [4], expected [3] (the extents of x without axis 1)");
  expect_error([&] { p_norm(ctx, x, rows, {.keepdim = true}); },
               "portops::p_norm: out has extents [3], expected [3, 1] (the extents of x with 1 for axis 1)");
  expect_error([&] { p_norm(ctx, cube, columns, {.axis = {-1, 0}}); },
               "portops::p_norm: out has extents [4], expected [3] (the extents of x without axes 0, 2)");
  expect_error([&] { p_norm(ctx, cube, rows, {.axis = {0, 2}, .keepdim = true}); },
               "portops::p_norm: out has extents [3], expected [1, 3, 1] (the extents of x with 1 for axes 0, 2)");
  expect_error([&] { p_norm(ctx, cube, rows, {.asvector = true}); },
               "portops::p_norm: out has extents [3], expected [] (the extents of x without axes 0, 1, 2)");
  expect_error([&] { p_norm(ctx, rows, columns, {.asvector = true}); },
               "portops::p_norm: out has extents [4], expected [] (the extents of x without axis 0)");
}

TEST_P(PNormErrorTest, arguments_of_the_gradient_of_other_extents) {
  expect_error([&] { p_norm_grad(ctx, x, columns, rows_grad, x_grad); },
               "portops::p_norm_grad: out has extents [4], expected [3] (the extents of x without axis 1)");
  expect_error([&] { p_norm_grad(ctx, x, rows, columns_grad, x_grad); },
               "portops::p_norm_grad: out_grad has extents [4], expected [3] (the extents of x without axis 1)");
  expect_error([&] { p_norm_grad(ctx, cube, rows, columns_grad, cube_grad, {.axis = {0, 2}}); },
               "portops::p_norm_grad: out_grad has extents [4], expected [3] (the extents of x without axes 0, 2)");
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, x_grad, {.keepdim = true}); },
               "portops::p_norm_grad: out has extents [3], expected [3, 1] (the extents of x with 1 for axis 1)");
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, cube_grad); },
               "portops::p_norm_grad: x_grad has extents [2, 3, 4], expected [3, 4] (the extents of x)");
  for (const double p : {0.0, 1.0}) {
    const TensorRef shape = TensorRef::without_data(ElementType::f32, {4});
    expect_error([&] { p_norm_grad(ctx, x, shape, rows_grad, x_grad, {.porder = p}); },
                 "portops::p_norm_grad: out has extents [4], expected [3] (the extents of x without axis 1)");
  }
}

TEST_P(PNormErrorTest, mixed_element_types) {
  TestTensor<double> wide(ctx, {3});
  TestTensor<bf16> narrow(ctx, {3}), narrow_grad(ctx, {3, 4});
  expect_error([&] { p_norm(ctx, x, wide); },
               "portops::p_norm: out has element type f64, expected f32 (the element type of x)");
  expect_error([&] { p_norm_grad(ctx, x, wide, rows_grad, x_grad); },
               "portops::p_norm_grad: out has element type f64, expected f32 (the element type of x)");
  expect_error([&] { p_norm_grad(ctx, x, rows, narrow, x_grad); },
               "portops::p_norm_grad: out_grad has element type bf16, expected f32 (the element type of x)");
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, narrow_grad); },
               "portops::p_norm_grad: x_grad has element type bf16, expected f32 (the element type of x)");
}

TEST_P(PNormErrorTest, memory_that_the_backend_cannot_reach) {
  float elements[12] = {};
  const MemorySpace space = ctx.backend() == Backend::cuda ? MemorySpace::host : MemorySpace::cuda;
  const TensorRef far_x(elements, {3, 4}, space), far_rows(elements, {3}, space);
  const std::string lies = " lies in " + std::string(name_of(space)) + " memory, which the context's backend " +
                           std::string(name_of(ctx.backend())) + " cannot reach";
  expect_error([&] { p_norm(ctx, far_x, rows); }, "portops::p_norm: x" + lies);
  expect_error([&] { p_norm(ctx, x, far_rows); }, "portops::p_norm: out" + lies);
  expect_error([&] { p_norm_grad(ctx, far_x, rows, rows_grad, x_grad); }, "portops::p_norm_grad: x" + lies);
  expect_error([&] { p_norm_grad(ctx, x, far_rows, rows_grad, x_grad); }, "portops::p_norm_grad: out" + lies);
  expect_error([&] { p_norm_grad(ctx, x, rows, far_rows, x_grad); }, "portops::p_norm_grad: out_grad" + lies);
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, far_x); }, "portops::p_norm_grad: x_grad" + lies);
}

TEST_P(PNormErrorTest, overlapping_outputs) {
  const auto part = [](const TestTensor<float>& tensor, std::int64_t first, std::int64_t size = 3) {
    return TensorRef(static_cast<float*>(tensor.ref().data()) + first, {size}, tensor.ref().space());
  };
  expect_error([&] { p_norm(ctx, x, part(x, 2)); },
               "portops::p_norm: out overlaps x in memory, expected disjoint tensors");
  TestTensor<float> column(ctx, {3, 1});
  expect_error([&] { p_norm(ctx, column, column, {.keepdim = true}); },
               "portops::p_norm: out overlaps x in memory, expected disjoint tensors");
  const TensorRef shifted(static_cast<float*>(x.ref().data()) + 1, {2, 4}, x.ref().space());
  const TensorRef first_rows(x.ref().data(), ElementType::f32, {2, 4}, {4, 1}, x.ref().space());
  expect_error([&] { p_norm_grad(ctx, first_rows, part(rows, 0, 2), part(rows_grad, 0, 2), shifted); },
               "portops::p_norm_grad: x_grad overlaps x in memory, expected disjoint tensors or the same one (address, "
               "extents and strides)");
  expect_error([&] { p_norm_grad(ctx, x, part(x_grad, 9), rows_grad, x_grad); },
               "portops::p_norm_grad: x_grad overlaps out in memory, expected disjoint tensors");
  expect_error([&] { p_norm_grad(ctx, x, rows, part(x_grad, 0), x_grad); },
               "portops::p_norm_grad: x_grad overlaps out_grad in memory, expected disjoint tensors");
}

TEST_P(PNormErrorTest, interleaved_and_shared_inputs_do_not_overlap) {
  TestTensor<float> storage(ctx, {3, 8});
  auto* data = static_cast<float*>(storage.ref().data());
  const TensorRef left(data, {3, 4}, {8, 1}, storage.ref().space());
  const TensorRef right(data + 4, {3, 4}, {8, 1}, storage.ref().space());
  const TensorRef column(data + 4, {3}, {8}, storage.ref().space());
  EXPECT_NO_THROW(p_norm(ctx, left, column));
  EXPECT_NO_THROW(p_norm_grad(ctx, left, rows, rows_grad, right));
  EXPECT_NO_THROW(p_norm_grad(ctx, x, rows, rows, x_grad)) << "inputs may overlap";
  ctx.fence();
}

TEST_P(PNormErrorTest, broadcast_and_const_outputs) {
  const TensorRef one(static_cast<float*>(rows.ref().data()), {3}, {0}, rows.ref().space());
  expect_error([&] { p_norm(ctx, x, one); },
               "portops::p_norm: out is an output, but with extents [3] and strides [0] some of its elements share an "
               "address");
  const TensorRef same_rows(static_cast<float*>(x_grad.ref().data()), {3, 4}, {0, 1}, x_grad.ref().space());
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, same_rows); },
               "portops::p_norm_grad: x_grad is an output, but with extents [3, 4] and strides [0, 1] some of its "
               "elements share an address");
  const TensorRef const_rows(static_cast<const float*>(rows.ref().data()), {3}, rows.ref().space());
  expect_error([&] { p_norm(ctx, x, const_rows); }, "portops::p_norm: out is an output, but its elements are const");
  const TensorRef const_x(static_cast<const float*>(x_grad.ref().data()), {3, 4}, x_grad.ref().space());
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_grad, const_x); },
               "portops::p_norm_grad: x_grad is an output, but its elements are const");
  EXPECT_NO_THROW(p_norm(ctx, const_x, rows)) << "an input may be const";
  ctx.fence();
}

TEST_P(PNormErrorTest, missing_tensors) {
  expect_error([&] { p_norm(ctx, {}, rows); }, "portops::p_norm: x is empty, expected a tensor");
  expect_error([&] { p_norm(ctx, x, {}); }, "portops::p_norm: out is empty, expected a tensor");
  expect_error([&] { p_norm_grad(ctx, {}, rows, rows_grad, x_grad); },
               "portops::p_norm_grad: x is empty, expected a tensor");
  expect_error([&] { p_norm_grad(ctx, x, {}, rows_grad, x_grad); },
               "portops::p_norm_grad: out is empty, expected a tensor");
  expect_error([&] { p_norm_grad(ctx, x, rows, {}, x_grad); },
               "portops::p_norm_grad: out_grad is empty, expected a tensor");
}

TEST_P(PNormErrorTest, tensors_without_data) {
  const TensorRef x_shape = TensorRef::without_data(ElementType::f32, {3, 4});
  const TensorRef rows_shape = TensorRef::without_data(ElementType::f32, {3});
  expect_error([&] { p_norm(ctx, x_shape, rows); }, "portops::p_norm: x has no data, but its elements are needed");
  expect_error([&] { p_norm(ctx, x, rows_shape); }, "portops::p_norm: out has no data, but its elements are needed");
  for (const double p : {2.0, 2.3, -1.0, std::numeric_limits<double>::infinity()}) {
    expect_error([&] { p_norm_grad(ctx, x, rows_shape, rows_grad, x_grad, {.porder = p}); },
                 "portops::p_norm_grad: out has no data, but its elements are needed");
  }
  expect_error([&] { p_norm_grad(ctx, x, rows, rows_shape, x_grad); },
               "portops::p_norm_grad: out_grad has no data, but its elements are needed");
}

TEST_P(PNormErrorTest, misaligned_address) {
  const TensorRef misaligned(static_cast<char*>(x.ref().data()) + 2, ElementType::f32, {2}, {1}, x.ref().space());
  expect_error([&] { p_norm(ctx, misaligned, number); },
               "portops::p_norm: the address of x is not a multiple of its element size, 4");
}

TEST_P(PNormErrorTest, sizes_of_workspaces_are_asked_for_with_all_checks) {
  EXPECT_THROW(p_norm_workspace(ctx, x, columns), Error);
  EXPECT_THROW(p_norm_workspace(ctx, x, rows, {.epsilon = -1.0}), Error);
  EXPECT_THROW(p_norm_grad_workspace(ctx, x, rows, columns_grad, x_grad), Error);
  EXPECT_THROW(p_norm_grad_workspace(ctx, x, rows, rows_grad, rows), Error);
}

TEST_P(PNormErrorTest, a_refused_call_changes_nothing) {
  for (TestTensor<float>* output : {&rows, &columns, &x_grad}) output->fill([](std::int64_t) { return 7.0; });
  EXPECT_THROW(p_norm(ctx, x, columns), Error);
  EXPECT_THROW(p_norm(ctx, x, rows, {.axis = {1, 1}}), Error);
  EXPECT_THROW(p_norm(ctx, x, rows, {.epsilon = -1.0}), Error);
  EXPECT_THROW(p_norm_grad(ctx, x, rows, columns_grad, x_grad), Error);
  EXPECT_THROW(p_norm_grad(ctx, x, x_grad, rows_grad, x_grad), Error);
  for (TestTensor<float>* output : {&rows, &columns, &x_grad}) {
    output->download();
    for (std::int64_t i = 0; i < output->extents().product(); ++i) EXPECT_EQ((*output)[i], 7.0);
  }
}

}  // namespace
}  // namespace portops::test
