// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_reference.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/merge_rows.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

// The values of merge_rows, over element types, layouts and places.

namespace portops::test {
namespace {

/// A call and what it gives.
template <class T>
struct Merge {
  Merge(const Context& context, const Places& where, const Extents& extents, std::int64_t rows_of_table,
        Layout layout = Layout::contiguous)
      : ctx(context),
        places(where),
        height(rows_of_table),
        rows(index_tensor(ctx, where, layout == Layout::negative ? Layout::negative : Layout::contiguous)),
        values(ctx, extents, layout),
        out_rows(ctx, rows.extents(), layout == Layout::every_other ? Layout::every_other : Layout::contiguous),
        out_values(ctx, extents, layout) {
    values.fill_randomly(3);
    out_rows.fill([](std::int64_t) { return -7.0; });
    out_values.fill([](std::int64_t) { return -77.0; });
  }

  void call() {
    merge_rows(ctx, rows, values, out_rows, out_values, count, {.height = height});
    out_rows.download();
    out_values.download();
    count.download();
  }

  void call_and_check() {
    call();
    const MergedReference expected(places, values);
    const auto places_found = static_cast<std::int64_t>(expected.rows.size());
    ASSERT_EQ(count.element(0), places_found);
    EXPECT_EQ(merged_count(ctx, count), places_found);
    const std::int64_t n = rows.extents()[0];
    const std::int64_t columns = n == 0 ? 0 : values.extents().product() / n;
    std::int64_t u = 0;
    for (const auto& [place, row] : expected.rows) {
      ASSERT_EQ(out_rows.element(u), place) << u;
      for (std::int64_t c = 0; c < columns; ++c) {
        ASSERT_NO_FATAL_FAILURE(expect_close<T>(out_values[u * columns + c], row.value[static_cast<std::size_t>(c)],
                                                row.magnitude[static_cast<std::size_t>(c)],
                                                "row " + std::to_string(u) + ", column " + std::to_string(c)));
      }
      ++u;
    }
    for (; u < n; ++u) {
      ASSERT_EQ(out_rows.element(u), height) << u;
      for (std::int64_t c = 0; c < columns; ++c) {
        ASSERT_TRUE(same_bits(out_values.element(u * columns + c), static_cast<T>(-77.0)))
            << "row " << u << " was written";
      }
    }
  }

  const Context& ctx;
  Places places;
  std::int64_t height;
  TestTensor<std::int64_t> rows;
  TestTensor<T> values;
  TestTensor<std::int64_t> out_rows;
  TestTensor<T> out_values;
  TestTensor<std::int64_t> count{ctx, {}};
};

class MergeRowsTest : public OnEveryBackend {
 protected:
  template <class T>
  void check(const Places& places, std::int64_t columns, std::int64_t height, Layout layout = Layout::contiguous) {
    SCOPED_TRACE(testing::Message() << places.size() << " x " << columns << " of " << height << ", "
                                    << name_of(ElementTypeOf<T>::value));
    Merge<T>(ctx, places, {static_cast<std::int64_t>(places.size()), columns}, height, layout).call_and_check();
  }

  void check_types(const Places& places, std::int64_t columns, std::int64_t height) {
    for_each_type([&]<class T>() { check<T>(places, columns, height); });
  }

