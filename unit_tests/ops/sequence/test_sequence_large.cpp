// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequence_reference.hpp"

#include <portops/ops/sequence_expand.hpp>
#include <portops/ops/sequence_pool.hpp>
#include <portops/ops/sequence_reverse.hpp>

// 2^31 elements and more, where 32-bit indices would wrap. On the GPU only, and only where there is room.

namespace portops::test {
namespace {

constexpr std::int64_t columns = 64;
constexpr std::int64_t first_length = std::int64_t{1} << 25;  // 2^31 elements
constexpr std::int64_t second_length = 1000;
constexpr std::int64_t rows = first_length + second_length;

class SequenceLargeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : devices()) {
      if (device.backend == Backend::cuda && device.memory_bytes > (std::size_t{40} << 30)) return;
    }
    GTEST_SKIP() << "no GPU with 40 GiB";
  }

  static TensorRef row(const Tensor& tensor, std::int64_t index) {
    return {tensor.data<f16>() + index * columns, {columns}, MemorySpace::cuda};
  }

  static double first_of_row(const Context& ctx, const Tensor& tensor, std::int64_t index) {
    std::vector<f16> host(columns);
    copy(ctx, row(tensor, index), TensorRef(host.data(), {columns}));
    ctx.fence();
    return static_cast<double>(host[0]);
  }

  static void set_row(const Context& ctx, const Tensor& tensor, std::int64_t index, double number) {
    const std::vector<f16> host(columns, f16(number));
    copy(ctx, TensorRef(host.data(), {columns}), row(tensor, index));
    ctx.fence();
  }
};

TEST_F(SequenceLargeTest, rows_behind_two_to_31_elements_are_found) {
  const Context ctx(Backend::cuda);
  const Levels levels = Levels::from_lengths({first_length, second_length});
  const Tensor two(ElementType::f16, {2, columns}, MemorySpace::cuda);
  const Tensor x(ElementType::f16, {rows, columns}, MemorySpace::cuda);
  const Tensor y(ElementType::f16, {rows, columns}, MemorySpace::cuda);
  set_row(ctx, two, 0, 1.0);
  set_row(ctx, two, 1, 2.0);
  sequence_expand(ctx, {two, {}}, levels, x);
  for (const std::int64_t at : {std::int64_t{0}, first_length - 1}) EXPECT_EQ(first_of_row(ctx, x, at), 1.0);
  for (const std::int64_t at : {first_length, rows - 1}) EXPECT_EQ(first_of_row(ctx, x, at), 2.0);

  set_row(ctx, x, first_length - 2, 7.0);
  set_row(ctx, x, rows - 3, 9.0);
  TestTensor<f16> out(ctx, {2, columns});
  TestTensor<std::int64_t> index(ctx, {2, columns});
  sequence_pool(ctx, {x, levels}, out, index, {.pooltype = "max"});
  out.download();
  index.download();
  EXPECT_EQ(out[0], 7.0);
  EXPECT_EQ(index[0], first_length - 2);
  EXPECT_EQ(out[columns], 9.0);
  EXPECT_EQ(index[columns], rows - 3);

  sequence_reverse(ctx, {x, levels}, y);
  EXPECT_EQ(first_of_row(ctx, y, 1), 7.0);
  EXPECT_EQ(first_of_row(ctx, y, first_length), 2.0);
  EXPECT_EQ(first_of_row(ctx, y, first_length + 2), 9.0);

  sequence_pool_grad(ctx, {x, levels}, out, y, {.index = index, .pooltype = "max"});
  EXPECT_EQ(first_of_row(ctx, y, first_length - 2), 7.0);
  EXPECT_EQ(first_of_row(ctx, y, rows - 3), 9.0);
  EXPECT_EQ(first_of_row(ctx, y, rows - 1), 0.0);
}

}  // namespace
}  // namespace portops::test
