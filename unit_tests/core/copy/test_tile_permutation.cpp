// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/tile_permutation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

// How copies between axes in different orders are cut into tiles. test_kokkos_copies.cpp carries them out.

namespace portops::test {
namespace {

/// The tiles of a copy of a contiguous tensor of these extents, axes exchanged, into a contiguous one.
std::optional<impl::TilePermutation> tiles_of(ElementType type, const Extents& extents, const std::vector<int>& order,
                                              int most = 4096) {
  const Extents strides = extents.row_major_strides();
  Extents turned = extents, turned_strides = extents;
  for (int axis = 0; axis < extents.rank(); ++axis) {
    turned[axis] = extents[order[static_cast<std::size_t>(axis)]];
    turned_strides[axis] = strides[order[static_cast<std::size_t>(axis)]];
  }
  void* const from = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
  void* const to = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
  return impl::make_tile_permutation(
      impl::make_copy_plan(TensorRef(from, type, turned, turned_strides, MemorySpace::host),
                           TensorRef(to, type, turned, turned.row_major_strides(), MemorySpace::host)),
      most);
}

/// Words that follow each other in memory in a tile, on both sides.
std::pair<std::int64_t, std::int64_t> lines_of(const impl::TilePermutation& tiles) {
  std::int64_t line[2] = {1, 1};
  for (const bool is_from : {false, true}) {
    for (int i = 0; i < tiles.rank; ++i) {
      const auto& axis = tiles.axis[is_from ? tiles.in_from[i] : i];
      line[is_from ? 1 : 0] *= axis.tile;
      if (axis.tile < axis.extent) break;
    }
  }
  return {line[0], line[1]};
}

TEST(TilePermutationTest, has_long_lines_on_both_sides) {
  struct Case {
    Extents extents;
    std::vector<int> order;
  };
  for (const auto& [extents, order] :
       {Case{{380, 16874}, {1, 0}}, Case{{50, 349, 12, 14}, {0, 1, 3, 2}}, Case{{4, 10845, 25, 3}, {2, 1, 3, 0}},
        Case{{64, 55737, 2}, {2, 0, 1}}, Case{{3, 3036, 44}, {1, 2, 0}}, Case{{7, 3, 224, 223}, {0, 2, 3, 1}}}) {
    SCOPED_TRACE(extents.to_string());
    const auto tiles = tiles_of(ElementType::f32, extents, order);
    ASSERT_TRUE(tiles);
    const auto [to, from] = lines_of(*tiles);
    EXPECT_GE(to, 32);
    EXPECT_GE(from, 32);
    EXPECT_GE(tiles->volume, 1024);
  }
}

TEST(TilePermutationTest, leaves_copies_in_one_order_and_long_rows_to_others) {
  EXPECT_FALSE(tiles_of(ElementType::f32, {100, 1000}, {0, 1}));
  EXPECT_FALSE(tiles_of(ElementType::f32, {100, 30, 65}, {1, 0, 2})) << "rows of 260 bytes";
  EXPECT_TRUE(tiles_of(ElementType::f32, {100, 30, 63}, {1, 0, 2}));
  EXPECT_FALSE(tiles_of(ElementType::f32, {3, 2}, {1, 0}, 4)) << "no lines";
}

TEST(TilePermutationTest, fits_the_room_whatever_the_extents) {
  std::mt19937 engine(1);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  int tiled = 0;
  for (int call = 0; call < 5000; ++call) {
    Extents extents = Extents::of_rank(number(2, 6));
    std::vector<int> order;
    for (int axis = 0; axis < extents.rank(); ++axis) {
      extents[axis] = number(0, 3) == 0 ? number(1, 5000) : number(1, 40);
      order.push_back(axis);
    }
    std::shuffle(order.begin(), order.end(), engine);
    const int most = 1 << number(9, 12);
    const auto tiles = tiles_of(ElementType::f16, extents, order, most);
    if (!tiles) continue;
    ++tiled;
    std::int64_t volume = 1;
    for (int i = 0; i < tiles->rank; ++i) {
      ASSERT_GE(tiles->axis[i].tile, 1);
      ASSERT_LE(tiles->axis[i].tile, tiles->axis[i].extent);
      volume *= tiles->axis[i].tile;
    }
    ASSERT_EQ(volume, tiles->volume);
    ASSERT_LE(volume, most);
    ASSERT_LE(tiles->scratch, impl::most_scratch(most));
  }
  EXPECT_GT(tiled, 1000);
}

}  // namespace
}  // namespace portops::test
