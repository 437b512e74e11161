// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/gemm.hpp"

#include "support/products.hpp"
#include "support/support.hpp"

// The calls of gemm that it refuses.

namespace portops::test {
namespace {

using blas::gemm;
using blas::Transpose;

class GemmErrorTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(GemmErrorTest);

TEST_P(GemmErrorTest, products_that_kokkos_kernels_lacks) {
  const std::string message = "portops::gemm: the context's products are kokkos_kernels, expected automatic or own ";
  const Context context = with_kokkos_kernels(ctx);
  const auto multiply = [&]<class T>(const Context& its, T) {
    const TestTensor<T> a(ctx, {2, 4}), b(ctx, {4, 3}), c(ctx, {2, 3});
    gemm(its, Transpose::no, Transpose::no, 1.0, a, b, 0.0, c);
  };
  if (!has_kokkos_kernels) {
    return expect_error([&] { multiply(context, double()); },
                        message + "in a build without Kokkos Kernels (PORTOPS_ENABLE_KOKKOS_KERNELS)");
  }
  expect_error([&] { multiply(context, bf16()); }, message + "for bf16 (Kokkos Kernels multiplies f64 and f32)");
  expect_error([&] { multiply(Context(context).deterministic(true), float()); },
               message + "in deterministic mode (Kokkos Kernels promises no order of additions)");
}

TEST_P(GemmErrorTest, biases_that_do_not_fit) {
  const TestTensor<float> a(ctx, {4, 2}), b(ctx, {2, 3}), c(ctx, {4, 3}), bias(ctx, {3}), wrong(ctx, {4});
  expect_error([&] { gemm(ctx, Transpose::no, Transpose::no, 1.0, a, b, 1.0, c, {}, {}, bias); },
               "portops::gemm: beta is 1, expected 0, because there is a bias");
  expect_error([&] { gemm(ctx, Transpose::no, Transpose::no, 1.0, a, b, 0.0, c, {}, {}, wrong); },
               "portops::gemm: bias has extents [4], expected [3] (the columns of c)");
}

TEST_P(GemmErrorTest, matrices_that_do_not_fit) {
  const TestTensor<float> a(ctx, {3, 5}), b(ctx, {5, 4}), c(ctx, {3, 4}), cube(ctx, {3, 5, 1});
  const TestTensor<double> wide(ctx, {5, 4});
  const auto call = [&](const TensorRef& x, const TensorRef& y, const TensorRef& out,
                        Transpose x_transpose = Transpose::no, Transpose y_transpose = Transpose::no) {
    return [=, this] { gemm(ctx, x_transpose, y_transpose, 1.0, x, y, 0.0, out); };
  };
  expect_error(call(a, a, c),
               "portops::gemm: b has extents [3, 5], expected [5, 5] (the inner extent of a, [3, 5], is 5)");
  expect_error(call(a, b, c, Transpose::yes),
               "portops::gemm: b has extents [5, 4], expected [3, 4] (the inner extent of a, [3, 5] transposed, is 3)");
  expect_error(
      call(a, b, c, Transpose::no, Transpose::yes),
      "portops::gemm: b has extents [5, 4] and is transposed, expected [5, 5] (the inner extent of a, [3, 5], is "
      "5)");
  expect_error(call(a, b, b),
               "portops::gemm: c has extents [5, 4], expected [3, 4] (the rows of op(a) and the columns "
               "of op(b))");
  expect_error(call(cube, b, c), "portops::gemm: a has extents [3, 5, 1], expected a matrix (two axes)");
  expect_error(call({}, b, c), "portops::gemm: a is empty, expected a tensor");
  expect_error(call(a, wide, c), "portops::gemm: b has element type f64, expected f32 (the element type of a)");
  const TestTensor<float> turned(ctx, {3, 5}, Layout::reversed), square(ctx, {3, 3});
  expect_error(call(turned, b, c),
               "portops::gemm: a has strides [1, 3], expected rows at least 5 apart (its columns) and "
               "a last axis of stride 1");
  const TensorRef repeated(static_cast<float*>(b.ref().data()), {5, 4}, {0, 1}, b.ref().space());
  expect_error(call(a, repeated, c),
               "portops::gemm: b has strides [0, 1], expected rows at least 4 apart (its columns) "
               "and a last axis of stride 1");
  expect_error(call(square, square, square), "portops::gemm: c overlaps a in memory, expected disjoint tensors");
  const TensorRef constant(static_cast<const float*>(c.ref().data()), {3, 4}, c.ref().space());
  expect_error(call(a, b, constant), "portops::gemm: c is an output, but its elements are const");
}

}  // namespace
}  // namespace portops::test