  template <class T>
  void check_bits(std::int64_t n, std::int64_t columns) {
    const Places places = uneven_places(n, 400);
    Merge<T> first(ctx, places, {n, columns}, 400);
    first.call_and_check();
    const auto expect_same = [&](const Context& other_ctx) {
      Merge<T> again(other_ctx, places, {n, columns}, 400);
      again.call();
      for (std::int64_t i = 0; i < first.count.element(0) * columns; ++i) {
        ASSERT_TRUE(same_bits(first.out_values.element(i), again.out_values.element(i)))
            << n << " x " << columns << ": " << i;
      }
    };
    expect_same(ctx);
    expect_same(Context(ctx).deterministic(true));
    for (const Backend backend : enabled_backends()) expect_same(Context(backend));
  }
};
PORTOPS_ON_EVERY_BACKEND(MergeRowsTest);

TEST_P(MergeRowsTest, adds_up_the_rows_of_each_place) {
  // Columns that fill packs, that do not, and that are several tiles of a host and of a GPU.
  for (const std::int64_t n : {1, 2, 63, 64, 65, 128, 1000, 5000}) {
    for (const std::int64_t columns : {1, 7, 64}) check_types(random_places(n, 300), columns, 300);
  }
  // Up to 10000 rows are few.
  for (const std::int64_t n : {2047, 2048, 2049, 4095, 9999, 10000, 10001, 16384}) {
    check_types(random_places(n, 700), 8, 700);
  }
  check_types(random_places(500, 90), 1000, 90);
  check_types(random_places(500, 90), 24, 90);
}

TEST_P(MergeRowsTest, of_one_place) {
  // Of few rows 32 are a block and 256 a group of blocks; the last needs three levels of sums.
  for (const std::int64_t n : {1, 7, 31, 32, 33, 64, 65, 255, 256, 257, 513, 2048, 2049, 9999, 10000, 10001, 70000})
    check_types(Places(static_cast<std::size_t>(n), 5), 8, 9);
  check<float>(Places(700, 5), 300, 9);
  check<f16>(Places(700, 5), 1000, 9);
  check<float>(Places(300, 0), 3, 1);
  check<double>(Places(200000, 41), 2, 42);
}

TEST_P(MergeRowsTest, does_not_drift_over_constant_rows) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const std::int64_t n : {4096, 50000}) {
        Merge<T> merge(ctx, Places(static_cast<std::size_t>(n), 5), {n, 3}, 9);
        merge.values.fill([&](std::int64_t) { return constant; });
        merge.call_and_check();
      }
    }
  });
}

TEST_P(MergeRowsTest, whose_numbers_differ_much) {
  check_types(uneven_places(20000, 3000), 16, 3000);
  check<float>(uneven_places(100000, 50000), 4, 50000);
}

TEST_P(MergeRowsTest, of_places_that_all_differ) {
  Places places(3000);
  std::iota(places.rbegin(), places.rend(), 10);
  check_types(places, 64, 4000);
}

/// A GPU deals places out by a hash, and has a table of those that are a team's.
TEST_P(MergeRowsTest, of_more_places_than_a_table_holds) {
  skip_where_sanitized();
  Places places;
  for (std::int64_t i = 0; i < 1500; ++i) places.push_back(i * 7 % 1300);
  check<f16>(places, 4225, 1300);  // so many columns that all places are one team's
}

TEST_P(MergeRowsTest, of_places_whose_hashes_are_neighbours) {
  constexpr std::uint32_t inverse = 0xe8b2f51;  // of the hash's factor
  Places places;
  for (std::uint32_t i = 0; i < 900; ++i) places.push_back(i % 600 * inverse);
  check_types(places, 8, std::int64_t{1} << 32);
}

TEST_P(MergeRowsTest, gives_the_row_itself_where_there_is_one) {
  Merge<float> merge(ctx, {2, 0}, {2, 3}, 3);
  merge.values.fill([](std::int64_t i) { return i == 0 ? -0.0 : 0.1 * static_cast<double>(i); });
  merge.call();
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_TRUE(same_bits(merge.out_values.element(3 + c), merge.values.element(c))) << c;
    EXPECT_TRUE(same_bits(merge.out_values.element(c), merge.values.element(3 + c))) << c;
  }
}

TEST_P(MergeRowsTest, of_runs_that_end_where_chunks_end) {
  Places places;
  for (std::int64_t place = 0; place < 40; ++place) {
    for (int i = 0; i < (place % 3 == 0 ? 64 : place % 3 == 1 ? 128 : 32); ++i) places.push_back(place);
  }
  check_types(places, 12, 40);
  std::reverse(places.begin(), places.end());
  check_types(places, 12, 40);
}

TEST_P(MergeRowsTest, of_large_tables) {
  const std::int64_t large = std::int64_t{1} << 40;
  check<float>(random_places(700, large), 8, large);
  check<float>({large - 1, 0, large - 1, 5}, 3, large);
  const std::int64_t limit = (std::int64_t{1} << 32) - 1;
  for (const std::int64_t height : {limit - 1, limit, limit + 1}) {
    check<double>({height - 1, 0, height - 1, height - 2}, 3, height);
  }
}

/// Places are sorted by digits, whose number and size follow from the table's height.
TEST_P(MergeRowsTest, of_tables_of_any_number_of_digits) {
  const std::int64_t rows = 10500;  // more than few, and an incomplete tile of a GPU's sort
  for (const std::int64_t height :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{31}, std::int64_t{32}, std::int64_t{255}, std::int64_t{256},
        std::int64_t{65535}, std::int64_t{65536}, std::int64_t{1} << 24, (std::int64_t{1} << 32) - 2}) {
    check<float>(random_places(rows, height), 1, height);
  }
}

