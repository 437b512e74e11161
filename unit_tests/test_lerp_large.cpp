// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lerp_reference.hpp"

#include <portops/ops/lerp.hpp>

// 2^31 elements and more, where 32-bit indices would wrap. On the GPU only, and only where there is room.

namespace portops::test {
namespace {

constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;

class LerpLargeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : devices()) {
      if (device.backend == Backend::cuda && device.memory_bytes > (std::size_t{40} << 30)) return;
    }
    GTEST_SKIP() << "no GPU with 40 GiB";
  }
};

/// A value that tells neighbours, and elements 2^31 and 2^32 apart, from each other.
float pattern(std::int64_t i, int salt) {
  return static_cast<float>((i * 37 + (i >> 16) * 11 + (i >> 31) * 5 + salt) % 101) / 101.0f;
}

/// A tensor of a repeating piece: neither the host nor the test's time has room for more.
template <class T>
void fill_in_pieces(const Context& ctx, const Tensor& tensor, int salt) {
  constexpr std::int64_t piece = std::int64_t{1} << 24;
  std::vector<T> host(piece);
  auto* data = tensor.data<T>();
  const std::int64_t size = tensor.ref().size();
  for (std::int64_t i = 0; i < piece; ++i) host[static_cast<std::size_t>(i)] = static_cast<T>(pattern(i, salt));
  const Tensor on_device(tensor.ref().type(), {piece}, MemorySpace::cuda);
  copy(ctx, TensorRef(host.data(), {piece}), on_device);
  for (std::int64_t at = 0; at < size; at += piece) {
    const std::int64_t count = std::min(piece, size - at);
    copy(ctx, TensorRef(on_device.data<T>(), {count}, MemorySpace::cuda),
         TensorRef(data + at, {count}, MemorySpace::cuda));
  }
  ctx.fence();
}

template <class T>
T in_pieces(std::int64_t i, int salt) {
  return static_cast<T>(pattern(i % (std::int64_t{1} << 24), salt));
}

/// Expects the elements in a few ranges, those around the ends and around 2^31 among them.
template <class T>
void expect_ranges(const Context& ctx, const Tensor& tensor, const std::function<T(std::int64_t)>& expected) {
  constexpr std::int64_t count = 1 << 16;
  const std::int64_t size = tensor.ref().size();
  std::vector<T> host(count);
  for (std::int64_t first : {std::int64_t{0}, size / 3, size / 2, two_to_31 - count, size - count}) {
    copy(ctx, TensorRef(tensor.data<T>() + first, {count}, MemorySpace::cuda), TensorRef(host.data(), {count}));
    ctx.fence();
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(static_cast<double>(host[static_cast<std::size_t>(i)]), static_cast<double>(expected(first + i)))
          << "element " << first + i << " of " << size;
    }
  }
}

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
