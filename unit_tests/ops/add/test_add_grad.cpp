// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "add_reference.hpp"
#include "support/broadcast_patterns.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"

namespace portops::test {
namespace {

class AddGradTest : public OnEveryBackend {
 protected:
  /// Each gradient alone and both together.
  template <class T>
  void check(const Extents& x_shape, const Extents& y_shape, const Extents& shape, Layout layout = Layout::contiguous,
             Layout gradient_layout = Layout::contiguous) {
    const TensorRef x = TensorRef::without_data(ElementTypeOf<T>::value, x_shape);
    const TensorRef y = TensorRef::without_data(ElementTypeOf<T>::value, y_shape);
    TestTensor<T> out_grad(ctx, shape, layout);
    out_grad.fill_randomly(4);
    for (int wanted = 1; wanted < 4; ++wanted) {
      TestTensor<T> x_grad(ctx, x_shape, gradient_layout), y_grad(ctx, y_shape, gradient_layout);
      const bool with_x = (wanted & 1) != 0, with_y = (wanted & 2) != 0;
      add_grad(ctx, x, y, out_grad, with_x ? x_grad.ref() : TensorRef(), with_y ? y_grad.ref() : TensorRef());
      if (with_x) expect_near(x_grad, add_grad_reference(x_grad, out_grad), "x_grad");
      if (with_y) expect_near(y_grad, add_grad_reference(y_grad, out_grad), "y_grad");
    }
  }
};

PORTOPS_ON_EVERY_BACKEND(AddGradTest);

TEST_P(AddGradTest, equals_the_reference_for_the_shapes_of_models) {
  for_each_type([&]<class T>() {
    check<T>({4, 64, 32, 32}, {64, 1, 1}, {4, 64, 32, 32});
    check<T>({1024, 256}, {256}, {1024, 256});
    check<T>({256}, {1024, 256}, {1024, 256});
    check<T>({1024, 256}, {1024, 1}, {1024, 256});
    check<T>({3, 5, 197, 175}, {175}, {3, 5, 197, 175});
    check<T>({20000, 3}, {3}, {20000, 3});
    check<T>({2, 8, 64, 64}, {2, 1, 1, 64}, {2, 8, 64, 64});
    check<T>({300, 1}, {1, 700}, {300, 700});
    check<T>({100001}, {}, {100001});
    check<T>({5, 7}, {5, 7}, {5, 7});
    check<T>({}, {}, {});
  });
}

TEST_P(AddGradTest, does_not_drift_over_constant_gradients) {
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const auto& [y_shape, shape] :
           {std::pair{Extents{}, Extents{50001}}, std::pair{Extents{7}, Extents{9000, 7}},
            std::pair{Extents{64, 1}, Extents{64, 1000}}, std::pair{Extents{1, 30, 1}, Extents{40, 30, 40}}}) {
        TestTensor<T> out_grad(ctx, shape), x_grad(ctx, shape), y_grad(ctx, y_shape);
        out_grad.fill([&](std::int64_t) { return constant; });
        add_grad(ctx, TensorRef::without_data(ElementTypeOf<T>::value, shape),
                 TensorRef::without_data(ElementTypeOf<T>::value, y_shape), out_grad, {}, y_grad);
        expect_near(y_grad, add_grad_reference(y_grad, out_grad), "y_grad of " + shape.to_string());
      }
    }
  });
}

TEST_P(AddGradTest, equals_the_reference_for_every_pattern_of_rank_3) {
  for_each_type([&]<class T>() {
    for (const Extents& shape : {Extents{3, 4, 8}, Extents{4, 90, 301}}) {
      for (unsigned x = 0; x < 8; ++x) {
        for (unsigned y = 0; y < 8; ++y) {
          SCOPED_TRACE("x " + masked(shape, x, false).to_string() + ", y " + masked(shape, y, false).to_string());
          check<T>(masked(shape, x, true), masked(shape, y, false), masked(shape, x | y, false));
          if (HasFailure()) return;
        }
      }
    }
  });
}

TEST_P(AddGradTest, reads_and_writes_every_layout_where_it_lies) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout gradient_layout : all_layouts) {
        check<T>({3, 40, 37}, {40, 1}, {3, 40, 37}, layout, gradient_layout);
        check<T>({3, 1, 37}, {3, 40, 37}, {3, 40, 37}, layout, gradient_layout);
      }
    }
  });
}

TEST_P(AddGradTest, of_an_operand_that_was_not_broadcast_is_a_copy) {
  for_each_type([&]<class T>() {
    TestTensor<T> out_grad(ctx, {999}), x_grad(ctx, {999});
    const TensorRef shape = TensorRef::without_data(ElementTypeOf<T>::value, {999});
    out_grad.fill_randomly(4);
    add_grad(ctx, shape, shape, out_grad, x_grad, {});
    x_grad.download();
    for (std::int64_t i = 0; i < 999; ++i) ASSERT_TRUE(same_bits(x_grad.element(i), out_grad.element(i))) << i;
  });
}

TEST_P(AddGradTest, leaves_out_grad_as_it_is_where_it_is_x_grad) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      TestTensor<T> out_grad(ctx, {30, 70}, layout), y_grad(ctx, {70});
      out_grad.fill_randomly(4);
      std::vector<T> before;
      for (std::int64_t i = 0; i < 30 * 70; ++i) before.push_back(out_grad.element(i));
      const TensorRef x = TensorRef::without_data(ElementTypeOf<T>::value, {30, 70});
      const TensorRef y = TensorRef::without_data(ElementTypeOf<T>::value, {70});
      add_grad(ctx, x, y, out_grad, out_grad, y_grad);
      expect_near(y_grad, add_grad_reference(y_grad, out_grad), "y_grad");
      out_grad.download();
      for (std::int64_t i = 0; i < 30 * 70; ++i) {
        ASSERT_TRUE(same_bits(out_grad.element(i), before[static_cast<std::size_t>(i)])) << i;
      }
    }
  });
}

