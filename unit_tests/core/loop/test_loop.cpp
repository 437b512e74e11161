// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/plan_emulation.hpp"
#include "support/sanitized.hpp"

namespace portops::test {
namespace {

using impl::Loop;

/// A tensor of f32 at an address; its elements are never touched.
TensorRef tensor_at(std::uintptr_t address, const Extents& extents, const Extents& strides) {
  return {reinterpret_cast<void*>(address), ElementType::f32, extents, strides, MemorySpace::host};
}
TensorRef tensor_at(std::uintptr_t address, const Extents& extents) {
  return tensor_at(address, extents, extents.row_major_strides());
}

constexpr std::uintptr_t x_at = 0x100000;
constexpr std::uintptr_t y_at = 0x200000;
constexpr std::uintptr_t out_at = 0x300000;

Loop make(const Extents& extents, const TensorOrNumber& x, const TensorOrNumber& y, const TensorRef& out) {
  return impl::make_loop(ElementType::f32, extents, std::array{&x, &y}, std::array{&out});
}

std::vector<std::int64_t> extents_of(const Loop& loop) {
  return {loop.extent.begin(), loop.extent.begin() + loop.rank};
}
std::vector<std::int64_t> strides_of(const Loop& loop, int operand) {
  const auto& stride = loop.operand[static_cast<std::size_t>(operand)].stride;
  return {stride.begin(), stride.begin() + loop.rank};
}
std::uintptr_t address_of(const Loop& loop, int operand) {
  return reinterpret_cast<std::uintptr_t>(loop.operand[static_cast<std::size_t>(operand)].data);
}

using Numbers = std::vector<std::int64_t>;

TEST(LoopTest, merges_contiguous_axes_into_one) {
  const Extents extents{4, 5, 6};
  const Loop loop = make(extents, tensor_at(x_at, extents), tensor_at(y_at, extents), tensor_at(out_at, extents));
  EXPECT_EQ(extents_of(loop), Numbers{120});
  for (int k = 0; k < 3; ++k) EXPECT_EQ(strides_of(loop, k), Numbers{1});
  EXPECT_EQ(address_of(loop, 2), out_at);
  EXPECT_EQ(loop.size(), 120);
}

TEST(LoopTest, of_reversed_tensors_is_contiguous_too) {
  const Extents extents{4, 5, 6};
  const Extents strides{1, 4, 20};
  const Loop loop = make(extents, tensor_at(x_at, extents, strides), tensor_at(y_at, extents, strides),
                         tensor_at(out_at, extents, strides));
  EXPECT_EQ(extents_of(loop), Numbers{120});
  for (int k = 0; k < 3; ++k) EXPECT_EQ(strides_of(loop, k), Numbers{1});
}

TEST(LoopTest, drops_axes_of_extent_1_whatever_their_strides) {
  const Extents extents{1, 7, 1};
  const Loop loop = make(extents, tensor_at(x_at, extents, {-3, 1, 99}), tensor_at(y_at, {7, 1}, {1, 0}),
                         tensor_at(out_at, extents, {0, 1, 0}));
  EXPECT_EQ(extents_of(loop), Numbers{7});
  for (int k = 0; k < 3; ++k) EXPECT_EQ(strides_of(loop, k), Numbers{1});
  const Extents one{1, 1, 1};
  EXPECT_EQ(make(one, tensor_at(x_at, one), 0.5, tensor_at(out_at, one)).rank, 0);
}

TEST(LoopTest, gives_broadcast_operands_the_stride_0) {
  const Extents extents{4, 5, 6};
  const Loop loop = make(extents, tensor_at(x_at, {6}), tensor_at(y_at, {5, 1}), tensor_at(out_at, extents));
  EXPECT_EQ(extents_of(loop), (Numbers{4, 5, 6}));
  EXPECT_EQ(strides_of(loop, 0), (Numbers{0, 0, 1}));
  EXPECT_EQ(strides_of(loop, 1), (Numbers{0, 1, 0}));
  EXPECT_EQ(strides_of(loop, 2), (Numbers{30, 6, 1}));
}

TEST(LoopTest, merges_axes_along_which_operands_are_broadcast_together) {
  const Extents extents{4, 5, 6, 7};
  const Loop loop = make(extents, tensor_at(x_at, {6, 7}), 0.25, tensor_at(out_at, extents));
  EXPECT_EQ(extents_of(loop), (Numbers{20, 42}));
  EXPECT_EQ(strides_of(loop, 0), (Numbers{0, 1}));
  EXPECT_EQ(strides_of(loop, 1), (Numbers{0, 0}));
  EXPECT_EQ(strides_of(loop, 2), (Numbers{42, 1}));
  EXPECT_EQ(loop.operand[1].number, 0.25);
  EXPECT_EQ(loop.operand[1].data, nullptr);
}

TEST(LoopTest, merges_only_where_all_operands_allow_it) {
  const Extents extents{4, 6};
  const Loop loop = make(extents, tensor_at(x_at, extents, {8, 1}), 0.5, tensor_at(out_at, extents));
  EXPECT_EQ(extents_of(loop), (Numbers{4, 6}));
  EXPECT_EQ(strides_of(loop, 0), (Numbers{8, 1}));
}

TEST(LoopTest, orders_axes_by_the_strides_of_the_output) {
  const Extents extents{4, 5, 6};
  const Loop loop = make(extents, tensor_at(x_at, extents), 0.5, tensor_at(out_at, extents, {5, 1, 20}));
  EXPECT_EQ(extents_of(loop), (Numbers{6, 20}));
  EXPECT_EQ(strides_of(loop, 2), (Numbers{20, 1}));
  EXPECT_EQ(strides_of(loop, 0), (Numbers{1, 6}));
}

TEST(LoopTest, orders_axes_by_inputs_where_the_output_does_not_move) {
  const Extents extents{4, 5};
  const Loop loop = make(extents, tensor_at(x_at, extents, {1, 4}), 0.5, tensor_at(out_at, {1, 1}));
  EXPECT_EQ(extents_of(loop), Numbers{20});
  EXPECT_EQ(strides_of(loop, 0), Numbers{1});
  EXPECT_EQ(strides_of(loop, 2), Numbers{0});
}

TEST(LoopTest, walks_an_output_forwards) {
  const Extents extents{4, 5};
  const Loop loop = make(extents, tensor_at(x_at, extents), tensor_at(y_at, {5}), tensor_at(out_at, extents, {5, -1}));
  EXPECT_EQ(extents_of(loop), (Numbers{4, 5}));
  EXPECT_EQ(strides_of(loop, 2), (Numbers{5, 1}));
  EXPECT_EQ(address_of(loop, 2), out_at - 4 * 4);
  EXPECT_EQ(strides_of(loop, 0), (Numbers{5, -1}));
  EXPECT_EQ(address_of(loop, 0), x_at + 4 * 4);
  EXPECT_EQ(strides_of(loop, 1), (Numbers{0, -1}));
}

TEST(LoopTest, of_operands_that_all_run_backwards_is_contiguous) {
  const Extents extents{4, 5};
  const Extents backwards{-5, -1};
  const Loop loop = make(extents, tensor_at(x_at, extents, backwards), tensor_at(y_at, extents, backwards),
                         tensor_at(out_at, extents, backwards));
  EXPECT_EQ(extents_of(loop), Numbers{20});
  for (int k = 0; k < 3; ++k) EXPECT_EQ(strides_of(loop, k), Numbers{1});
  EXPECT_EQ(address_of(loop, 0), x_at - 19 * 4);
}

TEST(LoopTest, sums_outputs_along_axes_where_they_have_the_extent_1) {
  const Extents extents{4, 5};
  const TensorRef out = tensor_at(out_at, {5}), full = tensor_at(out_at + 0x1000, {4, 5}), none;
  const TensorOrNumber x = tensor_at(x_at, extents);
  const Loop loop = impl::make_loop(ElementType::f32, extents, std::array{&x}, std::array{&out, &full, &none});
  EXPECT_TRUE(loop.sums(0));
  EXPECT_FALSE(loop.sums(1));
  EXPECT_FALSE(loop.sums(2)) << "it is not wanted";
  EXPECT_EQ(strides_of(loop, 1), (Numbers{0, 1}));
  EXPECT_EQ(loop.operand[3].data, nullptr);
  EXPECT_EQ(loop.inputs, 1);
  EXPECT_EQ(loop.outputs, 3);
}

TEST(LoopTest, of_rank_0_has_one_element) {
  const Loop loop = make({}, tensor_at(x_at, {}), 0.5, tensor_at(out_at, {}));
  EXPECT_EQ(loop.rank, 0);
  EXPECT_EQ(loop.size(), 1);
}

TEST(LoopTest, may_have_no_elements) {
  const Extents extents{4, 0, 3};
  const Loop loop = make(extents, tensor_at(x_at, extents), 0.5, tensor_at(out_at, extents));
  EXPECT_EQ(loop.size(), 0);
}

TEST(LoopTest, computes_the_same_as_the_operands_say_for_random_ones) {
  RandomCalls random(1);
  for (int i = 0; i < unless_sanitized(3000, 750); ++i) {
    const Call call = random.next(ElementType::f32);
    const Loop loop = call.loop();
    ASSERT_EQ(results_of(loop), call.results()) << call.describe();
  }
}

TEST(LoopTest, is_canonical_for_random_operands) {
  RandomCalls random(2);
  for (int i = 0; i < 3000; ++i) {
    const Call call = random.next(ElementType::f64);
    const Loop loop = call.loop();
    for (int axis = 0; axis < loop.rank; ++axis) ASSERT_NE(loop.extent[axis], 1) << call.describe();
    const auto mergeable = [&](const impl::LoopOperand& operand, int axis) {
      return operand.stride[axis] == operand.stride[axis + 1] * loop.extent[axis + 1];
    };
    for (int axis = 0; axis + 1 < loop.rank; ++axis) {
      ASSERT_FALSE(std::all_of(loop.operand.begin(), loop.operand.begin() + loop.operands(), [&](const auto& operand) {
        return mergeable(operand, axis);
      })) << call.describe();
    }
    const impl::LoopOperand& first = loop.operand[loop.inputs];
    if (first.data == nullptr) continue;
    for (int axis = 0; axis < loop.rank; ++axis) ASSERT_GE(first.stride[axis], 0) << call.describe();
  }
}

TEST(LoopTest, of_a_reduction_follows_what_is_reduced) {
  // The axes of x lie the other way round than those of out, and one of them backwards.
  const Extents extents{4, 5, 6};
  const TensorRef x = tensor_at(x_at, extents, {1, -4, 20}), out = tensor_at(out_at, {4, 5, 1}, {5, 1, 0});
  const Loop loop = impl::make_reduction(x, out, {false, false, true});
  EXPECT_EQ(extents_of(loop), (Numbers{6, 5, 4}));
  EXPECT_EQ(strides_of(loop, impl::reduction_x), (Numbers{20, 4, 1}));
  EXPECT_EQ(address_of(loop, impl::reduction_x), x_at - 4 * 4 * sizeof(float));
  EXPECT_EQ(strides_of(loop, impl::reduction_out), (Numbers{0, -1, 5}));
  EXPECT_EQ(address_of(loop, impl::reduction_out), out_at + 4 * sizeof(float));
  EXPECT_TRUE(loop.reduced[0]);
  EXPECT_FALSE(loop.reduced[1] || loop.reduced[2]) << "turned with their axes";
}

TEST(LoopTest, of_a_reduction_merges_no_reduced_axis_with_a_kept_one) {
  const Extents extents{4, 5, 6, 7};
  const TensorRef x = tensor_at(x_at, extents), out = tensor_at(out_at, {6, 7});
  const Loop loop = impl::make_reduction(x, out, {true, true, false, false});
  EXPECT_EQ(extents_of(loop), (Numbers{20, 42}));
  EXPECT_EQ(strides_of(loop, impl::reduction_out), (Numbers{0, 1}));
}

}  // namespace
}  // namespace portops::test
