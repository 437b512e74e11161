// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layer_norm_call.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <portops/core/registry.hpp>

namespace portops::test {
namespace {

template <class T, class P = T>
using Call = LayerNormCall<T, P>;

class LayerNormTest : public OnEveryBackend {
 protected:
  template <class T, class P = T>
  void check(const Extents& extents, std::int64_t axis, Layout x_layout = Layout::contiguous,
             Layout layout = Layout::contiguous) {
    Call<T, P>(ctx, extents, axis, x_layout, layout).check(extents.to_string() + " axis " + std::to_string(axis));
  }
};

PORTOPS_ON_EVERY_BACKEND(LayerNormTest);

TEST_P(LayerNormTest, equals_the_reference_for_all_axes_and_layouts) {
  for_each_type([&]<class T>() {
    for (const Layout layout : all_layouts) {
      for (const Layout other : all_layouts) {
        for (std::int64_t axis = -3; axis < 3; ++axis) check<T>({3, 14, 5}, axis, layout, other);
        check<T>({2, 3, 4, 5}, 2, layout, other);
        check<T>({70, 130}, 1, layout, other);
        check<T>({130, 70}, 1, layout, other);
        if (HasFailure()) return;
      }
    }
  });
}

// Along rows a GPU keeps what fits its registers, with packs of every width, two of them a thread or more; beyond, it
// reads twice, and cuts few rows into parts. A host takes many rows each by one thread.
TEST_P(LayerNormTest, equals_the_reference_for_rows_of_many_lengths) {
  const bool is_gpu = GetParam() == Backend::cuda;
  for_each_type([&]<class T>() {
    for (const std::int64_t length :
         {1,    2,    3,    4,    7,    8,    16,   31,    33,    63,    64,    65,    128,  130,
          132,  250,  255,  256,  260,  512,  520,  1000,  1001,  1024,  1032,  2047,  2048, 2056,
          4096, 4098, 4104, 5002, 8192, 8200, 9001, 16384, 16392, 32768, 32776, 33000, 65536}) {
      if (length > unless_sanitized(5002, 1100) && !is_gpu) break;
      check<T>({3, length}, 1);
      check<T>({length, 3}, 1);
      if (length < 300 && (is_gpu || length % 2 == 0)) check<T>({300, length}, 1);
      if (HasFailure()) return;
    }
    if (is_gpu) check<T>({270, 9000}, 1);
    check<T>({1, 300000}, 1);
    check<T>({300000}, 0);
    check<T>({2200, 65}, 1);
    check<T>({40000, 3}, 1);
    if (is_gpu) check<T>({70, 40000}, 1);
  });
}

// Where rows are many, a GPU's teams take several one after the other in the gradient; those beyond 4096 elements, and
// those that begin between two packs, are read twice, the second time down their columns.
TEST_P(LayerNormTest, equals_the_reference_for_many_rows_of_every_kind) {
  if (GetParam() != Backend::cuda) GTEST_SKIP() << "to a host these rows are like others";
  for_each_type([&]<class T>() {
    for (const std::int64_t length : {24, 40, 256, 300, 1000}) check<T>({4300, length}, 1);
    for (const std::int64_t length : {2048, 2056, 2289, 4096, 4104, 4101, 16384, 16392, 18113, 32768, 40001}) {
      check<T>({150, length}, 1);
    }
    for (const std::int64_t length : {3, 9, 33, 65, 361, 1013}) check<T>({4301, length}, 1);
    check<T>({300, 4096}, 1, Layout::padded, Layout::contiguous);
    check<T>({140, 4104}, 1, Layout::contiguous, Layout::padded);
    check<T>({140, 6000}, 1, Layout::padded, Layout::padded);
    check<T>({300, 40}, 1, Layout::padded, Layout::contiguous);
  });
}

TEST_P(LayerNormTest, takes_columns_of_a_wider_matrix) {
  for_each_type([&]<class T>() {
    for (const std::int64_t columns : {64, 256, 1000, 2048}) {
      const std::int64_t rows = 70, wide = columns + 24;
      const Extents extents{rows, columns};
      Call<T> call(ctx, extents, 1);
      call.forward();
      call.backward();
      const auto within = [&](TestTensor<T>& matrix, const TestTensor<T>* from) {
        matrix = TestTensor<T>(ctx, {rows, wide});
        matrix.fill([&](std::int64_t i) {
          const std::int64_t column = i % wide - 8;
          if (from == nullptr || column < 0 || column >= columns) return 7.0;
          return (*from)[i / wide * columns + column];
        });
        return TensorRef(static_cast<T*>(matrix.ref().data()) + 8, matrix.ref().type(), extents, {wide, 1},
                         matrix.ref().space());
      };
      TestTensor<T> matrices[4];
      const TensorRef x = within(matrices[0], &call.x), out = within(matrices[1], nullptr),
                      out_grad = within(matrices[2], &call.out_grad), x_grad = within(matrices[3], nullptr);
      layer_norm(ctx, x, out, call.mean, call.inv_std, call.params);
      layer_norm_grad(ctx, x, call.mean, call.inv_std, out_grad, x_grad, call.scale_grad, call.bias_grad, call.params);
      for (TestTensor<T>* tensor : {&call.out, &call.x_grad, &matrices[1], &matrices[3]}) tensor->download();
      for (std::int64_t i = 0; i < matrices[1].size(); ++i) {
        const std::int64_t column = i % wide - 8, at = i / wide * columns + column;
        const bool is_there = column >= 0 && column < columns;
        ASSERT_TRUE(same_bits(matrices[1].element(i), is_there ? call.out.element(at) : static_cast<T>(7.0f))) << i;
        ASSERT_TRUE(same_bits(matrices[3].element(i), is_there ? call.x_grad.element(at) : static_cast<T>(7.0f))) << i;
      }
    }
  });
}

TEST_P(LayerNormTest, normalises_channels_of_images_where_they_lie) {
  for_each_type([&]<class T>() {
    Call<T> call(ctx, {2, 19, 21, 70}, -1);
    TestTensor<T> images(ctx, {2, 70, 19, 21});
    images.fill([&](std::int64_t i) {
      const std::int64_t pixel = i % (19 * 21), channel = i / (19 * 21) % 70, image = i / (19 * 21 * 70);
      return call.x[(image * 19 * 21 + pixel) * 70 + channel];
    });
    const TensorRef view(images.ref().data(), images.ref().type(), {2, 19, 21, 70}, {70 * 19 * 21, 21, 1, 19 * 21},
                         images.ref().space());
    layer_norm(ctx, view, call.out, call.mean, call.inv_std, call.params);
    NormReference expected;
    normalize_plainly<T>(expected, call.shape, values_of(call.x), values_of(call.scale), values_of(call.bias), 1e-5);
    expect_near(call.out, expected.out, "out");
    layer_norm_grad(ctx, view, call.mean, call.inv_std, call.out_grad, call.x_grad, call.scale_grad, call.bias_grad,
                    call.params);
    call.mean.download();
    call.inv_std.download();
    differentiate_plainly<T, T>(expected, call.shape, values_of(call.x), values_of(call.mean), values_of(call.inv_std),
                                values_of(call.scale), values_of(call.out_grad));
    expect_near(call.x_grad, expected.x_grad, "x_grad");
    expect_near(call.scale_grad, expected.scale_grad, "scale_grad");
    expect_near(call.bias_grad, expected.bias_grad, "bias_grad");
  });
}

TEST_P(LayerNormTest, takes_parameters_of_the_type_of_sums) {
  for_each_type([&]<class T>() {
    for (const Layout layout : {Layout::contiguous, Layout::every_other}) {
      for (const Extents& extents : {Extents{5, 40}, Extents{300, 64}, Extents{3, 20000}, Extents{70, 9, 33}}) {
        check<T, SumsOf<T>>(extents, -1, Layout::contiguous, layout);
        check<T, SumsOf<T>>(extents, 1, Layout::reversed, layout);
      }
    }
  });
}

TEST_P(LayerNormTest, goes_without_scale_and_bias) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{5, 40}, Extents{3, 20000}}) {
      for (const int which : {0, 1, 2}) {
        Call<T> call(ctx, extents, 1);
        if (which != 0) call.params.scale = {};
        if (which != 1) call.params.bias = {};
        call.check(extents.to_string());
        // Gradients that are wanted alone have the bits that they have together.
        call.params.scale = call.scale;
        call.params.bias = call.bias;
        call.backward();
        TestTensor<T> alone(ctx, extents), of_scale(ctx, {extents[1]});
        layer_norm_grad(ctx, call.x, call.mean, call.inv_std, call.out_grad, alone, {}, {}, call.params);
        layer_norm_grad(ctx, call.x, call.mean, call.inv_std, call.out_grad, {}, of_scale, {}, call.params);
        for (TestTensor<T>* tensor : {&alone, &of_scale, &call.x_grad, &call.scale_grad}) tensor->download();
        for (std::int64_t i = 0; i < alone.size(); ++i) ASSERT_EQ(alone[i], call.x_grad[i]);
        for (std::int64_t i = 0; i < of_scale.size(); ++i) ASSERT_EQ(of_scale[i], call.scale_grad[i]);
      }
    }
  });
}