TEST_P(AddGradTest, takes_a_number_for_y) {
  TestTensor<float> out_grad(ctx, {40, 50}), x_grad(ctx, {40, 50});
  out_grad.fill_randomly(4);
  add_grad(ctx, TensorRef::without_data(ElementType::f32, {40, 50}), 0.3, out_grad, x_grad);
  expect_near(x_grad, add_grad_reference(x_grad, out_grad), "x_grad");
}

TEST_P(AddGradTest, agrees_with_central_differences) {
  const Extents shape{3, 4, 5};
  TestTensor<double> x(ctx, {4, 1}), y(ctx, {3, 1, 5}), out(ctx, shape), out_grad(ctx, shape);
  TestTensor<double> x_grad(ctx, {4, 1}), y_grad(ctx, {3, 1, 5});
  x.fill_randomly(1);
  y.fill_randomly(2);
  TestTensor<double> whole(ctx, shape);
  whole.fill_randomly(3);
  const auto check_slopes = [&](TestTensor<double>& a, TestTensor<double>& b, TestTensor<double>& a_grad,
                                TestTensor<double>& b_grad) {
    out_grad.fill_randomly(4);
    add_grad(ctx, a.ref(), b.ref(), out_grad.ref(), a_grad.ref(), b_grad.ref());
    const auto objective = [&] {
      add(ctx, a.ref(), b.ref(), out.ref());
      return weighted_sum(out, out_grad);
    };
    expect_slopes(a, a_grad, objective);
    expect_slopes(b, b_grad, objective);
  };
  check_slopes(x, y, x_grad, y_grad);
  TestTensor<double> whole_grad(ctx, shape);
  check_slopes(whole, x, whole_grad, x_grad);
}

TEST_P(AddGradTest, fills_with_zeros_where_nothing_is_summed) {
  TestTensor<float> x(ctx, {3, 1}), y(ctx, {3, 0}), out_grad(ctx, {3, 0});
  TestTensor<float> x_grad(ctx, {3, 1}, Layout::every_other), y_grad(ctx, {3, 0});
  add_grad(ctx, x.ref(), y.ref(), out_grad.ref(), x_grad.ref(), y_grad.ref());
  x_grad.download();
  y_grad.download();
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(x_grad[i], 0.0);
}

TEST_P(AddGradTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  const Extents shape{700, 333};
  const TensorRef x = TensorRef::without_data(ElementType::f32, {700, 1});
  const TensorRef y = TensorRef::without_data(ElementType::f32, {333});
  TestTensor<float> out_grad(ctx, shape);
  out_grad.fill_randomly(4);
  std::vector<float> first;
  for (int run = 0; run < 6; ++run) {
    TestTensor<float> x_grad(ctx, {700, 1}), y_grad(ctx, {333});
    add_grad(Context(ctx).deterministic(run % 2 == 1), x, y, out_grad, x_grad, y_grad);
    x_grad.download();
    y_grad.download();
    std::vector<float> found;
    for (std::int64_t i = 0; i < 700; ++i) found.push_back(x_grad.element(i));
    for (std::int64_t i = 0; i < 333; ++i) found.push_back(y_grad.element(i));
    if (run == 0) first = found;
    ASSERT_EQ(std::memcmp(found.data(), first.data(), found.size() * sizeof(float)), 0) << "run " << run;
  }
}

TEST_P(AddGradTest, does_not_stagnate_over_long_sums) {
  // A chain of float additions would stop at 2^24.
  const std::int64_t size = (std::int64_t{1} << 25) + 12345;
  TestTensor<float> out_grad(ctx, {size}), y_grad(ctx, {});
  out_grad.fill([](std::int64_t) { return 1.0; });
  add_grad(ctx, TensorRef::without_data(ElementType::f32, {size}), TensorRef::without_data(ElementType::f32, {}),
           out_grad, {}, y_grad);
  y_grad.download();
  EXPECT_EQ(y_grad[0], static_cast<double>(static_cast<float>(size)));
}

TEST_P(AddGradTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  TestTensor<float> out_grad(ctx, {700, 333}), y_grad(ctx, {333}), lent_y_grad(ctx, {333});
  const TensorRef x = TensorRef::without_data(ElementType::f32, {700, 333});
  const TensorRef y = TensorRef::without_data(ElementType::f32, {333});
  out_grad.fill_randomly(4);
  const std::size_t bytes = add_grad_workspace(ctx, x, y, out_grad, {}, y_grad);
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(add_grad_workspace(ctx, x, y, out_grad, out_grad, {}), 0u) << "nothing is summed";
  LentMemory memory(ctx, bytes);
  add_grad(ctx, x, y, out_grad, {}, y_grad);
  add_grad(Context(ctx).workspace(memory.workspace()), x, y, out_grad, {}, lent_y_grad);
  y_grad.download();
  lent_y_grad.download();
  for (std::int64_t i = 0; i < 333; ++i) ASSERT_EQ(y_grad[i], lent_y_grad[i]) << i;
  EXPECT_TRUE(memory.is_untouched_outside());
}

}  // namespace
}  // namespace portops::test
