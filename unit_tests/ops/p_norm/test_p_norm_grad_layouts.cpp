// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "p_norm_reference.hpp"

// Gradients of tensors that lie anywhere in memory.

namespace portops::test {
namespace {

using Axes = std::vector<std::int64_t>;

/// Orders whose gradients are no larger than out_grad.
const std::vector<double> usual_orders{1.0, 1.5, 2.0, 2.3, 3.0, 4.0, inf, -inf};

class PNormGradLayoutTest : public OnEveryBackend {};
PORTOPS_ON_EVERY_BACKEND(PNormGradLayoutTest);

TEST_P(PNormGradLayoutTest, reads_and_writes_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    const std::vector<double> orders{1.0, 2.3, inf};
    for (const Layout layout : all_layouts) {
      for (const Extents& extents : {Extents{6, 37, 5}, Extents{3, 2, 301}, Extents{3, 1, 36}}) {
        TestTensor<T> x(ctx, extents, layout);
        x.fill_randomly(1);
        for (const Layout other : all_layouts) {
          for (const Axes& axis : {Axes{0}, Axes{-1}, Axes{0, 2}}) {
            check_gradients(ctx, x, {.axis = axis}, orders, Layout::padded, Layout::reversed, other);
            check_gradients(ctx, x, {.axis = axis}, orders, layout, other, Layout::contiguous);
          }
        }
      }
    }
  });
}

TEST_P(PNormGradLayoutTest, reads_rows_that_are_misaligned) {
  for_each_type([&]<class T>() {
    for_each_misaligned<T>(ctx, [&](const TensorRef& x, const std::vector<double>& values) {
      check_gradients<T>(ctx, x, values, {.axis = {1}}, {2.0, 2.3, inf});
      check_gradients<T>(ctx, x, values, {.axis = {0}}, {2.0, 2.3, inf});
    });
  });
}

TEST_P(PNormGradLayoutTest, writes_rows_that_are_misaligned_and_nothing_beside_them) {
  for_each_type([&]<class T>() {
    for (const Extents& shape : {Extents{7, 131}, Extents{30, 136}, Extents{2100, 2}, Extents{1500, 5}}) {
      TestTensor<T> x(ctx, shape);
      x.fill_randomly(1);
      for (const std::int64_t axis : {1, 0}) {
        for (const double p : {2.0, 2.3, inf}) {
          const PNormParams params{.porder = p, .axis = {axis}};
          const Extents norms = out_extents(shape, params);
          TestTensor<T> out(ctx, norms), out_grad(ctx, norms), expected(ctx, shape);
          out_grad.fill_randomly(2);
          p_norm(ctx, x, out, params);
          p_norm_grad(ctx, x, out, out_grad, expected, params);
          expected.download();
          for (std::int64_t shift = 1; shift < 9; ++shift) {
            TestTensor<T> storage(ctx, {shape.product() + 9});
            storage.fill([](std::int64_t) { return 77.0; });
            const TensorRef x_grad(static_cast<T*>(storage.ref().data()) + shift, shape, storage.ref().space());
            p_norm_grad(ctx, x, out, out_grad, x_grad, params);
            storage.download();
            for (std::int64_t i = 0; i < shape.product() + 9; ++i) {
              const bool inside = i >= shift && i < shift + shape.product();
              ASSERT_EQ(storage[i], inside ? expected[i - shift] : 77.0) << describe<T>(shape, params) << ", " << i;
            }
          }
        }
      }
    }
  });
}

TEST_P(PNormGradLayoutTest, reads_elements_that_stand_for_many) {
  for_each_type([&]<class T>() {
    TestTensor<T> one(ctx, {1}), row(ctx, {37}), out(ctx, {50}), out_grad(ctx, {50}), x_grad(ctx, {50, 37});
    one.fill([](std::int64_t) { return 0.75; });
    out_grad.fill([](std::int64_t) { return 0.75; });
    row.fill_randomly(1);
    const TensorRef x(static_cast<T*>(row.ref().data()), {50, 37}, {0, 1}, row.ref().space());
    const TensorRef same(static_cast<T*>(one.ref().data()), {50}, {0}, one.ref().space());
    std::vector<double> values;
    for (std::int64_t i = 0; i < 50 * 37; ++i) values.push_back(row[i % 37]);
    for (const double p : usual_orders) {
      const PNormParams params{.porder = p};
      p_norm(ctx, x, out, params);
      p_norm_grad(ctx, x, out, same, x_grad, params);
      out.download();
      expect_gradients(x_grad,
                       reference_gradients(values, values_of(out), values_of(out_grad), {x.extents(), params}, params),
                       p, describe<T>(x.extents(), params));
    }
  });
}

TEST_P(PNormGradLayoutTest, in_place_has_the_same_bits) {
  for_each_type([&]<class T>() {
    struct Case {
      Extents x, out;
      std::int64_t axis;
    };
    for (const auto& [shape, out_shape, axis] :
         {Case{{40, 250}, {40}, 1}, Case{{3, 70, 9}, {3, 9}, 1}, Case{{70001}, {}, 0}, Case{{9000, 5}, {5}, 0}}) {
      for (const Layout layout : {Layout::contiguous, Layout::padded, Layout::reversed}) {
        for (const double p : {1.0, 2.0, 2.3, inf}) {
          const PNormParams params{.porder = p, .axis = {axis}};
          TestTensor<T> x(ctx, shape, layout), x_grad(ctx, shape, layout), out(ctx, out_shape),
              out_grad(ctx, out_shape);
          x.fill([](std::int64_t i) { return i % 40 == 0 ? 3.0 : scattered(i); });
          out_grad.fill_randomly(2);
          p_norm(ctx, x.ref(), out.ref(), params);
          p_norm_grad(ctx, x.ref(), out.ref(), out_grad.ref(), x_grad.ref(), params);
          p_norm_grad(ctx, x.ref(), out.ref(), out_grad.ref(), x.ref(), params);
          x.download();
          x_grad.download();
          for (std::int64_t i = 0; i < shape.product(); ++i) {
            ASSERT_TRUE(same_bits(x.element(i), x_grad.element(i))) << shape.to_string() << ", p = " << p << ", " << i;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace portops::test