TEST_P(LayerNormTest, is_computed_in_place) {
  for_each_type([&]<class T>() {
    for (const Extents& extents :
         {Extents{5, 40}, Extents{300, 64}, Extents{3, 20001}, Extents{140, 6000}, Extents{2, 300000}}) {
      if (extents.product() > unless_sanitized(900'000, 100'000)) continue;
      Call<T> call(ctx, extents, 1);
      call.forward();
      call.backward();
      layer_norm_grad(ctx, call.x, call.mean, call.inv_std, call.out_grad, call.out_grad, call.scale_grad,
                      call.bias_grad, call.params);
      layer_norm(ctx, call.x, call.x, call.mean, call.inv_std, call.params);
      for (TestTensor<T>* tensor : {&call.x, &call.out, &call.x_grad, &call.out_grad}) tensor->download();
      for (std::int64_t i = 0; i < call.x.size(); ++i) {
        ASSERT_TRUE(same_bits(call.x.element(i), call.out.element(i))) << extents.to_string() << " " << i;
        ASSERT_TRUE(same_bits(call.out_grad.element(i), call.x_grad.element(i))) << extents.to_string() << " " << i;
      }
    }
  });
}

TEST_P(LayerNormTest, keeps_its_digits_where_the_mean_is_large) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    const double offset = std::is_same_v<T, f16> ? 2048.0 : 1e6;
    for (const Extents& extents :
         {Extents{3, 50}, Extents{300, 64}, Extents{300, 4096}, Extents{3, 9000}, Extents{2, 300000}}) {
      for (const Layout layout : {Layout::contiguous, Layout::reversed}) {
        if (layout == Layout::reversed && extents[0] > 3) continue;
        Call<T> call(ctx, extents, 1, layout);
        Random random(7);
        call.x.fill([&](std::int64_t) { return offset + random.uniform(-20.0, 20.0); });
        call.check(extents.to_string() + " large mean");
        // What comes first is no measure of the rest.
        call.x.fill([&](std::int64_t i) { return i % extents[1] < 40 ? 0.0 : offset + random.uniform(-20.0, 20.0); });
        call.check(extents.to_string() + " a step");
        call.x.fill([&](std::int64_t i) { return i % extents[1] < 2048 ? 0.75 : 0.3 + random.uniform(0.0, 1e-4); });
        call.check(extents.to_string() + " a part apart");
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(LayerNormTest, does_not_drift_over_constants) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const Extents& extents : {Extents{1, 300001}, Extents{30001, 3}, Extents{300, 5000}}) {
        Call<T, SumsOf<T>> call(ctx, extents, 1);  // f16 could not hold the sums
        call.x.fill([&](std::int64_t i) { return i % 2 == 0 ? constant : -constant; });
        call.out_grad.fill([&](std::int64_t) { return constant; });
        call.check(extents.to_string());
      }
    }
  });
}

