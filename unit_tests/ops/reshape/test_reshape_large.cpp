// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/large_tensors.hpp"

#include <portops/ops/reshape.hpp>
#include <portops/ops/trace.hpp>

#include <array>

namespace portops::test {
namespace {

class ReshapeLargeTest : public OnALargeGpu {};
class TraceLargeTest : public OnALargeGpu {};

constexpr std::int64_t columns = 30011, rows = two_to_31 / columns + 2;

/// The matrix as `x` says, as one axis.
void check(const TensorRef& x, const Tensor& memory, const std::function<std::int64_t(std::int64_t)>& place) {
  const Context ctx(Backend::cuda);
  const Tensor out(ElementType::f16, {x.size()}, MemorySpace::cuda);
  fill_in_pieces<f16>(ctx, memory, 1);
  reshape(ctx, x, out, {{-1}});
  expect_ranges<f16>(ctx, out, [&](std::int64_t i) { return in_pieces<f16>(place(i), 1); });
}

TEST_F(ReshapeLargeTest, copies_rows_that_are_cut) {
  const Tensor memory(ElementType::f16, {rows, columns + 2}, MemorySpace::cuda);
  check({memory.ref().data(), ElementType::f16, {rows, columns}, {columns + 2, 1}, MemorySpace::cuda}, memory,
        [](std::int64_t i) { return i / columns * (columns + 2) + i % columns; });
}

TEST_F(ReshapeLargeTest, copies_a_transposed_matrix) {
  const Tensor memory(ElementType::f16, {columns, rows}, MemorySpace::cuda);
  check({memory.ref().data(), ElementType::f16, {rows, columns}, {1, rows}, MemorySpace::cuda}, memory,
        [](std::int64_t i) { return i % columns * rows + i / columns; });
}

TEST_F(ReshapeLargeTest, copies_rows_into_rows_of_other_lengths) {
  // 2 · 3 · … rows, so that rows of the result begin within those of x, both with gaps.
  const Context ctx(Backend::cuda);
  const std::int64_t from_columns = 6 * 5003, to_columns = 4 * 5003, count = 2 * (two_to_31 / from_columns / 2 + 1);
  const Tensor memory(ElementType::f16, {count, from_columns + 1}, MemorySpace::cuda);
  const Tensor out(ElementType::f16, {count / 2 * 3, to_columns + 1}, MemorySpace::cuda);
  fill_in_pieces<f16>(ctx, memory, 1);
  fill_in_pieces<f16>(ctx, out, 2);
  const TensorRef x(memory.ref().data(), ElementType::f16, {count, from_columns}, {from_columns + 1, 1},
                    MemorySpace::cuda);
  const TensorRef cut(out.ref().data(), ElementType::f16, {count / 2 * 3, to_columns}, {to_columns + 1, 1},
                      MemorySpace::cuda);
  reshape(ctx, x, cut, {{-1, to_columns}});
  expect_ranges<f16>(ctx, out, [&](std::int64_t i) {
    const std::int64_t row = i / (to_columns + 1), column = i % (to_columns + 1);
    if (column == to_columns) return in_pieces<f16>(i, 2);
    const std::int64_t element = row * to_columns + column;
    return in_pieces<f16>(element / from_columns * (from_columns + 1) + element % from_columns, 1);
  });
}

TEST_F(TraceLargeTest, of_a_matrix) {
  const Context ctx(Backend::cuda);
  const Tensor x(ElementType::f16, {rows, columns}, MemorySpace::cuda);
  const Tensor out(ElementType::f16, {}, MemorySpace::cuda);
  fill_in_pieces<f16>(ctx, x, 1);
  // The last rows, where the diagonal lies behind 2^31 elements.
  const std::int64_t offset = columns - rows;
  trace(ctx, x, out, {.offset = offset});
  double sum = 0.0;
  for (std::int64_t i = 0; i < columns; ++i) sum += static_cast<double>(in_pieces<f16>((i - offset) * columns + i, 1));
  std::array<f16, 1> found{};
  copy(ctx, out, TensorRef(found.data(), {}));
  ctx.fence();
  EXPECT_NEAR(static_cast<double>(found[0]), sum, 1e-3 * sum);
}

TEST_F(TraceLargeTest, gradient) {
  const Context ctx(Backend::cuda);
  const Tensor out_grad(ElementType::f16, {}, MemorySpace::cuda);
  const Tensor x_grad(ElementType::f16, {rows, columns}, MemorySpace::cuda);
  const std::array value{static_cast<f16>(2.5f)};
  copy(ctx, TensorRef(value.data(), {}), out_grad);
  fill_in_pieces<f16>(ctx, x_grad, 1);
  const std::int64_t offset = columns - rows;
  trace_grad(ctx, TensorRef::without_data(ElementType::f16, {rows, columns}), out_grad, x_grad, {.offset = offset});
  expect_ranges<f16>(ctx, x_grad, [&](std::int64_t i) {
    return i % columns - i / columns == offset ? value[0] : static_cast<f16>(0.0f);
  });
}

}  // namespace
}  // namespace portops::test
