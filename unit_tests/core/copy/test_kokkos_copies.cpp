// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/copy/copy_to_packs.hpp"
#include "core/copy/copy_words.hpp"
#include "ops/trace/fill_diagonals.hpp"
#include "support/sanitized.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

// The kernels with which a GPU copies and fills, carried out item by item on the host: any machine shows what they do.

namespace portops::test {
namespace {

template <class Kernel>
void run_items(const Kernel& kernel) {
  for (std::int64_t item = 0; item < kernel.items(); ++item) kernel(item);
}

/// The threads of each team one after the other, up to its barrier and then behind it.
template <class Kernel>
void run_tiles(const Kernel& kernel) {
  for (std::int64_t tile = 0; tile < kernel.teams(); ++tile) {
    for (int thread = 0; thread < Kernel::threads; ++thread) kernel.clear(tile, thread);
    for (int thread = 0; thread < Kernel::threads; ++thread) kernel.write_diagonals(tile, thread);
  }
}

/// A tensor of some layout in memory of its own; the rest of that memory must not change.
template <class T>
class HostTensor {
 public:
  HostTensor(const Extents& extents, std::mt19937& engine, bool is_output) : extents_(extents), strides_(extents) {
    const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
    std::vector<int> order(static_cast<std::size_t>(extents.rank()));
    std::iota(order.rbegin(), order.rend(), 0);
    if (number(0, 2) == 0) std::shuffle(order.begin(), order.end(), engine);
    const bool padded = number(0, 2) == 0, backwards = number(0, 3) == 0;
    std::int64_t stride = number(0, 5) == 0 ? 2 : 1;
    first_ = 8 + (number(0, 1) == 0 ? 0 : number(0, 7));
    std::int64_t span = first_ + 8;
    for (const int axis : order) {
      strides_[axis] = backwards && number(0, 1) == 0 ? -stride : stride;
      if (strides_[axis] < 0) first_ += stride * (extents[axis] - 1);
      span += stride * (extents[axis] - 1);
      stride *= extents[axis] + (padded ? number(0, 8) : 0);
    }
    if (!is_output && extents.rank() > 0 && number(0, 9) == 0) strides_[number(0, extents.rank() - 1)] = 0;
    memory_.resize(static_cast<std::size_t>(2 * span + 16), T(0x5c));
    // Packs need memory as a GPU's allocations are aligned.
    while (reinterpret_cast<std::uintptr_t>(memory_.data() + shift_) % 16 != 0) ++shift_;
    first_ += shift_;
  }

  std::size_t at(std::int64_t index) const {
    std::int64_t position = first_;
    for (int axis = extents_.rank() - 1; axis >= 0; --axis) {
      position += index % extents_[axis] * strides_[axis];
      index /= extents_[axis];
    }
    return static_cast<std::size_t>(position);
  }
  T& operator[](std::int64_t index) { return memory_[at(index)]; }
  void number_elements() {
    for (std::int64_t i = 0; i < extents_.product(); ++i) (*this)[i] = static_cast<T>(i * 7 + 1);
  }
  std::vector<T>& memory() { return memory_; }
  TensorRef ref() {
    constexpr ElementType types[] = {ElementType::bf16, ElementType::f32, ElementType::f64};
    return {memory_.data() + first_, types[sizeof(T) / 4], extents_, strides_, MemorySpace::host};
  }
  std::string describe() const { return extents_.to_string() + " strides " + strides_.to_string(); }

