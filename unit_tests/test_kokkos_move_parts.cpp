// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/check_list.hpp"
#include "core/move_parts_kernel.hpp"
#include "kokkos_support.hpp"
#include "parts_reference.hpp"

// The kernels of a GPU and their tables, run item by item on the host: nothing in them needs a device.

namespace portops::test {
namespace {

using impl::MoveParts;
using impl::PartsDirection;
using impl::PartsForm;
using impl::PartsGroup;
using impl::PartsGroups;
using impl::PartsPlan;

template <class Word, PartsForm form>
void run_group(const PartsPlan& plan, const PartsGroup& group) {
  const MoveParts<Backend::cuda, Word, form> kernel(plan, group);
  for (std::int64_t item = 0; item < kernel.items(); ++item) kernel(item);
}

template <class Word>
void run_form(const PartsPlan& plan, const PartsGroup& group) {
  switch (group.form) {
    case PartsForm::equal_runs: return run_group<Word, PartsForm::equal_runs>(plan, group);
    case PartsForm::runs: return run_group<Word, PartsForm::runs>(plan, group);
    case PartsForm::strided: return run_group<Word, PartsForm::strided>(plan, group);
  }
}

/// What was launched: the parts of each kernel.
struct Launches {
  PartsPlan plan;
  std::vector<PartsForm> forms;
  std::vector<std::int64_t> counts;
};

Launches run_as_gpu(const TensorRef& whole, const std::vector<TensorRef>& parts, const PartsCase& what,
                    PartsDirection direction) {
  Launches launches;
  if (whole.size() == 0) return launches;
  launches.plan = impl::make_parts_plan(whole, parts, what.lengths, what.axis, direction, Backend::cuda);
  for (PartsGroups groups(launches.plan, Backend::cuda); groups.next();) {
    const PartsGroup& group = groups.group();
    launches.forms.push_back(group.form);
    launches.counts.push_back(group.count);
    switch (launches.plan.word) {
      case 2: run_form<std::uint16_t>(launches.plan, group); break;
      case 4: run_form<std::uint32_t>(launches.plan, group); break;
      case 8: run_form<std::uint64_t>(launches.plan, group); break;
      default: run_form<impl::Pack<std::uint32_t, 4>>(launches.plan, group);
    }
  }
  return launches;
}

class MovePartsTest : public testing::Test {
 protected:
  Context ctx{enabled_backends().back()};  // of a host: devices come first

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
      launches = run_as_gpu(tensors.whole, parts, what, direction);
      tensors.download();
      tensors.expect_same(is_wanted);
    }
    return launches;
  }
};

TEST_F(MovePartsTest, moves_every_case_in_every_pair_of_layouts) {
  for_each_type([&]<class T>() {
    for (PartsCase what : parts_cases()) {
      for (const Layout whole : all_layouts) {
        for (const Layout part : all_layouts) {
          if (what.lengths.size() > 100 && whole != part) continue;
          what.whole = whole;
          what.part = part;
          check<T>(what);
          if (HasFailure()) return;
        }
      }
    }
  });
}

TEST_F(MovePartsTest, takes_one_kernel_for_as_many_parts_as_its_arguments_hold) {
  const auto equal = [&](std::size_t count, int axis) {
    return check<float>({{4, 8}, axis, std::vector<std::int64_t>(count, 4)});
  };
  EXPECT_EQ(equal(448, 0).counts, (std::vector<std::int64_t>{448}));
  EXPECT_EQ(equal(448, 1).counts, (std::vector<std::int64_t>{448}));
  EXPECT_EQ(equal(449, 0).counts, (std::vector<std::int64_t>{448, 1}));
  EXPECT_EQ(equal(1000, 1).counts, (std::vector<std::int64_t>{448, 448, 104}));
  const auto different = [&](std::size_t count, int axis) {
    std::vector<std::int64_t> lengths(count);
    for (std::size_t i = 0; i < count; ++i) lengths[i] = 1 + static_cast<std::int64_t>(i % 3);
    return check<float>({{4, 8}, axis, lengths});
  };
  EXPECT_EQ(different(224, 0).counts, (std::vector<std::int64_t>{224}));
  EXPECT_EQ(different(225, 0).counts, (std::vector<std::int64_t>{224, 1}));
  EXPECT_EQ(different(149, 1).counts, (std::vector<std::int64_t>{149}));
}

TEST_F(MovePartsTest, starts_another_form_where_lengths_change) {
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

/// Addresses are not touched: the tensors need more memory than there is.
TEST_F(MovePartsTest, plans_more_words_than_32_bits_count) {
  const std::int64_t rows = std::int64_t{1} << 33;
  const auto at = [](std::uintptr_t address, const Extents& extents) {
    return TensorRef(reinterpret_cast<void*>(address), ElementType::f16, extents, extents.row_major_strides(),
                     MemorySpace::host);
  };
  const TensorRef whole = at(1 << 20, {rows, 5});
  const std::vector<TensorRef> parts{at(std::uintptr_t{1} << 50, {rows, 2}), at(std::uintptr_t{1} << 51, {rows, 3})};
  const PartsPlan plan =
      impl::make_parts_plan(whole, parts, std::vector<std::int64_t>{2, 3}, 1, PartsDirection::to_whole, Backend::cuda);
  PartsGroups groups(plan, Backend::cuda);
  ASSERT_TRUE(groups.next());
  const MoveParts<Backend::cuda, std::uint16_t, PartsForm::runs> kernel(plan, groups.group());
  EXPECT_EQ(kernel.items(), 5 * rows / 8);
  EXPECT_FALSE(groups.next());
}

}  // namespace
}  // namespace portops::test
