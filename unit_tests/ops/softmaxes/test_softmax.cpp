// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_reference.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <portops/core/registry.hpp>
#include <portops/ops/softmax.hpp>

namespace portops::test {
namespace {

class SoftmaxTest : public OnEveryBackend {
 protected:
  /// softmax and its gradient, of a tensor's elements.
  template <class T>
  void check(TestTensor<T>& x, std::int64_t axis, Layout other_layout) {
    const Extents& extents = x.extents();
    const std::string what = extents.to_string() + " axis " + std::to_string(axis);
    TestTensor<T> out(ctx, extents, other_layout), out_grad(ctx, extents, other_layout), x_grad(ctx, extents);
    softmax(ctx, x, out, {axis});
    expect_near(out, reference_softmax<T>(values_of(x), extents, axis), what + " out");
    out_grad.fill_randomly(2);
    const TensorRef shape = TensorRef::without_data(ElementTypeOf<T>::value, extents);
    softmax_grad(ctx, shape, out, out_grad, x_grad, {axis});
    expect_near(x_grad, reference_softmax_grad<T>(values_of(out), values_of(out_grad), extents, axis),
                what + " x_grad");
  }
  template <class T>
  void check(const Extents& extents, std::int64_t axis, Layout layout = Layout::contiguous,
             Layout other_layout = Layout::contiguous) {
    TestTensor<T> x(ctx, extents, layout);
    x.fill_randomly(1, -9.0, 9.0);
    check(x, axis, other_layout);
  }
};

PORTOPS_ON_EVERY_BACKEND(SoftmaxTest);

TEST_P(SoftmaxTest, equals_the_reference_for_all_axes_and_layouts) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout other : all_layouts) {
        for (std::int64_t axis = -3; axis < 3; ++axis) check<T>({3, 14, 5}, axis, layout, other);
        check<T>({2, 3, 4, 5}, 1, layout, other);
        check<T>({6, 130}, 1, layout, other);
        check<T>({130, 6}, 0, layout, other);
        if (HasFailure()) return;
      }
    }
  });
}

// Along rows a GPU keeps what fits its registers, with packs of every width, and copies short rows by tiles where packs
// would be narrow; beyond, it reads twice, and cuts few rows into parts. Down columns slots share rows that are many. A
// host takes short rows side by side.
TEST_P(SoftmaxTest, equals_the_reference_for_rows_of_many_lengths) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const std::int64_t length :
         {1,   2,   3,    4,    7,    8,    16,   31,   32,   33,   63,    64,    65,    96,   250,
          255, 256, 1000, 1001, 1024, 2047, 4096, 5002, 8192, 9000, 16385, 20000, 32000, 33000}) {
      check<T>({3, length}, 1);
      check<T>({length, 3}, 0);
      if (length < 300) check<T>({70, length, 6}, 1);
      if (length < 300) check<T>({300, length}, 1);
      if (HasFailure()) return;
    }
    // As many short rows as a GPU's threads take in whole packs, and some more.
    for (const std::int64_t length : {1, 2, 3, 4, 5, 6, 7, 8}) check<T>({4101, length}, 1);
    check<T>({270, 16385}, 1);
    check<T>({1037, 50}, 1);
    for (const std::int64_t length : {510, 513, 1001, 1026}) check<T>({37, length}, 1);
    check<T>({2, 70000, 2}, 1);
    check<T>({1, 300000}, 1);
    check<T>({40, 21, 1030}, 1);
    check<T>({30, 100, 520}, 1);
    check<T>({600, 300}, 0);
    for (const std::int64_t rows : {1, 2, 3, 4, 5}) {
      for (const std::int64_t columns : {1, 7, 130, 1026}) check<T>({40, rows, columns}, 1);
    }
  });
}

TEST_P(SoftmaxTest, reads_rows_that_are_misaligned_and_elements_that_stand_for_many) {
  for_each_type([&]<class T>() {
    TestTensor<T> storage(ctx, {110000});
    storage.fill_randomly(1);
    for (const Extents& extents : {Extents{40, 64}, Extents{40, 50}, Extents{3, 33001}}) {
      const std::int64_t length = extents[1];
      TestTensor<T> out(ctx, extents);
      for (const std::int64_t shift : {1, 2, 4}) {
        if (length > 64 && shift > 1) continue;
        for (const Extents& strides :
             {Extents{length + 3, 1}, Extents{0, 1}, Extents{1, 0}, Extents{length + 2, 1}, Extents{length, 1}}) {
          const TensorRef x(static_cast<T*>(storage.ref().data()) + shift, extents, strides, storage.ref().space());
          std::vector<double> values;
          for (std::int64_t i = 0; i < out.size(); ++i) {
            values.push_back(storage[shift + i / length * strides[0] + i % length * strides[1]]);
          }
          for (const std::int64_t axis : {0, 1}) {
            softmax(ctx, x, out, {axis});
            expect_near(out, reference_softmax<T>(values, extents, axis), "out");
          }
        }
      }
    }
  });
}