 private:
  Extents extents_, strides_;
  std::int64_t first_ = 0;
  std::size_t shift_ = 0;
  std::vector<T> memory_;
};

template <class Word>
void copy_as_on_gpu(const impl::CopyPlan& plan, bool narrow) {
  if (!plan.same_axes) return run_items(impl::CopyWords<Word, false, std::int64_t>(plan));
  narrow ? run_items(impl::CopyWords<Word, true, int>(plan))
         : run_items(impl::CopyWords<Word, true, std::int64_t>(plan));
}

/// With indices of 32 bits, where they are narrow, or of 64.
void copy_as_on_gpu(const impl::CopyPlan& plan, bool narrow) {
  switch (plan.word_bytes) {
    case 2: return copy_as_on_gpu<std::uint16_t>(plan, narrow);
    case 4: return copy_as_on_gpu<std::uint32_t>(plan, narrow);
    case 8: return copy_as_on_gpu<std::uint64_t>(plan, narrow);
    default: return copy_as_on_gpu<impl::WidestWord>(plan, narrow);
  }
}

/// Returns whether the packs are not taken in the order of memory.
template <class Word, class Index>
bool copy_to_packs(const impl::CopyPlan& plan) {
  const impl::CopyToPacks<Word, Index> kernel(plan);
  run_items(kernel);
  return kernel.takes_rows();
}
bool copy_to_packs(const impl::CopyPlan& plan, bool narrow) {
  switch (plan.word_bytes) {
    case 2: return narrow ? copy_to_packs<std::uint16_t, int>(plan) : copy_to_packs<std::uint16_t, std::int64_t>(plan);
    case 4: return narrow ? copy_to_packs<std::uint32_t, int>(plan) : copy_to_packs<std::uint32_t, std::int64_t>(plan);
    default: return narrow ? copy_to_packs<std::uint64_t, int>(plan) : copy_to_packs<std::uint64_t, std::int64_t>(plan);
  }
}

/// Random extents of so many elements.
Extents factors_of(std::int64_t size, std::mt19937& engine) {
  std::vector<std::int64_t> extents;
  for (std::int64_t factor = 2; size > 1;) {
    if (size % factor != 0) {
      ++factor;
      continue;
    }
    if (extents.empty() || (extents.size() < 6 && engine() % 3 != 0)) {
      extents.push_back(factor);
    } else {
      extents[engine() % extents.size()] *= factor;
    }
    size /= factor;
  }
  if (extents.size() < 7 && engine() % 4 == 0) extents.push_back(1);
  std::shuffle(extents.begin(), extents.end(), engine);
  return Extents(std::span<const std::int64_t>(extents));
}

template <class T>
class GpuCopiesTest : public testing::Test {};
using Words = testing::Types<std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(GpuCopiesTest, Words);

TYPED_TEST(GpuCopiesTest, copy_elements_in_their_order) {
  std::mt19937 engine(1);
  int words[17] = {}, gathers = 0;
  for (int call = 0; call < 3000; ++call) {
    constexpr std::int64_t sizes[] = {1, 2, 6, 16, 24, 36, 64, 120, 720, 1024, 3600, 5040};
    const std::int64_t size = sizes[engine() % 12];
    const Extents from_extents = factors_of(size, engine), to_extents = factors_of(size, engine);
    HostTensor<TypeParam> from(from_extents, engine, false), to(to_extents, engine, true);
    from.number_elements();
    const impl::CopyPlan plan = impl::make_copy_plan(from.ref(), to.ref());
    ++words[plan.word_bytes];
    gathers += plan.same_axes ? 0 : 1;
    std::vector<TypeParam> expected = to.memory();
    for (std::int64_t i = 0; i < size; ++i) expected[to.at(i)] = from[i];
    ASSERT_TRUE(plan.is_small());
    copy_as_on_gpu(plan, call % 2 == 0);
    ASSERT_EQ(to.memory(), expected) << from.describe() << " to " << to.describe();
  }
  for (std::size_t bytes = sizeof(TypeParam); bytes <= 16; bytes *= 2) EXPECT_GT(words[bytes], 10) << bytes;
  EXPECT_GT(gathers, 10);
}

TYPED_TEST(GpuCopiesTest, copy_to_packs_in_both_orders) {
  std::mt19937 engine(3);
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  int copies = 0, copies_in_rows = 0;
  for (int call = 0; call < unless_sanitized(600, 150); ++call) {
    const int rank = number(2, 5);
    constexpr int longest[] = {0, 0, 2000, 100, 24, 10};
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank));
    for (std::int64_t& extent : extents) extent = number(1, number(0, 1) == 0 ? 5 : longest[rank]);
    const Extents both(std::span<const std::int64_t>{extents});
    HostTensor<TypeParam> from(both, engine, false), to(both, engine, true);
    from.number_elements();
    const impl::CopyPlan plan = impl::make_copy_plan(from.ref(), to.ref());
    using Kernel = impl::CopyToPacks<TypeParam, int>;
    if (plan.word_bytes > 8 || !Kernel::suits(plan)) continue;
    ++copies;
    std::vector<TypeParam> expected = to.memory();
    for (std::int64_t i = 0; i < both.product(); ++i) expected[to.at(i)] = from[i];
    copies_in_rows += copy_to_packs(plan, call % 2 == 0) ? 1 : 0;
    ASSERT_EQ(to.memory(), expected) << from.describe() << " to " << to.describe();
  }
  EXPECT_GT(copies, unless_sanitized(100, 30));
  EXPECT_GT(copies_in_rows, unless_sanitized(10, 3));
}