/// A GPU sorts by tiles, of twice as many rows where there are many, and CUB sorts what is more than half a million.
TEST_P(MergeRowsTest, of_numbers_of_rows_where_ways_of_sorting_end) {
  skip_where_sanitized();
  for (const std::int64_t n : {270336, 270337, 540672, 540673}) check<float>(random_places(n, 5000), 1, 5000);
}

TEST_P(MergeRowsTest, reads_and_writes_any_layout) {
  const Places places = random_places(300, 70);
  for (const Layout layout : all_layouts) {
    for_each_type([&]<class T>() {
      for (const Extents& extents :
           {Extents{300}, Extents{300, 64}, Extents{300, 5, 8}, Extents{300, 2, 3, 4}, Extents{300, 1, 16}}) {
        SCOPED_TRACE(testing::Message() << extents.to_string() << ", layout " << static_cast<int>(layout));
        Merge<T>(ctx, places, extents, 70, layout).call_and_check();
      }
    });
  }
}

TEST_P(MergeRowsTest, without_elements) {
  for (const Extents& extents : {Extents{0}, Extents{0, 5}, Extents{4, 0}, Extents{4, 2, 0}}) {
    SCOPED_TRACE(extents.to_string());
    const Places places = extents[0] == 0 ? Places() : Places{2, 1, 2, 0};
    Merge<float> merge(ctx, places, extents, 3);
    merge.call();
    EXPECT_EQ(merge.count.element(0), extents[0] == 0 ? 0 : 3);
    for (std::int64_t u = 0; u < extents[0]; ++u) EXPECT_EQ(merge.out_rows.element(u), u) << u;
  }
  Merge<float> merge(ctx, {}, {0, 2}, 0);  // a table without rows
  merge.call();
  EXPECT_EQ(merge.count.element(0), 0);
}

TEST_P(MergeRowsTest, carries_nan_and_inf_to_their_place_alone) {
  Merge<float> merge(ctx, {4, 1, 4, 0, 1}, {5, 2}, 5);
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float elements[] = {inf, 1, nan, 2, -inf, 3, 5, 6, 7, 8};
  merge.values.fill([&](std::int64_t i) { return elements[i]; });
  merge.call();
  const auto at = [&](std::int64_t row, std::int64_t column) { return merge.out_values[row * 2 + column]; };
  EXPECT_EQ(at(0, 0), 5.0);
  EXPECT_EQ(at(0, 1), 6.0);
  EXPECT_TRUE(std::isnan(at(1, 0)));
  EXPECT_EQ(at(1, 1), 10.0);
  EXPECT_TRUE(std::isnan(at(2, 0)));  // inf − inf
  EXPECT_EQ(at(2, 1), 4.0);
}

/// A sum beyond the range of the element type on the way, but not of f32, is right in the end.
TEST_P(MergeRowsTest, of_halves_is_rounded_once) {
  Merge<f16> merge(ctx, {0, 0, 0, 0}, {4, 1}, 1);
  const double elements[] = {60000, 60000, -60000, 0.25};
  merge.values.fill([&](std::int64_t i) { return elements[i]; });
  merge.call();
  EXPECT_EQ(merge.out_values[0], static_cast<double>(static_cast<float>(f16(60000.25f))));
}

TEST_P(MergeRowsTest, has_the_same_bits_on_every_run_and_backend) {
  for_each_type([&]<class T>() {
    // The last has sums that cross chunks on more levels than a GPU joins in one kernel.
    for (const auto& [n, columns] :
         {std::pair{9000, 1}, {9000, 7}, {9000, 64}, {3000, 300}, {10001, 8}, {13000, 8}, {140000, 4}}) {
      check_bits<T>(n, columns);
    }
  });
}

/// A GPU walks down the rows of chunks, instead of adding up run by run, where there are so many columns.
TEST_P(MergeRowsTest, of_many_columns_has_the_same_bits_on_every_run_and_backend) {
  skip_where_sanitized();
  check_bits<float>(10001, 632);
  check_bits<f16>(10001, 1264);
  check_bits<double>(10001, 159);
  check_bits<bf16>(10001, 159);
}