TEST_P(LayerNormTest, gives_equal_elements_the_bias) {
  for_each_type([&]<class T>() {
    for (const double constant : {7.25, 1.1, -3e4}) {
      for (const std::int64_t length : {1, 3, 64, 1000, 20001, 300000}) {
        Call<T> call(ctx, {2, length}, 1);
        call.x.fill([&](std::int64_t) { return constant; });
        call.forward();
        call.out.download();
        for (std::int64_t i = 0; i < 2 * length; ++i) ASSERT_EQ(call.out[i], call.bias[i % length]) << length;
      }
    }
  });
}

TEST_P(LayerNormTest, takes_numbers_of_every_size) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{4, 50}, Extents{300, 64}, Extents{4, 9000}}) {
      for (const double size :
           {0x1p-24, std::is_same_v<T, f16> ? 0x1p-20 : 0x1p-130, std::is_same_v<T, f16> ? 3e4 : 1e15}) {
        Call<T> call(ctx, extents, 1);
        Random random(3);
        call.x.fill([&](std::int64_t) { return size * random.uniform(-2.0, 2.0); });
        call.check(extents.to_string() + " " + std::to_string(size));
      }
    }
  });
}

TEST_P(LayerNormTest, follows_the_formula_for_nan_and_inf) {
  for_each_type([&]<class T>() {
    for (const std::int64_t length : {5, 40, 600, 9000, 200000}) {
      for (const bool reversed : {false, true}) {
        if (reversed && length > 9000) continue;
        Call<T> call(ctx, {4, length}, 1, reversed ? Layout::reversed : Layout::contiguous);
        call.x.fill([&](std::int64_t i) {
          if (i % length != length - 2) return static_cast<double>(i % 7);
          return i / length == 0 ? nan : i / length == 1 ? inf : i / length == 2 ? -inf : 1.0;
        });
        call.forward();
        call.inv_std.download();
        call.out.download();
        for (std::int64_t row = 0; row < 4; ++row) ASSERT_EQ(std::isnan(call.inv_std[row]), row < 3) << length;
        for (std::int64_t i = 0; i < 4 * length; ++i) ASSERT_EQ(std::isnan(call.out[i]), i < 3 * length) << length;
      }
    }
  });
}

