// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "p_norm_reference.hpp"

// 2^31 elements and more, where 32-bit indices would wrap. On the GPU only, and only where there is room.

namespace portops::test {
namespace {

constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;
constexpr std::int64_t piece = std::int64_t{1} << 24;

class PNormLargeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : devices()) {
      if (device.backend == Backend::cuda && device.memory_bytes > (std::size_t{40} << 30)) return;
    }
    GTEST_SKIP() << "no GPU with 40 GiB";
  }
};

/// Numbers that repeat after a piece: of either sign, none of them 0.
double value(std::int64_t i) {
  const std::int64_t at = i % piece;
  const double magnitude = static_cast<double>((at * 37 + (at >> 16) * 11) % 101 + 1) / 128.0;
  return at % 2 == 0 ? magnitude : -magnitude;
}

TensorRef part(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  return {tensor.data<f16>() + first, {count}, MemorySpace::cuda};
}

/// A tensor on the GPU of those numbers. A first piece comes from the host and is then doubled.
Tensor filled(const Context& ctx, const Extents& extents) {
  const Tensor tensor(ElementType::f16, extents, MemorySpace::cuda);
  std::vector<f16> host(piece);
  for (std::int64_t i = 0; i < piece; ++i) host[static_cast<std::size_t>(i)] = static_cast<f16>(value(i));
  copy(ctx, TensorRef(host.data(), {piece}), part(tensor, 0, piece));
  const std::int64_t size = extents.product();
  for (std::int64_t done = piece; done < size; done *= 2) {
    const std::int64_t count = std::min(done, size - done);
    copy(ctx, part(tensor, 0, count), part(tensor, done, count));
  }
  ctx.fence();
  return tensor;
}

void set(const Context& ctx, const Tensor& tensor, std::int64_t index, double number) {
  f16 element(number);
  copy(ctx, TensorRef(&element, {1}), part(tensor, index, 1));
  ctx.fence();
}

/// `count` elements from `first` on, read back.
std::vector<f16> downloaded(const Context& ctx, const Tensor& tensor, std::int64_t first, std::int64_t count) {
  std::vector<f16> host(static_cast<std::size_t>(count));
  copy(ctx, part(tensor, first, count), TensorRef(host.data(), {count}));
  ctx.fence();
  return host;
}

/// Expects the elements in a few ranges, those around the ends and around 2^31 among them, within so many roundings.
void expect_ranges(const Context& ctx, const Tensor& tensor, int roundings,
                   const std::function<double(std::int64_t)>& expected) {
  constexpr std::int64_t count = 1 << 16;
  const std::int64_t size = tensor.ref().size();
  for (const std::int64_t first : {std::int64_t{0}, size / 3, size / 2, two_to_31 - count, size - count}) {
    const std::vector<f16> found = downloaded(ctx, tensor, first, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const f16 element = found[static_cast<std::size_t>(i)];
      const double number = expected(first + i);
      ASSERT_TRUE(is_near(element, number, roundings * tolerance<f16>(number)))
          << "element " << first + i << " of " << size << " is " << static_cast<double>(element) << ", expected "
          << number;
    }
  }
}

/// A piece as rows of so many columns: the sum of squares of each column.
std::vector<double> squares_of_piece(std::int64_t columns) {
  std::vector<double> sums(static_cast<std::size_t>(columns), 0.0);
  for (std::int64_t i = 0; i < piece; ++i) sums[static_cast<std::size_t>(i % columns)] += value(i) * value(i);
  return sums;
}

