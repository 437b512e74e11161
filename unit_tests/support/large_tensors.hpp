// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support.hpp"

// What the tests of 2^31 elements and more share, where 32-bit indices would wrap. On the GPU only, and only where
// there is room.

namespace portops::test {

inline constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;

class OnALargeGpu : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : devices()) {
      if (device.backend == Backend::cuda && device.memory_bytes > (std::size_t{40} << 30)) return;
    }
    GTEST_SKIP() << "no GPU with 40 GiB";
  }
};

/// A value that tells neighbours, and elements 2^31 and 2^32 apart, from each other.
inline float large_pattern(std::int64_t i, int salt) {
  return static_cast<float>((i * 37 + (i >> 16) * 11 + (i >> 31) * 5 + salt) % 101) / 101.0f;
}

/// A tensor of a repeating piece: neither the host nor the test's time has room for more.
template <class T>
void fill_in_pieces(const Context& ctx, const Tensor& tensor, int salt) {
  constexpr std::int64_t piece = std::int64_t{1} << 24;
  std::vector<T> host(piece);
  auto* data = tensor.data<T>();
  const std::int64_t size = tensor.ref().size();
  for (std::int64_t i = 0; i < piece; ++i) host[static_cast<std::size_t>(i)] = static_cast<T>(large_pattern(i, salt));
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
  return static_cast<T>(large_pattern(i % (std::int64_t{1} << 24), salt));
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

}  // namespace portops::test