TYPED_TEST(GpuCopiesTest, fill_all_but_diagonals_with_zeros) {
  std::mt19937 engine(2);
  int dense = 0, crossed = 0, kept = 0;
  for (int call = 0; call < 3000; ++call) {
    Extents extents = Extents::of_rank(2 + static_cast<int>(engine() % 3));
    constexpr std::int64_t choices[] = {1, 2, 3, 5, 8, 16, 31};
    for (int axis = 0; axis < extents.rank(); ++axis) extents[axis] = choices[engine() % 7];
    const auto rank = static_cast<unsigned>(extents.rank());
    TraceParams params{static_cast<std::int64_t>(engine() % 9) - 4, static_cast<std::int64_t>(engine() % rank), 0};
    params.axis2 = (params.axis1 + 1 + static_cast<std::int64_t>(engine() % (rank - 1))) % rank;
    const TensorRef x = TensorRef::without_data(ElementType::f32, extents);
    const auto [diagonal, kept_extents] = impl::trace_extents("trace_grad", x, params);
    HostTensor<TypeParam> x_grad(extents, engine, true), out_grad(kept_extents.extents, engine, false);
    out_grad.number_elements();

    std::vector<TypeParam> expected = x_grad.memory();
    for (std::int64_t i = 0; i < extents.product(); ++i) {
      std::int64_t rest = i, row = 0, column = 0, index = 0, step = 1;
      for (int axis = extents.rank() - 1; axis >= 0; --axis) {
        const std::int64_t along = rest % extents[axis];
        rest /= extents[axis];
        if (axis == params.axis1) {
          row = along;
        } else if (axis == params.axis2) {
          column = along;
        } else {
          index += along * step;
          step *= extents[axis];
        }
      }
      expected[x_grad.at(i)] = column - row == params.offset ? out_grad[index] : TypeParam(0);
    }
    const impl::DiagonalPlan plan = impl::make_diagonal_plan(x_grad.ref(), out_grad.ref(), diagonal);
    ASSERT_TRUE(plan.is_small());
    if (!plan.is_dense) {
      run_items(impl::FillDiagonals<TypeParam>(plan));
    } else if (call % 2 == 0) {
      run_tiles(impl::FillDenseDiagonals<TypeParam, int>(plan));
    } else {
      run_tiles(impl::FillDenseDiagonals<TypeParam, std::int64_t>(plan));
    }
    dense += plan.is_dense ? 1 : 0;
    ++(plan.crosses ? crossed : kept);
    ASSERT_EQ(x_grad.memory(), expected) << x_grad.describe() << " from " << out_grad.describe() << ", offset "
                                         << params.offset << ", axes " << params.axis1 << ", " << params.axis2;
  }
  EXPECT_GT(dense, 100);
  EXPECT_GT(crossed, 100);
  EXPECT_GT(kept, 100);
}

TEST(CopyPlanTest, is_small_where_no_word_is_far) {
  const auto is_small = [](const Extents& extents, const Extents& strides) {
    const TensorRef from(reinterpret_cast<void*>(1 << 20), ElementType::f32, extents, strides, MemorySpace::host);
    const TensorRef to(reinterpret_cast<void*>(1 << 24), ElementType::f32, {extents.product()}, {1}, MemorySpace::host);
    return impl::make_copy_plan(from, to).is_small();
  };
  EXPECT_TRUE(is_small({3, 5}, {7, 1}));
  EXPECT_TRUE(is_small({std::int64_t{1} << 32}, {1})) << "in words of 16 bytes";
  EXPECT_FALSE(is_small({std::int64_t{1} << 33}, {1}));
  EXPECT_FALSE(is_small({(std::int64_t{1} << 31) - 1}, {1})) << "in words of 4 bytes";
  EXPECT_FALSE(is_small({3, 5}, {std::int64_t{1} << 31, 1}));
  EXPECT_FALSE(is_small({3, 5}, {-(std::int64_t{1} << 31), 1}));
  // From the end of an axis a place goes on to the next row, and has a number on the way.
  EXPECT_TRUE(is_small({1000, 2}, {1, 1000000000}));
  EXPECT_FALSE(is_small({1000, 2}, {1, 1200000000}));
}

TEST(CopyPlanTest, moves_the_widest_words_that_both_sides_allow) {
  const auto plan = [](const Extents& extents, const Extents& strides, std::uintptr_t address = 1 << 20) {
    const TensorRef from(reinterpret_cast<void*>(address), ElementType::f32, extents, strides, MemorySpace::host);
    const TensorRef to(reinterpret_cast<void*>(1 << 24), ElementType::f32, {extents.product()}, {1}, MemorySpace::host);
    return impl::make_copy_plan(from, to);
  };
  EXPECT_EQ(plan({6, 8}, {8, 1}).word_bytes, 16);
  EXPECT_EQ(plan({6, 8}, {8, 1}).to.axes.rank, 1) << "contiguous";
  EXPECT_EQ(plan({6, 8}, {12, 1}).word_bytes, 16);
  EXPECT_EQ(plan({6, 8}, {10, 1}).word_bytes, 8);
  EXPECT_EQ(plan({6, 8}, {9, 1}).word_bytes, 4);
  EXPECT_EQ(plan({6, 6}, {12, 1}).word_bytes, 8);
  EXPECT_EQ(plan({6, 8}, {12, 1}, (1 << 20) + 4).word_bytes, 4);
  EXPECT_EQ(plan({6, 8}, {1, 6}).word_bytes, 4) << "transposed";
  EXPECT_EQ(plan({6, 8, 4}, {4, 24, 1}).word_bytes, 16) << "transposed by fours";
}

}  // namespace
}  // namespace portops::test
