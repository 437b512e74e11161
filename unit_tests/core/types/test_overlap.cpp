// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/types/overlap.hpp"

#include "support/support.hpp"

#include <random>
#include <set>

namespace portops::test {
namespace {

/// The addresses of all elements, one after the other.
std::vector<std::intptr_t> addresses(const TensorRef& tensor) {
  std::vector<std::intptr_t> result;
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.type()));
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    std::intptr_t address = reinterpret_cast<std::intptr_t>(tensor.data());
    std::int64_t rest = index;
    for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
      address += rest % tensor.extent(axis) * tensor.stride(axis) * bytes;
      rest /= tensor.extent(axis);
    }
    result.push_back(address);
  }
  return result;
}

std::set<std::intptr_t> bytes_of(const TensorRef& tensor) {
  std::set<std::intptr_t> result;
  for (const std::intptr_t address : addresses(tensor)) {
    for (std::size_t byte = 0; byte < size_of(tensor.type()); ++byte) {
      result.insert(address + static_cast<std::intptr_t>(byte));
    }
  }
  return result;
}

bool overlap_by_brute_force(const TensorRef& a, const TensorRef& b) {
  const std::set<std::intptr_t> bytes = bytes_of(a);
  const std::set<std::intptr_t> others = bytes_of(b);
  return std::any_of(others.begin(), others.end(), [&](std::intptr_t byte) { return bytes.count(byte) != 0; });
}

bool overlaps_itself_by_brute_force(const TensorRef& tensor) {
  const std::vector<std::intptr_t> all = addresses(tensor);
  return std::set(all.begin(), all.end()).size() != all.size();
}

std::string describe(const TensorRef& tensor) {
  return std::string(name_of(tensor.type())) + " " + tensor.extents().to_string() + " strides " +
         tensor.strides().to_string() + " at " + std::to_string(reinterpret_cast<std::intptr_t>(tensor.data()) % 65536);
}

class RandomTensors {
 public:
  explicit RandomTensors(unsigned seed) : engine_(seed) {}

  /// A tensor somewhere in the middle of a buffer; its elements are never touched, so they may lie outside.
  TensorRef next(int most_rank, std::int64_t most_extent, std::int64_t most_stride) {
    const auto type = static_cast<ElementType>(number(0, 3));
    Extents extents = Extents::of_rank(static_cast<int>(number(0, most_rank)));
    Extents strides = extents;
    for (int axis = 0; axis < extents.rank(); ++axis) {
      extents[axis] = number(1, most_extent);
      strides[axis] = number(-most_stride, most_stride);
    }
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    std::byte* data = buffer_ + sizeof(buffer_) / 2 + number(0, 400 / bytes) * bytes + number(0, 9) / 9;
    return {data, type, extents, strides, MemorySpace::host};
  }

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_;
  alignas(64) std::byte buffer_[4096];
};

TEST(MayOverlapTest, agrees_with_brute_force_for_small_tensors) {
  RandomTensors random(1);
  int overlapping = 0;
  for (int i = 0; i < 4000; ++i) {
    const TensorRef a = random.next(3, 4, 20);
    const TensorRef b = random.next(3, 4, 20);
    const bool expected = overlap_by_brute_force(a, b);
    overlapping += expected;
    ASSERT_EQ(impl::may_overlap(a, b), expected) << describe(a) << " and " << describe(b);
    ASSERT_EQ(impl::may_overlap(b, a), expected) << describe(a) << " and " << describe(b);
  }
  EXPECT_GT(overlapping, 500);
  EXPECT_LT(overlapping, 3500);
}

TEST(MayOverlapTest, never_misses_an_overlap) {
  RandomTensors random(2);
  for (int i = 0; i < 300; ++i) {
    const TensorRef a = random.next(8, 3, 60);
    const TensorRef b = random.next(4, 6, 90);
    if (!overlap_by_brute_force(a, b)) continue;
    ASSERT_TRUE(impl::may_overlap(a, b)) << describe(a) << " and " << describe(b);
  }
}

TEST(MayOverlapTest, tells_interleaved_blocks_apart) {
  std::vector<float> matrix(100 * 40);
  const auto columns = [&](int first, int count) { return TensorRef(matrix.data() + first, {100, count}, {40, 1}); };
  EXPECT_FALSE(impl::may_overlap(columns(0, 20), columns(20, 20)));
  EXPECT_TRUE(impl::may_overlap(columns(0, 21), columns(20, 20)));
  EXPECT_FALSE(impl::may_overlap(columns(5, 1), columns(6, 34)));
  const auto parity = [&](int odd) { return TensorRef(matrix.data() + odd, {100, 20}, {40, 2}); };
  EXPECT_FALSE(impl::may_overlap(parity(0), parity(1)));
  EXPECT_TRUE(impl::may_overlap(parity(0), parity(0)));
  EXPECT_FALSE(impl::may_overlap(TensorRef(matrix.data(), {10, 10}, {40, 4}),
                                 TensorRef(matrix.data() + 3999, {10, 9}, {-40, -4})));
}