TEST_P(LayerNormTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{3, 150001}, Extents{3000, 33}, Extents{64, 6600}}) {
      for (const Layout layout : {Layout::contiguous, Layout::reversed}) {
        Call<T> call(ctx, extents, 1, layout);
        call.run();
        for (int run = 0; run < 4; ++run) {
          Call<T> again(Context(ctx).deterministic(run % 2 == 1), extents, 1, layout);
          again.run();
          again.expect_same_bits_as(call, extents.to_string());
          if (HasFailure()) return;
        }
      }
    }
  });
}

TEST_P(LayerNormTest, gradients_agree_with_central_differences) {
  for (const std::int64_t axis : {0, 1, 2}) {
    Call<double> call(ctx, {3, 4, 2}, axis);
    call.x.fill_randomly(1, -20.0, 20.0);  // far apart, so that slopes are nearly straight
    call.forward();
    call.backward();
    const auto objective = [&] {
      call.forward();
      return weighted_sum(call.out, call.out_grad);
    };
    // Two elements that are normalised together differ by nothing but a sign: their slopes are steep where they meet.
    if (axis < 2) expect_slopes(call.x, call.x_grad, objective);
    expect_slopes(call.scale, call.scale_grad, objective);
    expect_slopes(call.bias, call.bias_grad, objective);
  }
}

TEST_P(LayerNormTest, accepts_tensors_without_elements) {
  Call<float> no_rows(ctx, {0, 5}, 1), no_columns(ctx, {3, 0}, 1);
  no_rows.forward();
  no_rows.scale_grad.fill([](std::int64_t) { return 7.0; });
  no_rows.backward();
  no_rows.scale_grad.download();
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(no_rows.scale_grad[i], 0.0);
  no_columns.forward();
  no_columns.backward();
  no_columns.mean.download();
  no_columns.inv_std.download();
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(no_columns.mean[i], 0.0);
    EXPECT_TRUE(std::isnan(no_columns.inv_std[i]));
  }
}

TEST_P(LayerNormTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  for (const Extents& extents : {Extents{2, 300001}, Extents{300, 64}, Extents{140, 6000}}) {
    Call<float> call(ctx, extents, 1), lent(ctx, extents, 1);
    call.forward();
    call.backward();
    const std::size_t forward = layer_norm_workspace(ctx, lent.x, lent.out, lent.mean, lent.inv_std, lent.params);
    const std::size_t backward = layer_norm_grad_workspace(ctx, lent.x, lent.mean, lent.inv_std, lent.out_grad,
                                                           lent.x_grad, lent.scale_grad, lent.bias_grad, lent.params);
    EXPECT_EQ(forward > 0, extents[0] == 2);
    ASSERT_GT(backward, 0u);
    LentMemory memory(ctx, std::max(forward, backward));
    lent.ctx = Context(ctx).workspace(memory.workspace());
    lent.forward();
    lent.backward();
    for (TestTensor<float>* tensor : {&call.out, &lent.out, &call.x_grad, &lent.x_grad}) tensor->download();
    for (std::int64_t i = 0; i < call.out.size(); ++i) {
      ASSERT_EQ(lent.out[i], call.out[i]);
      ASSERT_EQ(lent.x_grad[i], call.x_grad[i]);
    }
    EXPECT_TRUE(memory.is_untouched_outside());
  }
}