TEST_P(SoftmaxTest, is_computed_in_place) {
  for_each_type([&]<class T>() {
    for (const Extents& extents :
         {Extents{5, 40}, Extents{600, 50}, Extents{3, 20001}, Extents{20001, 3}, Extents{2, 300000}}) {
      if (extents.product() > unless_sanitized(600000, 60003)) continue;
      for (const std::int64_t axis : {0, 1}) {
        TestTensor<T> x(ctx, extents), out(ctx, extents), out_grad(ctx, extents), x_grad(ctx, extents);
        x.fill_randomly(1);
        out_grad.fill_randomly(2);
        softmax(ctx, x, out, {axis});
        softmax_grad(ctx, x, out, out_grad, x_grad, {axis});
        softmax(ctx, x, x, {axis});
        softmax_grad(ctx, x, out, out_grad, out_grad, {axis});
        expect_same_bits(x, out, extents.to_string());
        expect_same_bits(out_grad, x_grad, extents.to_string() + " x_grad");
      }
    }
  });
}

TEST_P(SoftmaxTest, stands_logits_of_every_size) {
  for_each_type([&]<class T>() {
    const double most = std::is_same_v<T, f16> ? 60000.0 : 1e38;
    for (const Extents& extents : {Extents{4, 50}, Extents{4, 9000}}) {
      for (const std::int64_t axis : {0, 1}) {
        TestTensor<T> x(ctx, extents);
        x.fill([&](std::int64_t i) { return i % 3 == 0 ? most : i % 3 == 1 ? -most : most * 0.99; });
        check(x, axis, Layout::contiguous);
        // Down to results that are subnormal, and to 0.
        x.fill([&](std::int64_t i) { return 1000.0 - static_cast<double>(i % 120); });
        check(x, axis, Layout::contiguous);
        x.fill([&](std::int64_t i) { return -static_cast<double>(i % 1000); });
        check(x, axis, Layout::contiguous);
      }
    }
  });
}

TEST_P(SoftmaxTest, does_not_drift_over_constant_rows) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const Extents& extents : {Extents{1, 300001}, Extents{300001, 1}, Extents{50001, 2}}) {
        // Two numbers, so that the terms of the sums are no powers of two.
        TestTensor<T> x(ctx, extents), out(ctx, extents), out_grad(ctx, extents), x_grad(ctx, extents);
        x.fill([&](std::int64_t i) { return i % 30000 == 0 ? constant + 0.3 : constant; });
        const std::int64_t axis = extents[1] > 2 ? 1 : 0;
        softmax(ctx, x, out, {axis});
        const Expected expected = reference_softmax<T>(values_of(x), extents, axis);
        expect_near(out, expected, "out");
        out.fill([&](std::int64_t i) { return expected.value[static_cast<std::size_t>(i)]; });
        out_grad.fill([&](std::int64_t) { return constant; });
        softmax_grad(ctx, x, out, out_grad, x_grad, {axis});
        expect_near(x_grad, reference_softmax_grad<T>(values_of(out), values_of(out_grad), extents, axis), "x_grad");
      }
    }
  });
}

TEST_P(SoftmaxTest, gives_equal_elements_equal_parts) {
  for_each_type([&]<class T>() {
    for (const std::int64_t length : {1, 3, 64, 1000, 20001}) {
      TestTensor<T> x(ctx, {2, length}), out(ctx, {2, length});
      x.fill([](std::int64_t) { return 7.25; });
      softmax(ctx, x, out);
      out.download();
      using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const T part = static_cast<T>(A(1) / static_cast<A>(length));
      for (std::int64_t i = 0; i < 2 * length; ++i) ASSERT_TRUE(same_bits(out.element(i), part)) << length;
    }
  });
}