TEST(MayOverlapTest, tells_blocks_of_large_tensors_apart) {
  float memory[8];
  for (const std::int64_t rows : {1000, 100000, 100000000}) {
    const TensorRef first(memory, {rows, 20}, {40, 1}), second(memory + 4, {rows, 20}, {40, 1});
    EXPECT_TRUE(impl::may_overlap(first, second)) << rows << " rows";
    const TensorRef third(memory, {rows, 4}, {40, 1});
    EXPECT_FALSE(impl::may_overlap(third, second)) << rows << " rows";
    EXPECT_FALSE(impl::may_overlap(second, third)) << rows << " rows";
  }
  const std::int64_t large = std::int64_t{1} << 28;
  const TensorRef left(memory, {large, large / 4}, {large, 1});
  const TensorRef right(memory + 4, {large, large / 4}, {large, 1});
  EXPECT_TRUE(impl::may_overlap(left, right));
  const TensorRef even(memory, {large, large / 2}, {large, 2});
  const TensorRef odd(memory + 1, {large, large / 2}, {large, 2});
  EXPECT_FALSE(impl::may_overlap(even, odd));
}

TEST(MayOverlapTest, counts_bytes_not_elements) {
  alignas(8) std::byte memory[16];
  const TensorRef wide(memory, ElementType::f64, {}, {}, MemorySpace::host);
  for (int at = 0; at < 10; at += 2) {
    const TensorRef half(memory + at, ElementType::f16, {}, {}, MemorySpace::host);
    EXPECT_EQ(impl::may_overlap(wide, half), at < 8) << at;
  }
}

TEST(MayOverlapTest, is_false_without_elements) {
  float data[4];
  const TensorRef tensor(data, {4});
  EXPECT_FALSE(impl::may_overlap(tensor, TensorRef(data, {4, 0})));
  EXPECT_FALSE(impl::may_overlap(tensor, TensorRef::without_data(ElementType::f32, {4})));
  EXPECT_FALSE(impl::may_overlap(TensorRef(), tensor));
}

TEST(MayOverlapItselfTest, never_misses_an_overlap) {
  RandomTensors random(3);
  for (int i = 0; i < 4000; ++i) {
    const TensorRef tensor = random.next(4, 4, 30);
    if (!overlaps_itself_by_brute_force(tensor)) continue;
    ASSERT_TRUE(impl::may_overlap_itself(tensor)) << describe(tensor);
  }
}

TEST(MayOverlapItselfTest, is_false_for_all_subviews) {
  RandomTensors random(4);
  float data[1];
  for (int i = 0; i < 2000; ++i) {
    // A part of a larger tensor: every axis a range with a step, axes in any order, some backwards.
    const int rank = static_cast<int>(random.number(0, 6));
    Extents extents = Extents::of_rank(rank);
    Extents strides = extents;
    std::int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t whole = random.number(1, 6);
      const std::int64_t step = random.number(1, whole);
      extents[axis] = (whole - 1) / step + 1;
      strides[axis] = stride * step * (random.number(0, 1) == 0 ? 1 : -1);
      stride *= whole;
    }
    for (int axis = 1; axis < rank; ++axis) {
      const int other = static_cast<int>(random.number(0, axis));
      std::swap(extents[axis], extents[other]);
      std::swap(strides[axis], strides[other]);
    }
    const TensorRef tensor(data, extents, strides);
    ASSERT_FALSE(impl::may_overlap_itself(tensor)) << describe(tensor);
  }
}

TEST(MayOverlapItselfTest, is_true_for_broadcast_and_sliding_tensors) {
  float data[8];
  EXPECT_TRUE(impl::may_overlap_itself(TensorRef(data, {2}, {0})));
  EXPECT_FALSE(impl::may_overlap_itself(TensorRef(data, {1}, {0})));
  EXPECT_TRUE(impl::may_overlap_itself(TensorRef(data, {3, 3}, {1, 1})));
  EXPECT_TRUE(impl::may_overlap_itself(TensorRef(data, {3, 3}, {2, -1})));
  EXPECT_FALSE(impl::may_overlap_itself(TensorRef(data, {3, 2}, {2, -1})));
  EXPECT_FALSE(impl::may_overlap_itself(TensorRef(data, {0, 3}, {0, 0})));
  EXPECT_FALSE(impl::may_overlap_itself(TensorRef(data, {})));
}

TEST(CoincideTest, means_the_same_elements_at_the_same_addresses) {
  float data[6];
  const TensorRef tensor(data, {2, 3});
  EXPECT_TRUE(impl::coincide(tensor, TensorRef(data, {2, 3}, {3, 1})));
  EXPECT_FALSE(impl::coincide(tensor, TensorRef(data + 1, {2, 3})));
  EXPECT_FALSE(impl::coincide(tensor, TensorRef(data, {2, 3}, {1, 2})));
  EXPECT_FALSE(impl::coincide(tensor, TensorRef(data, {2, 2}, {3, 1})));
  EXPECT_FALSE(impl::coincide(tensor, TensorRef(data, {1, 2, 3})));
  EXPECT_FALSE(impl::coincide(tensor, TensorRef(data, ElementType::f16, {2, 3}, {3, 1}, MemorySpace::host)));
  EXPECT_TRUE(impl::coincide(TensorRef(data, {1, 3}, {3, 1}), TensorRef(data, {1, 3}, {99, 1})));
}

}  // namespace
}  // namespace portops::test