TEST_P(LayerNormTest, a_call_by_name_computes_what_the_function_computes) {
  Call<f16, float> call(ctx, {4, 6}, 1), named(ctx, {4, 6}, 1);
  call.forward();
  call.backward();
  const auto arguments =
      Arguments().set("x", named.x.ref()).set("scale", named.scale.ref()).set("bias", named.bias.ref());
  run("layer_norm", ctx,
      Arguments(arguments)
          .set("out", named.out.ref())
          .set("mean", named.mean.ref())
          .set("inv_std", named.inv_std.ref()));
  run("layer_norm_grad", ctx,
      Arguments(arguments)
          .set("mean", named.mean.ref())
          .set("inv_std", named.inv_std.ref())
          .set("out_grad", named.out_grad.ref())
          .set("x_grad", named.x_grad.ref())
          .set("scale_grad", named.scale_grad.ref())
          .set("bias_grad", named.bias_grad.ref()));
  for (Call<f16, float>* of : {&call, &named}) {
    for (TestTensor<f16>* tensor : {&of->out, &of->x_grad}) tensor->download();
    of->scale_grad.download();
  }
  for (std::int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(named.out[i], call.out[i]);
    EXPECT_EQ(named.x_grad[i], call.x_grad[i]);
  }
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(named.scale_grad[i], call.scale_grad[i]);
  const auto specs = infer("layer_norm_grad", Arguments(arguments)
                                                  .set("mean", named.mean.ref())
                                                  .set("inv_std", named.inv_std.ref())
                                                  .set("out_grad", named.out_grad.ref()));
  EXPECT_EQ(specs.at("x_grad").type, ElementType::f16);
  EXPECT_EQ(specs.at("scale_grad").type, ElementType::f32);
}

TEST_P(LayerNormTest, refuses_wrong_calls) {
  Call<float> call(ctx, {3, 4}, 1);
  const auto refused = [&](LayerNormParams params, const std::string& message) {
    expect_error([&] { layer_norm(ctx, call.x, call.out, call.mean, call.inv_std, params); },
                 "portops::layer_norm: " + message);
  };
  refused({.begin_norm_axis = 2}, "begin_norm_axis is 2, expected -2 to 1 (x has rank 2)");
  refused({.begin_norm_axis = -3}, "begin_norm_axis is -3, expected -2 to 1 (x has rank 2)");
  refused({.epsilon = -1.0}, "epsilon is -1, expected a finite number that is not negative");
  refused({.epsilon = nan}, "epsilon is nan, expected a finite number that is not negative");
  refused({.scale = call.mean}, "scale has extents [3], expected [4] (those of the normalised axes of x)");
  refused({.scale = TestTensor<double>(ctx, {4})}, "scale has element type f64, expected f32 (the element type of x)");
  refused({.scale = call.scale, .bias = TestTensor<f16>(ctx, {4})},
          "bias has element type f16, expected f32 (the element type of scale)");
  Call<f16> half(ctx, {3, 4}, 1);
  expect_error(
      [&] { layer_norm(ctx, half.x, half.out, half.mean, half.inv_std, {.bias = TestTensor<double>(ctx, {4})}); },
      "portops::layer_norm: bias has element type f64, expected f16 or f32 (the element type of x, or that of its "
      "sums)");
  expect_error([&] { layer_norm(ctx, half.x, half.out, half.scale, half.inv_std); },
               "portops::layer_norm: mean has element type f16, expected f32");
  expect_error([&] { layer_norm(ctx, TestTensor<float>(ctx, {}), call.out, call.mean, call.inv_std); },
               "portops::layer_norm: x has extents [], expected one axis or more");
  expect_error([&] { layer_norm_grad(ctx, call.x, call.mean, call.inv_std, call.out_grad, {}, call.scale_grad, {}); },
               "portops::layer_norm_grad: scale_grad is wanted, but there is no scale");
  EXPECT_NO_THROW(layer_norm_grad(ctx, call.x, call.mean, call.inv_std, call.out_grad, {}, {}, {}));
}

}  // namespace
}  // namespace portops::test
