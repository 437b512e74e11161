// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check/check_list.hpp"
#include "ops/parts/move_packs_kernel.hpp"
#include "ops/parts/move_parts_kernel.hpp"
#include "parts_reference.hpp"
#include "support/kokkos_support.hpp"
#include "support/sanitized.hpp"

#include <sys/mman.h>

// The kernels of a GPU and their tables, run item by item on the host: nothing in them needs a device.

namespace portops::test {
namespace {

using impl::MovePacks;
using impl::MoveParts;
using impl::PartsDirection;
using impl::PartsForm;
using impl::PartsGroup;
using impl::PartsGroups;
using impl::PartsPlan;

template <class Kernel>
void run_items(const Kernel& kernel) {
  for (std::int64_t item = 0; item < kernel.items(); ++item) kernel(item);
}

template <class Word, PartsForm form>
void run_group(const PartsPlan& plan, const PartsGroup& group, bool by_packs) {
  ASSERT_TRUE(group.is_narrow(plan));
  const bool is_large = group.table.size() > impl::small_table;
  if constexpr (form != PartsForm::strided && sizeof(Word) < impl::gpu_pack_bytes) {
    if (by_packs && MovePacks<Word, form, impl::small_table>::suits(plan, group)) {
      return is_large ? run_items(MovePacks<Word, form, impl::large_table>(plan, group))
                      : run_items(MovePacks<Word, form, impl::small_table>(plan, group));
    }
  }
  if (is_large) {
    run_items(MoveParts<Backend::cuda, Word, form, impl::large_table, int>(plan, group));
  } else if (group.count % 2 == 0) {
    run_items(MoveParts<Backend::cuda, Word, form, impl::small_table, int>(plan, group));
  } else {
    run_items(MoveParts<Backend::cuda, Word, form, impl::small_table, std::int64_t>(plan, group));
  }
}

template <class Word>
void run_form(const PartsPlan& plan, const PartsGroup& group, bool by_packs) {
  switch (group.form) {
    case PartsForm::equal_runs: return run_group<Word, PartsForm::equal_runs>(plan, group, by_packs);
    case PartsForm::runs: return run_group<Word, PartsForm::runs>(plan, group, by_packs);
    case PartsForm::strided: return run_group<Word, PartsForm::strided>(plan, group, by_packs);
  }
}

/// What was launched: the parts of each kernel.
struct Launches {
  PartsPlan plan;
  std::vector<PartsForm> forms;
  std::vector<std::int64_t> counts;
  std::vector<bool> suit_packs;
};

bool suits_packs(const PartsPlan& plan, const PartsGroup& group) {
  return MovePacks<std::uint16_t, PartsForm::runs, impl::small_table>::suits(plan, group);
}

Launches run_as_gpu(const TensorRef& whole, const std::vector<TensorRef>& parts, const PartsCase& what,
                    PartsDirection direction, int most_words, bool by_packs) {
  Launches launches;
  if (whole.size() == 0) return launches;
  launches.plan = impl::make_parts_plan(whole, parts, what.lengths, what.axis, direction, Backend::cuda);
  for (PartsGroups groups(launches.plan, Backend::cuda, most_words); groups.next();) {
    const PartsGroup& group = groups.group();
    launches.forms.push_back(group.form);
    launches.counts.push_back(group.count);
    launches.suit_packs.push_back(launches.plan.word < impl::gpu_pack_bytes && suits_packs(launches.plan, group));
    switch (launches.plan.word) {
      case 2: run_form<std::uint16_t>(launches.plan, group, by_packs); break;
      case 4: run_form<std::uint32_t>(launches.plan, group, by_packs); break;
      case 8: run_form<std::uint64_t>(launches.plan, group, by_packs); break;
      default: run_form<impl::Pack<std::uint32_t, 4>>(launches.plan, group, by_packs);
    }
  }
  return launches;
}

class MovePartsTest : public testing::Test {
 protected:
  Context ctx{enabled_backends().back()};  // of a host: devices come first
  int most_words = impl::large_table;
  bool by_packs = true;  ///< where these suit