TEST_F(PNormLargeTest, one_vector) {
  const Context ctx(Backend::cuda);
  const double squares = squares_of_piece(1)[0];
  for (const std::int64_t size : {two_to_31, two_to_31 + 1}) {
    const Tensor x = filled(ctx, {size}), out(ElementType::f16, {}, MemorySpace::cuda);
    const auto norm = [&](double p) {
      p_norm(ctx, x, out, {.porder = p});
      return static_cast<double>(downloaded(ctx, out, 0, 1)[0]);
    };
    // The last element is as large as all others together, so that it would be missed.
    constexpr double last = 3e4;
    set(ctx, x, size - 1, last);
    const double others = squares * 128 + (size > two_to_31 ? 0.0 : -value(size - 1) * value(size - 1));
    const double expected = std::sqrt(others + last * last);
    EXPECT_NEAR(norm(2.0), expected, tolerance<f16>(expected));
    EXPECT_EQ(norm(inf), last);
    set(ctx, x, size - 1, 0x1p-12);
    EXPECT_EQ(norm(-inf), 0x1p-12);
    EXPECT_EQ(norm(1.0), inf) << "more than f16 can hold";
  }
}

TEST_F(PNormLargeTest, gradient_of_one_vector) {
  const Context ctx(Backend::cuda);
  const std::int64_t size = two_to_31 + 1;
  const Tensor x = filled(ctx, {size}), x_grad(ElementType::f16, {size}, MemorySpace::cuda);
  const Tensor out(ElementType::f16, {}, MemorySpace::cuda), out_grad(ElementType::f16, {}, MemorySpace::cuda);
  set(ctx, out_grad, 0, 3e4);
  p_norm(ctx, x, out);
  const auto norm = static_cast<double>(downloaded(ctx, out, 0, 1)[0]);
  p_norm_grad(ctx, x, out, out_grad, x_grad);
  expect_ranges(ctx, x_grad, 1, [&](std::int64_t i) { return value(i) / norm * 3e4; });

  // Three elements share the maximum: both ends and one between.
  for (const std::int64_t tie : {std::int64_t{0}, size / 2, size - 1}) set(ctx, x, tie, -2.0);
  set(ctx, out_grad, 0, 6.0);
  p_norm(ctx, x, out, {.porder = inf});
  p_norm_grad(ctx, x, out, out_grad, x_grad, {.porder = inf});
  expect_ranges(ctx, x_grad, 1, [&](std::int64_t i) { return i == 0 || i == size / 2 || i == size - 1 ? -2.0 : 0.0; });
}

TEST_F(PNormLargeTest, columns) {
  const Context ctx(Backend::cuda);
  constexpr std::int64_t count = 64;
  const std::int64_t rows = two_to_31 / count + 1;
  const Tensor x = filled(ctx, {rows, count}), out(ElementType::f16, {count}, MemorySpace::cuda);
  constexpr double last = 2e4;
  set(ctx, x, (rows - 1) * count + 5, last);
  p_norm(ctx, x, out, {.axis = {0}});
  const std::vector<f16> found = downloaded(ctx, out, 0, count);
  std::vector<double> squares = squares_of_piece(count);
  for (std::int64_t column = 0; column < count; ++column) {
    const double in_last_row = column == 5 ? last : value(column);
    const double expected = std::sqrt(squares[static_cast<std::size_t>(column)] * 128 + in_last_row * in_last_row);
    EXPECT_NEAR(static_cast<double>(found[static_cast<std::size_t>(column)]), expected, tolerance<f16>(expected))
        << "column " << column;
  }
}

TEST_F(PNormLargeTest, rows) {
  const Context ctx(Backend::cuda);
  const std::int64_t rows = two_to_31 + 1;
  const Tensor x = filled(ctx, {rows, 2}), out(ElementType::f16, {rows}, MemorySpace::cuda);
  const auto norm = [](std::int64_t row) { return std::hypot(value(2 * row), value(2 * row + 1)); };
  p_norm(ctx, x, out);
  expect_ranges(ctx, out, 1, norm);

  const Tensor out_grad = filled(ctx, {rows}), x_grad(ElementType::f16, {rows, 2}, MemorySpace::cuda);
  p_norm_grad(ctx, x, out, out_grad, x_grad);
  // `out` is rounded too.
  expect_ranges(ctx, x_grad, 2, [&](std::int64_t i) { return value(i) / norm(i / 2) * value(i / 2); });
}

}  // namespace
}  // namespace portops::test
