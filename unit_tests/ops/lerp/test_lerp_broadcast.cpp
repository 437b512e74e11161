// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lerp_reference.hpp"
#include "support/broadcast_patterns.hpp"
#include "support/sanitized.hpp"

#include <portops/ops/lerp.hpp>

// Broadcast patterns of three operands: along each axis, each operand either has the extent or 1. Every pattern up to
// rank 3, and of rank 4 every pattern of any two operands.

namespace portops::test {
namespace {

class LerpBroadcastTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(LerpBroadcastTest);

/// One call of lerp and of lerp_grad for a pattern.
template <class T>
void check_pattern(const Context& ctx, const Extents& shape, unsigned x_mask, unsigned y_mask, unsigned weight_mask) {
  const bool short_rank = (x_mask + y_mask + weight_mask) % 2 == 0;
  const Extents out_shape =
      short_rank ? masked(shape, x_mask | y_mask | weight_mask, true) : united(shape, x_mask | y_mask | weight_mask);
  TestTensor<T> x(ctx, masked(shape, x_mask, short_rank)), y(ctx, masked(shape, y_mask, short_rank));
  TestTensor<T> weight(ctx, masked(shape, weight_mask, short_rank)), out(ctx, out_shape), out_grad(ctx, out_shape);
  TestTensor<T> x_grad(ctx, x.extents()), y_grad(ctx, y.extents()), weight_grad(ctx, weight.extents());
  x.fill_randomly(x_mask + 1);
  y.fill_randomly(y_mask + 17);
  weight.fill_randomly(weight_mask + 33);
  out_grad.fill_randomly(49);

  lerp(ctx, x.ref(), y.ref(), weight.ref(), out.ref());
  out.download();
  const std::int64_t size = out_shape.product();
  for (std::int64_t i = 0; i < size; ++i) {
    const T expected =
        lerp_reference(x.element(x.broadcast_index(out_shape, i)), y.element(y.broadcast_index(out_shape, i)),
                       weight.element(weight.broadcast_index(out_shape, i)));
    ASSERT_EQ(out[i], static_cast<double>(expected)) << "element " << i << " of " << out_shape.to_string();
  }

  lerp_grad(ctx, x.ref(), y.ref(), weight.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref(), weight_grad.ref());
  const LerpGradReference<T> expected(x, y, weight, out_grad);
  expect_near(x_grad, expected.x, "x_grad");
  expect_near(y_grad, expected.y, "y_grad");
  expect_near(weight_grad, expected.weight, "weight_grad");
}

/// With `apart`, a few patterns of weight for each of x and y: those by which the sum of the masks is a multiple of it.
template <class T>
void check_all_patterns(const Context& ctx, const Extents& shape, unsigned apart = 1) {
  const unsigned masks = 1u << shape.rank();
  for (unsigned x = 0; x < masks; ++x) {
    for (unsigned y = 0; y < masks; ++y) {
      for (unsigned weight = (masks * apart - x - y) % apart; weight < masks; weight += apart) {
        SCOPED_TRACE("x " + masked(shape, x, false).to_string() + ", y " + masked(shape, y, false).to_string() +
                     ", weight " + masked(shape, weight, false).to_string());
        check_pattern<T>(ctx, shape, x, y, weight);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(LerpBroadcastTest, equals_the_reference_for_every_pattern_of_rank_0_to_3) {
  for_each_type([&]<class T>() {
    check_all_patterns<T>(ctx, {});
    check_all_patterns<T>(ctx, {37});
    check_all_patterns<T>(ctx, {5, 18});
    check_all_patterns<T>(ctx, {3, 4, 8});
  });
}

TEST_P(LerpBroadcastTest, equals_the_reference_for_patterns_of_rank_4) {
  check_all_patterns<float>(ctx, {2, 3, 4, 5}, 3);
}

TEST_P(LerpBroadcastTest, equals_the_reference_for_patterns_of_many_tiles) {
  // Two axes that are wide, tall or neither against the tiles of each backend, and a third one around them.
  for (const Extents& shape :
       {Extents{300, 700}, Extents{1500, 67}, Extents{9, 2100}, Extents{4, 90, 301}, Extents{37, 5, 130}}) {
    const unsigned masks = 1u << shape.rank();
    const unsigned all = masks - 1, step = unless_sanitized(1u, 3u);
    for (unsigned mask = 0; mask < masks; mask += step) {
      check_pattern<float>(ctx, shape, all, mask, all);
      check_pattern<f16>(ctx, shape, all, mask, all & ~mask);
      check_pattern<double>(ctx, shape, mask, all & ~mask, mask >> 1);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace portops::test