TEST_P(SoftmaxTest, follows_the_formula_for_nan_and_inf) {
  for_each_type([&]<class T>() {
    for (const std::int64_t length : {5, 40, 50, 600, 9000, 200000}) {
      if (length > unless_sanitized(200000, 9000)) continue;
      for (const bool down : {false, true}) {
        const Extents extents = down ? Extents{length, 5} : Extents{5, length};
        TestTensor<T> x(ctx, extents), out(ctx, extents), x_grad(ctx, extents);
        const auto line = [&](std::int64_t i) { return down ? i % 5 : i / length; };
        const auto place = [&](std::int64_t i) { return down ? i / 5 : i % length; };
        // A NaN, an Inf, −Inf among others, nothing but −Inf, and nothing of all that.
        x.fill([&](std::int64_t i) {
          const double plain = static_cast<double>(i % 7);
          if (line(i) == 3) return -inf;
          if (place(i) != length - 2) return plain;
          return line(i) == 0 ? nan : line(i) == 1 ? inf : line(i) == 2 ? -inf : plain;
        });
        softmax(ctx, x, out, {down ? 0 : 1});
        softmax_grad(ctx, x, out, out, x_grad, {down ? 0 : 1});
        out.download();
        x_grad.download();
        for (std::int64_t i = 0; i < out.size(); ++i) {
          const bool is_nan = line(i) == 0 || line(i) == 1 || line(i) == 3;
          ASSERT_EQ(std::isnan(out[i]), is_nan) << extents.to_string() << " " << i;
          ASSERT_EQ(std::isnan(x_grad[i]), is_nan) << extents.to_string() << " " << i;
          ASSERT_EQ(out[i] == 0.0, line(i) == 2 && place(i) == length - 2) << extents.to_string() << " " << i;
        }
      }
    }
  });
}

TEST_P(SoftmaxTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  skip_where_sanitized();
  for (const Extents& extents : {Extents{3, 150001}, Extents{150001, 3}, Extents{64, 200, 33}}) {
    for (const std::int64_t axis : {0, 1}) {
      TestTensor<float> x(ctx, extents), out(ctx, extents), again(ctx, extents);
      x.fill_randomly(1);
      softmax(ctx, x, out, {axis});
      for (int run = 0; run < 4; ++run) {
        softmax(Context(ctx).deterministic(run % 2 == 1), x, again, {axis});
        expect_same_bits(again, out, "run " + std::to_string(run));
      }
    }
  }
}

TEST_P(SoftmaxTest, bits_do_not_depend_on_the_number_of_threads) {
  skip_where_sanitized();
  const Context serial(enabled_backends().back());
  if (ctx.backend() != Backend::openmp || serial.backend() != Backend::serial) {
    GTEST_SKIP() << "OpenMP, which has several threads, is compared with Serial";
  }
  for_each_type([&]<class T>() {
    for (const Extents& extents : extents_of_every_kind) {
      for (const std::int64_t axis : {0, 1}) {
        const auto call = [&](const Context& on, TestTensor<T>& out, TestTensor<T>& x_grad) {
          TestTensor<T> x(on, extents), out_grad(on, extents);
          x.fill_randomly(1, -9.0, 9.0);
          out_grad.fill_randomly(2);
          softmax(on, x, out, {axis});
          softmax_grad(on, x, out, out_grad, x_grad, {axis});
          out.download();
          x_grad.download();
        };
        TestTensor<T> out(ctx, extents), x_grad(ctx, extents), expected(serial, extents), its_grad(serial, extents);
        call(ctx, out, x_grad);
        call(serial, expected, its_grad);
        const std::string what = extents.to_string() + " axis " + std::to_string(axis);
        expect_same_bits(out, expected, what + " out");
        expect_same_bits(x_grad, its_grad, what + " x_grad");
      }
    }
  });
}

TEST_P(SoftmaxTest, gradient_agrees_with_central_differences) {
  for (const std::int64_t axis : {0, 1, 2}) {
    TestTensor<double> x(ctx, {3, 4, 2}), out(ctx, {3, 4, 2}), out_grad(ctx, {3, 4, 2}), x_grad(ctx, {3, 4, 2});
    x.fill_randomly(1);
    out_grad.fill_randomly(2);
    softmax(ctx, x, out, {axis});
    softmax_grad(ctx, x, out, out_grad, x_grad, {axis});
    expect_slopes(x, x_grad, [&] {
      softmax(ctx, x, out, {axis});
      return weighted_sum(out, out_grad);
    });
  }
}

