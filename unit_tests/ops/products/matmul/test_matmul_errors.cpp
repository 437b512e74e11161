// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matmul_problem.hpp"
#include "support/lent_memory.hpp"

// The calls of matmul and matmul_grad that are refused.

namespace portops::test {
namespace {

class MatmulErrorTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(MatmulErrorTest);

TEST_P(MatmulErrorTest, wrong_calls) {
  need_type<float>();
  need_type<double>();
  TestTensor<float> x(ctx, {4, 5}), y(ctx, {5, 3}), out(ctx, {4, 3}), scalar(ctx, {}), batch(ctx, {2, 5, 3});
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  refused([&] { matmul(ctx, scalar, y, out); }, "matmul: x has extents [], expected one axis or more");
  refused([&] { matmul(ctx, x, scalar, out); }, "matmul: y has extents [], expected one axis or more");
  refused([&] { matmul(ctx, x, x, out); },
          "matmul: y has extents [4, 5], which are 4 along its inner axis, expected 5 (x has extents [4, 5])");
  refused(
      [&] { matmul(ctx, x, y, out, {true, true}); },
      "matmul: y has extents [5, 3], which are 3 along its inner axis (transposed), expected 4 (x has extents [4, 5], "
      "transposed)");
  refused(
      [&] { matmul(ctx, TestTensor<float>(ctx, {3, 4, 5}), batch, out); },
      "matmul: the extents of the batch of x [3], of the batch of y [2] do not broadcast; aligned at the last axis, "
      "extents must be equal or 1");
  refused([&] { matmul(ctx, x, y, scalar); },
          "matmul: out has extents [], expected [4, 3] (the batch, the rows of x and the columns of y)");
  refused([&] { matmul(ctx, x, y, TestTensor<double>(ctx, {4, 3})); },
          "matmul: out has element type f64, expected f32 (the element type of x)");
  refused([&] { matmul(ctx, x, {}, out); }, "matmul: y is empty, expected a tensor");
  const TensorRef inside(static_cast<float*>(x.ref().data()), {4, 3}, x.ref().space());
  refused([&] { matmul(ctx, x, y, inside); }, "matmul: out overlaps x in memory, expected disjoint tensors");
  refused([&] { matmul_grad(ctx, x, y, x, x, {}); },
          "matmul_grad: out_grad has extents [4, 5], expected [4, 3] (the batch, the rows of x and the columns of y)");
  refused([&] { matmul_grad(ctx, x, y, out, y, {}); },
          "matmul_grad: x_grad has extents [5, 3], expected [4, 5] (the extents of x)");
  refused([&] { matmul_grad(ctx, x, y, out, x, {}); },
          "matmul_grad: x_grad overlaps x in memory, expected disjoint tensors");
  const TensorRef no_x = TensorRef::without_data(ElementType::f32, {4, 5});
  TestTensor<float> y_grad(ctx, {5, 3});
  refused([&] { matmul_grad(ctx, no_x, y, out, {}, y_grad); },
          "matmul_grad: x has no data, but its elements are needed");
}

TEST_P(MatmulErrorTest, too_small_a_workspace_before_anything_is_written) {
  need_type<float>();
  // Both operands of x_grad are copied, because the two axes that are summed are not one in either.
  MatmulProblem<float> p(ctx, {4, 5}, {3, 5, 6});
  p.x_grad.fill([](std::int64_t) { return 7.0; });
  const std::size_t bytes = matmul_grad_workspace(ctx, p.x, p.y, p.out_grad, p.x_grad, p.y_grad);
  ASSERT_GT(bytes, 0u);
  LentMemory memory(ctx, bytes - 1);
  const Context lent = Context(ctx).workspace(memory.workspace());
  expect_error([&] { matmul_grad(lent, p.x, p.y, p.out_grad, p.x_grad, p.y_grad); },
               "portops::matmul_grad::workspace: the workspace has " + std::to_string(bytes - 1) +
                   " bytes, expected at least " + std::to_string(bytes));
  p.x_grad.download();
  for (std::int64_t i = 0; i < p.x_grad.size(); ++i) EXPECT_EQ(p.x_grad[i], 7.0);
}

TEST_P(MatmulErrorTest, products_that_kokkos_kernels_lacks) {
  const Context context = with_kokkos_kernels(ctx);
  const auto message = [](const std::string& op) {
    return "portops::" + op + ": the context's products are kokkos_kernels, expected automatic or own ";
  };
  const auto refused = [&]<class T>(const Context& wrong, const std::string& where) {
    MatmulProblem<T> p(ctx, {2, 3}, {3});
    expect_error([&] { matmul(wrong, p.x, p.y, p.out); }, message("matmul") + where);
    expect_error([&] { matmul_grad(wrong, p.x, p.y, p.out_grad, p.x_grad, p.y_grad); }, message("matmul_grad") + where);
  };
  for_each_type([&]<class T>() {
    if (!has_kokkos_kernels) {
      refused.template operator()<T>(context, "in a build without Kokkos Kernels (PORTOPS_ENABLE_KOKKOS_KERNELS)");
    } else if (sizeof(T) == 2) {
      refused.template operator()<T>(
          context, "for " + std::string(name_of(ElementTypeOf<T>::value)) + " (Kokkos Kernels multiplies f64 and f32)");
    } else {
      refused.template operator()<T>(Context(context).deterministic(true),
                                     "in deterministic mode (Kokkos Kernels promises no order of additions)");
    }
  });
}

}  // namespace
}  // namespace portops::test
