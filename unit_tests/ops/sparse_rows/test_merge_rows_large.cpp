// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"

#include <portops/ops/merge_rows.hpp>

// More than 2^31 elements, where 32-bit indices would wrap. On the GPU only, and only where there is room.

namespace portops::test {
namespace {

class MergeRowsLargeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : devices()) {
      if (device.backend == Backend::cuda && device.memory_bytes > (std::size_t{40} << 30)) return;
    }
    GTEST_SKIP() << "no GPU with 40 GiB";
  }
};

/// Row i holds i modulo `period`, and belongs to place i / 4096.
TEST_F(MergeRowsLargeTest, adds_up_rows_beyond_2_to_31_elements) {
  constexpr std::int64_t columns = 64, period = 7, n = (std::int64_t{1} << 25) + 4096 * 3 + 5;
  constexpr std::int64_t height = n / 4096 + 1, piece = period * 1024;
  const Context ctx(Backend::cuda);
  const Tensor rows(ElementType::i64, {n}, MemorySpace::cuda), out_rows(ElementType::i64, {n}, MemorySpace::cuda);
  const Tensor values(ElementType::f32, {n, columns}, MemorySpace::cuda);
  const Tensor out_values(ElementType::f32, {n, columns}, MemorySpace::cuda);
  const Tensor count(ElementType::i64, {}, MemorySpace::cuda);

  std::vector<std::int64_t> places(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) places[static_cast<std::size_t>(i)] = i / 4096;
  copy(ctx, TensorRef(places.data(), {n}), rows);
  std::vector<float> few(static_cast<std::size_t>(piece * columns));
  for (std::int64_t i = 0; i < piece * columns; ++i) {
    few[static_cast<std::size_t>(i)] = static_cast<float>(i / columns % period);
  }
  for (std::int64_t at = 0; at < n; at += piece) {
    const Extents extents{std::min(piece, n - at) * columns};
    copy(ctx, TensorRef(few.data(), extents),
         TensorRef(values.data<float>() + at * columns, extents, MemorySpace::cuda));
  }
  merge_rows(ctx, rows, values, out_rows, out_values, count, {.height = height});

  ASSERT_EQ(merged_count(ctx, count), height);
  std::vector<float> sums(static_cast<std::size_t>(height * columns));
  const Extents extents{height * columns};
  copy(ctx, TensorRef(out_values.data<float>(), extents, MemorySpace::cuda), TensorRef(sums.data(), extents));
  ctx.fence();
  for (std::int64_t place = 0; place < height; ++place) {
    std::int64_t expected = 0;
    for (std::int64_t i = place * 4096; i < std::min(n, (place + 1) * 4096); ++i) expected += i % period;
    for (std::int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(sums[static_cast<std::size_t>(place * columns + c)], static_cast<float>(expected))
          << place << ", " << c;
    }
  }
}

}  // namespace
}  // namespace portops::test