TEST_P(SoftmaxTest, accepts_tensors_without_elements_and_numbers) {
  TestTensor<float> none(ctx, {3, 0}), other(ctx, {3, 0}), x(ctx, {}), out(ctx, {}), x_grad(ctx, {});
  const TensorRef shape = TensorRef::without_data(ElementType::f32, {3, 0});
  for (const std::int64_t axis : {0, 1}) {
    EXPECT_NO_THROW(softmax(ctx, none, other, {axis}));
    EXPECT_NO_THROW(softmax_grad(ctx, shape, other, other, none, {axis}));
  }
  x.fill([](std::int64_t) { return 3.5; });
  softmax(ctx, x, out);
  out.download();
  EXPECT_EQ(out[0], 1.0);
  softmax_grad(ctx, x, out, x, x_grad, {0});
  x_grad.download();
  EXPECT_EQ(x_grad[0], 0.0);
}

TEST_P(SoftmaxTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  const std::int64_t length = unless_sanitized(300001, 70001);
  for (const Extents& extents : {Extents{2, length}, Extents{length, 2}}) {
    const SoftmaxParams params{extents[0] == 2 ? 1 : 0};
    TestTensor<float> x(ctx, extents), out(ctx, extents), lent_out(ctx, extents), x_grad(ctx, extents);
    x.fill_randomly(1);
    softmax(ctx, x, out, params);
    out.download();
    const std::size_t bytes = softmax_workspace(ctx, x, lent_out, params);
    ASSERT_GT(bytes, 0u);
    EXPECT_GT(softmax_grad_workspace(ctx, x, out, x, x_grad, params), 0u);
    LentMemory memory(ctx, bytes);
    softmax(Context(ctx).workspace(memory.workspace()), x, lent_out, params);
    lent_out.download();
    for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(lent_out[i], out[i]);
    EXPECT_TRUE(memory.is_untouched_outside());
  }
  TestTensor<float> few(ctx, {2, 3});
  EXPECT_EQ(softmax_workspace(ctx, few, few), 0u);
}

TEST_P(SoftmaxTest, a_call_by_name_computes_what_the_function_computes) {
  TestTensor<float> x(ctx, {4, 3}), out(ctx, {4, 3}), named(ctx, {4, 3}), x_grad(ctx, {4, 3}), named_grad(ctx, {4, 3});
  x.fill_randomly(1);
  softmax(ctx, x, out, {0});
  softmax_grad(ctx, x, out, x, x_grad, {0});
  const auto arguments = Arguments().set("x", x.ref()).set("axis", 0);
  run("softmax", ctx, Arguments(arguments).set("out", named.ref()));
  run("softmax_grad", ctx,
      Arguments(arguments).set("out", out.ref()).set("out_grad", x.ref()).set("x_grad", named_grad.ref()));
  for (TestTensor<float>* tensor : {&out, &named, &x_grad, &named_grad}) tensor->download();
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(named[i], out[i]);
    EXPECT_EQ(named_grad[i], x_grad[i]);
  }
}

TEST_P(SoftmaxTest, refuses_wrong_calls) {
  TestTensor<float> x(ctx, {3, 4}), out(ctx, {3, 4}), row(ctx, {4}), x_grad(ctx, {3, 4});
  const auto refused = [&](const std::function<void()>& call, const std::string& message) {
    expect_error(call, "portops::" + message);
  };
  refused([&] { softmax(ctx, x, out, {2}); }, "softmax: axis is 2, expected -2 to 1 (x has rank 2)");
  refused([&] { softmax_grad(ctx, x, out, out, x_grad, {-3}); },
          "softmax_grad: axis is -3, expected -2 to 1 (x has rank 2)");
  refused([&] { softmax(ctx, x, row); }, "softmax: out has extents [4], expected [3, 4] (the extents of x)");
  refused([&] { softmax(ctx, x, TestTensor<double>(ctx, {3, 4})); },
          "softmax: out has element type f64, expected f32 (the element type of x)");
  refused([&] { softmax(ctx, {}, out); }, "softmax: x is empty, expected a tensor");
  refused([&] { softmax_grad(ctx, x, row, out, x_grad); },
          "softmax_grad: out has extents [4], expected [3, 4] (the extents of x)");
  refused([&] { softmax_grad(ctx, x, out, row, x_grad); },
          "softmax_grad: out_grad has extents [4], expected [3, 4] (the extents of x)");
  refused([&] { softmax_grad(ctx, x, out, x_grad, out); },
          "softmax_grad: x_grad overlaps out in memory, expected disjoint tensors");
  EXPECT_NO_THROW(softmax_grad(ctx, x, out, out, {}));
}

}  // namespace
}  // namespace portops::test
