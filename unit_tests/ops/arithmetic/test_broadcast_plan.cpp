// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/plan_emulation.hpp"

// The forms that the shapes of models take on a GPU: nothing in a plan needs one.

namespace portops::test {
namespace {

using impl::Access;
using impl::TilePlan;
using impl::Walk;

TensorRef tensor_at(std::uintptr_t address, const Extents& extents) {
  return {reinterpret_cast<void*>(address), ElementType::f32, extents, extents.row_major_strides(), MemorySpace::host};
}

impl::Loop gradient_loop(const Extents& x, const Extents& y) {
  const TensorOrNumber out_grad = tensor_at(std::uintptr_t{1} << 32, x);
  const TensorRef x_grad = tensor_at(std::uintptr_t{2} << 32, x), y_grad = tensor_at(std::uintptr_t{3} << 32, y);
  return impl::make_loop(ElementType::f32, x, std::array{&out_grad}, std::array{&x_grad, &y_grad});
}

struct Shape {
  Extents x, y;
  Walk walk;
};
const Shape shapes[] = {{{32, 64, 128, 128}, {64, 1, 1}, Walk::along},
                        {{16384, 4096}, {4096}, Walk::down},
                        {{16384, 4096}, {16384, 1}, Walk::along},
                        {{16384, 4096}, {1}, Walk::along}};

TEST(BroadcastPlanTest, reads_a_broadcast_operand_by_the_position_of_packs) {
  for (const Shape& shape : shapes) {
    const TensorOrNumber x = tensor_at(std::uintptr_t{1} << 32, shape.x), y = tensor_at(2 << 20, shape.y);
    const TensorRef out = tensor_at(std::uintptr_t{3} << 32, shape.x);
    const impl::Loop loop = impl::make_loop(ElementType::f32, shape.x, std::array{&x, &y}, std::array{&out});
    ASSERT_TRUE(impl::is_flat(loop, Backend::cuda)) << shape.y.to_string();
    const impl::FlatPlan plan = impl::make_flat_plan(loop, Backend::cuda);
    const bool single = shape.y.product() == 1;
    EXPECT_EQ(plan.form, single ? impl::FlatForm::packs : impl::FlatForm::rows) << shape.y.to_string();
    EXPECT_EQ(plan.operand[0].access, impl::FlatAccess::packs) << shape.y.to_string();
  }
}

TEST(BroadcastPlanTest, sums_one_gradient_beside_the_other_in_a_walk_and_leaves_few_partial_sums) {
  for (const Shape& shape : shapes) {
    const impl::Loop loop = gradient_loop(shape.x, shape.y);
    const TilePlan plan = impl::make_tile_plan(loop, Backend::cuda);
    EXPECT_EQ(plan.walk, shape.walk) << shape.y.to_string();
    EXPECT_EQ(plan.operand[0].access, Access::packs) << shape.y.to_string();
    const auto elements = static_cast<std::size_t>(shape.x.product());
    EXPECT_LT(impl::map_workspace(loop, Backend::cuda), elements * 4 / 100) << shape.y.to_string();
    const std::size_t expected = plan.operand[2].direct ? 0 : 1;
    EXPECT_EQ(impl::make_sum_plans(loop, plan).size(), expected) << shape.y.to_string();
  }
}

}  // namespace
}  // namespace portops::test