/// Rows whose places and layout differ only in where the tensor lies add up the same.
TEST_P(MergeRowsTest, has_the_same_bits_in_every_layout) {
  const Places places = uneven_places(5000, 100);
  Merge<float> plain(ctx, places, {5000, 16}, 100);
  plain.call();
  for (const Layout layout : all_layouts) {
    Merge<float> other(ctx, places, {5000, 16}, 100, layout);
    other.call();
    for (std::int64_t i = 0; i < plain.count.element(0) * 16; ++i) {
      ASSERT_TRUE(same_bits(plain.out_values.element(i), other.out_values.element(i))) << i;
    }
  }
}

TEST_P(MergeRowsTest, merging_again_changes_nothing) {
  Merge<float> once(ctx, random_places(400, 50), {400, 8}, 50);
  once.call();
  const std::int64_t count = once.count.element(0);
  Places merged(static_cast<std::size_t>(count));
  for (std::int64_t u = 0; u < count; ++u) merged[static_cast<std::size_t>(u)] = once.out_rows.element(u);
  Merge<float> twice(ctx, merged, {count, 8}, 50);
  twice.values.fill([&](std::int64_t i) { return once.out_values[i]; });
  twice.call();
  ASSERT_EQ(twice.count.element(0), count);
  for (std::int64_t i = 0; i < count * 8; ++i) {
    ASSERT_TRUE(same_bits(twice.out_values.element(i), once.out_values.element(i))) << i;
  }
}

TEST_P(MergeRowsTest, uses_a_lent_workspace_of_the_size_that_it_names) {
  Merge<float> merge(ctx, uneven_places(3000, 200), {3000, 8}, 200);
  const std::size_t bytes = merge_rows_workspace(ctx, merge.rows, merge.values, merge.out_rows, merge.out_values,
                                                 merge.count, {.height = 200});
  ASSERT_GT(bytes, 0u);
  LentMemory memory(ctx, bytes);
  const Context lending = Context(ctx).workspace(memory.workspace());
  Merge<float>(lending, merge.places, {3000, 8}, 200).call_and_check();
  EXPECT_TRUE(memory.is_untouched_outside());
  const Context too_small = Context(ctx).workspace({memory.workspace().data, bytes - 1});
  expect_error(
      [&] {
        merge_rows(too_small, merge.rows, merge.values, merge.out_rows, merge.out_values, merge.count, {.height = 200});
      },
      "portops::merge_rows::rows: the workspace has " + std::to_string(bytes - 1) + " bytes, expected at least " +
          std::to_string(bytes));
}

/// On hosts the call is refused; on a GPU the rows are left out and the count tells.
TEST_P(MergeRowsTest, refuses_places_outside_of_the_table) {
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    Merge<float> merge(ctx, {4, 1, wrong, 4, wrong}, {5, 2}, 5);
    if (ctx.backend() != Backend::cuda) {
      expect_error([&] { merge.call(); }, "portops::merge_rows: rows[2] is " + std::to_string(wrong) +
                                              ", expected at least 0 and less than 5 (the height)");
      continue;
    }
    merge.call();
    EXPECT_EQ(merge.count.element(0), -3);
    expect_error([&] { merged_count(ctx, merge.count); },
                 "portops::merged_count: rows[2] is not a row of the table, expected at least 0 and less than the "
                 "height");
    EXPECT_EQ(merge.out_rows.element(0), 1);
    EXPECT_EQ(merge.out_rows.element(1), 4);
    for (std::int64_t u = 2; u < 5; ++u) EXPECT_EQ(merge.out_rows.element(u), 5) << u;
    EXPECT_EQ(merge.out_values[0], merge.values[2]);
    EXPECT_EQ(merge.out_values[2], static_cast<float>(merge.values[0] + merge.values[6]));
  }
}

/// So many that they are sorted: the first of the wrong places stays the first.
TEST_P(MergeRowsTest, refuses_places_outside_of_the_table_among_many_rows) {
  Places places = random_places(12000, 700);
  for (const std::size_t wrong : {11000, 7001, 7000, 9000}) places[wrong] = 700 + static_cast<std::int64_t>(wrong);
  Merge<float> merge(ctx, places, {12000, 1}, 700);
  if (ctx.backend() != Backend::cuda) {
    expect_error([&] { merge.call(); },
                 "portops::merge_rows: rows[7000] is 7700, expected at least 0 and less than 700 (the height)");
    return;
  }
  merge.call();
  EXPECT_EQ(merge.count.element(0), -7001);
}

}  // namespace
}  // namespace portops::test