  template <class T>
  Launches check(
      const PartsCase& what, const std::function<bool(std::size_t)>& is_wanted = [](std::size_t) { return true; }) {
    Launches launches;
    for (const PartsDirection direction : {PartsDirection::to_whole, PartsDirection::to_parts}) {
      PartsTensors<T> tensors(ctx, what);
      direction == PartsDirection::to_whole ? tensors.fill_parts() : tensors.fill_whole();
      // What is moved is moved in the tensors' own memory, on the host.
      std::vector<TensorRef> parts = tensors.part_refs();
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!is_wanted(i)) parts[i] = {};
      }
      launches = run_as_gpu(tensors.whole, parts, what, direction, most_words, by_packs);
      tensors.download();
      tensors.expect_same(is_wanted);
    }
    return launches;
  }
};

TEST_F(MovePartsTest, moves_every_case_in_every_pair_of_layouts) {
  for_each_type([&]<class T>() {
    for (PartsCase what : parts_cases()) {
      const bool is_long = what.lengths.size() > 100;
      for (const Layout whole : all_layouts) {
        for (const Layout part : all_layouts) {
          if (is_long && (whole != part || is_sanitized())) continue;
          what.whole = whole;
          what.part = part;
          for (const int words : {impl::small_table, impl::large_table}) {
            if (!is_long && words == impl::large_table) continue;  // the tables are short
            most_words = words;
            for (const bool packs : {false, true}) {
              by_packs = packs;
              check<T>(what);
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  });
}

TEST_F(MovePartsTest, takes_one_kernel_for_as_many_parts_as_its_arguments_hold) {
  const auto equal = [&](std::size_t count, int axis) {
    return check<float>({{4, 8}, axis, std::vector<std::int64_t>(count, 4)});
  };
  const auto different = [&](std::size_t count, int axis) {
    std::vector<std::int64_t> lengths(count);
    for (std::size_t i = 0; i < count; ++i) lengths[i] = 1 + static_cast<std::int64_t>(i % 3);
    return check<float>({{4, 8}, axis, lengths});
  };
  EXPECT_EQ(equal(1000, 1).counts, (std::vector<std::int64_t>{1000}));
  EXPECT_EQ(equal(3968, 0).counts, (std::vector<std::int64_t>{3968}));
  EXPECT_EQ(equal(3969, 0).counts, (std::vector<std::int64_t>{3968, 1}));
  EXPECT_EQ(different(1984, 0).counts, (std::vector<std::int64_t>{1984}));
  EXPECT_EQ(different(1322, 1).counts, (std::vector<std::int64_t>{1322}));
  EXPECT_EQ(different(1323, 1).counts, (std::vector<std::int64_t>{1322, 1}));
  most_words = impl::small_table;  // of a CUDA before 12.1
  EXPECT_EQ(equal(448, 0).counts, (std::vector<std::int64_t>{448}));
  EXPECT_EQ(equal(448, 1).counts, (std::vector<std::int64_t>{448}));
  EXPECT_EQ(equal(449, 0).counts, (std::vector<std::int64_t>{448, 1}));
  EXPECT_EQ(equal(1000, 1).counts, (std::vector<std::int64_t>{448, 448, 104}));
  EXPECT_EQ(different(224, 0).counts, (std::vector<std::int64_t>{224}));
  EXPECT_EQ(different(225, 0).counts, (std::vector<std::int64_t>{224, 1}));
  EXPECT_EQ(different(149, 1).counts, (std::vector<std::int64_t>{149}));
}

TEST_F(MovePartsTest, starts_another_form_where_lengths_change) {
  most_words = impl::small_table;
  std::vector<std::int64_t> lengths(300, 2);
  lengths.push_back(3);
  lengths.push_back(2);
  const Launches launches = check<float>({{4, 8}, 0, lengths});
  EXPECT_EQ(launches.counts, (std::vector<std::int64_t>{300, 2}));
  EXPECT_EQ(launches.forms, (std::vector{PartsForm::equal_runs, PartsForm::runs}));
}

TEST_F(MovePartsTest, takes_the_widest_words_that_fit) {
  const auto word = [&]<class T>(T, const Extents& extents, int axis, const std::vector<std::int64_t>& lengths) {
    return check<T>({extents, axis, lengths}).plan.word;
  };
  EXPECT_EQ(word(float{}, {4, 8}, 0, {3, 5}), 16);
  EXPECT_EQ(word(float{}, {4, 8}, 1, {4, 8}), 16);
  EXPECT_EQ(word(float{}, {4, 8}, 1, {4, 2}), 8);
  EXPECT_EQ(word(float{}, {4, 8}, 1, {4, 3}), 4);
  EXPECT_EQ(word(f16{}, {4, 8}, 1, {8, 4}), 8);
  EXPECT_EQ(word(f16{}, {4, 8}, 1, {8, 2}), 4);
  EXPECT_EQ(word(f16{}, {4, 8}, 1, {8, 3}), 2);
  EXPECT_EQ(word(double{}, {4, 8}, 1, {2, 3}), 8);
  EXPECT_EQ(word(double{}, {4, 8}, 1, {2, 4}), 16);
}

TEST_F(MovePartsTest, sees_that_elements_lie_side_by_side) {
  EXPECT_TRUE(check<float>({{4, 8}, 1, {3, 5}}).plan.contiguous);
  EXPECT_TRUE(check<float>({{4, 8}, 0, {3, 5}, Layout::reversed, Layout::reversed}).plan.contiguous);
  EXPECT_TRUE(check<float>({{4, 8}, 1, {3, 5}, Layout::padded, Layout::padded}).plan.contiguous);
  EXPECT_FALSE(check<float>({{4, 8}, 1, {3, 5}, Layout::contiguous, Layout::reversed}).plan.contiguous);
  EXPECT_FALSE(check<float>({{4, 8}, 1, {3, 5}, Layout::every_other, Layout::contiguous}).plan.contiguous);
}

TEST_F(MovePartsTest, writes_packs_of_dense_memory) {
  for_each_type([&]<class T>() {
    // More packs than a warp takes, with runs shorter and longer than a pack, and ends in the middle of one.
    for (const std::int64_t rows : {1, 2, 7, 67}) {
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>(13, 33), std::vector<std::int64_t>(5, 1), {1, 3, 5, 1001, 17, 250}, {301}}) {
        const Launches launches = check<T>({{rows, 1}, 1, lengths});
        EXPECT_EQ(launches.suit_packs, std::vector<bool>{launches.plan.word < impl::gpu_pack_bytes});
        check<T>({{3, rows}, 0, lengths});
        check<T>({{rows, 1, 3}, 1, lengths}, [](std::size_t i) { return i % 3 != 1; });
        if (HasFailure()) return;
      }
    }
  });
  EXPECT_FALSE(check<float>({{5, 1}, 1, {3, 4}, Layout::padded, Layout::padded}).suit_packs.at(0)) << "rows apart";
  most_words = impl::small_table;
  EXPECT_EQ(check<float>({{1, 5}, 0, std::vector<std::int64_t>(450, 5)}).suit_packs, (std::vector<bool>{true, true}));
}

TEST_F(MovePartsTest, writes_words_where_packs_are_misaligned) {
  alignas(16) std::uint16_t memory[64], parts[2][32];
  for (const PartsDirection direction : {PartsDirection::to_whole, PartsDirection::to_parts}) {
    for (int by = 0; by < 8; ++by) {
      const auto ref = [&](std::uint16_t* data, const Extents& extents) {
        return TensorRef(data + by, ElementType::f16, extents, extents.row_major_strides(), MemorySpace::host);
      };
      const PartsCase what{{3, 1}, 1, {3, 5}};
      const auto plan = impl::make_parts_plan(ref(memory, {3, 8}),
                                              std::vector<TensorRef>{ref(parts[0], {3, 3}), ref(parts[1], {3, 5})},
                                              what.lengths, what.axis, direction, Backend::cuda);
      PartsGroups groups(plan, Backend::cuda, most_words);
      ASSERT_TRUE(groups.next());
      EXPECT_EQ(suits_packs(plan, groups.group()), by == 0) << by;
    }
  }
}

TEST_F(MovePartsTest, leaves_out_what_is_not_wanted) {
  for (int axis = 0; axis < 2; ++axis) {
    for (unsigned wanted = 1; wanted < 16; ++wanted) {
      check<float>({{5, 6}, axis, {2, 2, 2, 2}}, [&](std::size_t i) { return (wanted >> i & 1u) != 0; });
      check<float>({{5, 6}, axis, {2, 1, 40, 3}}, [&](std::size_t i) { return (wanted >> i & 1u) != 0; });
      check<f16>({{5, 6}, axis, {2, 1, 40, 3}, Layout::contiguous, Layout::reversed},
                 [&](std::size_t i) { return (wanted >> i & 1u) != 0; });
    }
  }
}

TEST_F(MovePartsTest, spends_no_threads_on_a_large_part_that_is_not_wanted) {
  const Launches launches =
      check<float>({{64, 64}, 0, {3, 20000, 4, 1, 5}}, [](std::size_t i) { return i != 1 && i != 3; });
  EXPECT_EQ(launches.counts, (std::vector<std::int64_t>{1, 3}));
}

/// Memory of which only what is touched exists.
class LargeTensor {
 public:
  explicit LargeTensor(const Extents& extents)
      : extents_(extents), bytes_(2 * static_cast<std::size_t>(extents.product())) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~LargeTensor() {
    if (*this) munmap(memory_, bytes_);
  }
  LargeTensor(const LargeTensor&) = delete;
  LargeTensor& operator=(const LargeTensor&) = delete;

  explicit operator bool() const { return memory_ != MAP_FAILED; }
  operator TensorRef() const {  // NOLINT: implicit for brevity
    return {memory_, ElementType::f16, extents_, extents_.row_major_strides(), MemorySpace::host};
  }
  std::uint16_t& operator[](std::int64_t index) const { return static_cast<std::uint16_t*>(memory_)[index]; }

 private:
  Extents extents_;
  std::size_t bytes_;
  void* memory_;
};

/// Of a kernel for words of two bytes.
constexpr std::int64_t words_of_tile = 256, threads_of_tile = 32;

TEST_F(MovePartsTest, finds_words_beyond_32_bits) {
  constexpr std::int64_t two_to_31 = std::int64_t{1} << 31;
  for (const int axis : {0, 1}) {
    // Runs that are long, and rows that are many.
    const std::int64_t rows = axis == 0 ? 1 : two_to_31 - 1;
    const std::vector<std::int64_t> lengths =
        axis == 0 ? std::vector<std::int64_t>{two_to_31 + 3, two_to_31 * 2 + 5, 7} : std::vector<std::int64_t>{2, 1, 2};
    const auto shape = [&](std::int64_t length) { return axis == 0 ? Extents{length} : Extents{rows, length}; };
    const std::int64_t row = lengths[0] + lengths[1] + lengths[2];
    const LargeTensor whole(shape(row)), a(shape(lengths[0])), b(shape(lengths[1])), c(shape(lengths[2]));
    if (!whole || !a || !b || !c) GTEST_SKIP() << "no address space";
    const LargeTensor* const parts[] = {&a, &b, &c};
    const PartsPlan plan = impl::make_parts_plan(whole, std::vector<TensorRef>{a, b, c}, lengths, axis,
                                                 PartsDirection::to_whole, Backend::cuda);
    ASSERT_EQ(plan.word, 2);
    PartsGroups groups(plan, Backend::cuda, impl::small_table);
    ASSERT_TRUE(groups.next());
    const MoveParts<Backend::cuda, std::uint16_t, PartsForm::runs, impl::small_table, std::int64_t> kernel(
        plan, groups.group());
    ASSERT_FALSE(groups.group().is_narrow(plan));
    ASSERT_EQ(kernel.items(), (rows * row + words_of_tile - 1) / words_of_tile * threads_of_tile);
    const std::int64_t size = rows * row;
    for (const std::int64_t middle :
         {std::int64_t{0}, lengths[0], lengths[0] + lengths[1], two_to_31, 2 * two_to_31, size / 2, size - 1}) {
      const std::int64_t tile = middle / words_of_tile;
      const std::int64_t begin = tile * words_of_tile, end = std::min(size, begin + words_of_tile);
      // A word of the whole: its part, and its place there.
      const auto source = [&](std::int64_t at) -> std::uint16_t& {
        std::int64_t in_row = at % row;
        std::size_t k = 0;
        for (; in_row >= lengths[k]; ++k) in_row -= lengths[k];
        return (*parts[k])[at / row * lengths[k] + in_row];
      };
      for (std::int64_t at = begin; at < end; ++at) source(at) = static_cast<std::uint16_t>(at * 7 + 1);
      for (std::int64_t thread = 0; thread < threads_of_tile; ++thread) kernel(tile * threads_of_tile + thread);
      for (std::int64_t at = begin; at < end; ++at) {
        ASSERT_EQ(whole[at], static_cast<std::uint16_t>(at * 7 + 1)) << "word " << at << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace portops::test
