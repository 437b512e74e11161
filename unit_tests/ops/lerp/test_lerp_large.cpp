// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lerp_reference.hpp"
#include "support/large_tensors.hpp"

#include <portops/ops/lerp.hpp>

namespace portops::test {
namespace {

class LerpLargeTest : public OnALargeGpu {};

TEST_F(LerpLargeTest, flat) {
  const Context ctx(Backend::cuda);
  for (const std::int64_t size : {two_to_31, two_to_31 + 1}) {
    const Tensor x(ElementType::f16, {size}, MemorySpace::cuda), y(ElementType::f16, {size}, MemorySpace::cuda);
    const Tensor out(ElementType::f16, {size}, MemorySpace::cuda);
    fill_in_pieces<f16>(ctx, x, 1);
    fill_in_pieces<f16>(ctx, y, 2);
    lerp(ctx, x, y, 0.3, out);
    expect_ranges<f16>(ctx, out,
                       [](std::int64_t i) { return lerp_reference(in_pieces<f16>(i, 1), in_pieces<f16>(i, 2), 0.3); });
  }
}

TEST_F(LerpLargeTest, broadcast_rows_and_columns) {
  const Context ctx(Backend::cuda);
  const std::int64_t columns = 30011;
  const std::int64_t rows = two_to_31 / columns + 2;
  const Tensor x(ElementType::f16, {rows, 1}, MemorySpace::cuda), y(ElementType::f16, {columns}, MemorySpace::cuda);
  const Tensor out(ElementType::f16, {rows, columns}, MemorySpace::cuda);
  fill_in_pieces<f16>(ctx, x, 1);
  fill_in_pieces<f16>(ctx, y, 2);
  lerp(ctx, x, y, 0.3, out);
  expect_ranges<f16>(ctx, out, [&](std::int64_t i) {
    return lerp_reference(in_pieces<f16>(i / columns, 1), in_pieces<f16>(i % columns, 2), 0.3);
  });
}

TEST_F(LerpLargeTest, sums) {
  const Context ctx(Backend::cuda);
  const std::int64_t size = two_to_31 + 1;
  const Tensor out_grad(ElementType::f32, {size}, MemorySpace::cuda), y_grad(ElementType::f32, {}, MemorySpace::cuda);
  fill_in_pieces<float>(ctx, out_grad, 1);
  lerp_grad(ctx, TensorRef::without_data(ElementType::f32, {size}), TensorRef::without_data(ElementType::f32, {}), 1.0,
            out_grad, {}, y_grad);
  double piece = 0.0;
  for (std::int64_t i = 0; i < 1 << 24; ++i) piece += in_pieces<float>(i, 1);
  const double expected = piece * 128 + in_pieces<float>(0, 1);
  float found = 0.0f;
  copy(ctx, y_grad, TensorRef(&found, {}));
  ctx.fence();
  EXPECT_NEAR(found, expected, 2e-6 * expected);
}

}  // namespace
}  // namespace portops::test
