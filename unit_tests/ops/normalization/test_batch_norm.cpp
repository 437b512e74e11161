// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_norm_call.hpp"
#include "support/central_differences.hpp"
#include "support/lent_memory.hpp"
#include "support/sanitized.hpp"

#include <portops/core/registry.hpp>

#include <cmath>

namespace portops::test {
namespace {

class BatchNormTest : public OnBatchNorm {
 protected:
  BatchNormTest() : OnBatchNorm(false) {}
};

PORTOPS_ON_EVERY_BACKEND(BatchNormTest);

TEST_P(BatchNormTest, equals_the_reference_for_all_layouts_and_shapes) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Layout layout : all_layouts) {
        for (const Layout other : all_layouts) check<T>({3, 6, 5, 7}, name, layout, other);
        if (HasFailure()) return;
      }
      check<T>({70, 9}, name);
      check<T>({2, 1}, name);
      check<T>({5, 300}, name);
      check<T>({4000, 33}, name);
      check<T>({3, 64, 130}, name);
      check<T>({2, 5, 3, 4, 6}, name);
      check<T>({8, 16, 32, 33}, name);
      check<T>({2, 3, 100, 150}, name);
      check<T>({1, 130, 70, 8}, name);
    }
    check<T>({70000, 2}, "NCHW");
    check<T>({2, 1, 100000}, "NCHW");
  });
}

// A GPU takes the elements of planes by packs of memory, which begin and end anywhere in a plane, and walks down short
// planes of many images.
TEST_P(BatchNormTest, equals_the_reference_for_planes_of_every_length) {
  const bool is_gpu = GetParam() == Backend::cuda;
  for_each_type([&]<class T>() {
    for (const std::int64_t images : {1, 3, 31, 32, 70}) {
      if (images > 3 && images != 32 && !is_gpu) continue;
      for (const std::int64_t pixels : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 49, 64, 127, 128, 129, 255, 256, 261}) {
        if (images * pixels == 1) continue;
        check<T>({images, 7, pixels}, "NCHW");
        check<T>({images, 8, pixels}, "NCHW");
        if (HasFailure()) return;
      }
    }
    check<T>({300, 40, 7, 7}, "NCHW");
    check<T>({1100, 3, 7, 7}, "NCHW");
    check<T>({40, 1, 7, 7}, "NCHW");
    if (is_gpu) check<T>({40, 5, 55, 55}, "NCHW");
    check<T>({40, 6, 7, 7}, "NCHW", Layout::padded, Layout::contiguous);
    check<T>({40, 6, 7, 7}, "NCHW", Layout::contiguous, Layout::padded);
    check<T>({40, 6, 16, 16}, "NCHW", Layout::padded, Layout::padded);
    check<T>({40, 6, 7, 7}, "NCHW", Layout::reversed, Layout::contiguous);
    check<T, SumsOf<T>>({40, 6, 7, 7}, "NCHW");
  });
}

// Where a GPU's teams take parts of planes, which may be longer than those of the sums or shorter.
TEST_P(BatchNormTest, equals_the_reference_for_large_planes) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{2, 3, 2048}, Extents{5, 2, 1032}, Extents{2, 3, 52, 80}, Extents{3, 4, 4136},
                                   Extents{1, 2, 96, 200}, Extents{70, 2, 2056}}) {
      check<T>(extents, "NCHW");
      if (HasFailure()) return;
    }
    check<T, SumsOf<T>>({2, 3, 4096}, "NCHW");
  });
}

TEST_P(BatchNormTest, takes_channels_of_larger_images) {
  for_each_type([&]<class T>() {
    for (const std::int64_t pixels : {64, 2048, 4104}) {
      const Extents extents{3, 5, pixels}, strides{8 * pixels, pixels, 1};
      Call<T> call(ctx, extents, "NCHW");
      call.forward();
      call.backward();
      const auto within = [&](TestTensor<T>& images, const TestTensor<T>* from) {
        images = TestTensor<T>(ctx, {3, 8, pixels});
        images.fill([&](std::int64_t i) {
          const std::int64_t image = i / (8 * pixels), channel = i / pixels % 8 - 2;
          if (from == nullptr || channel < 0 || channel >= 5) return 7.0;
          return (*from)[(image * 5 + channel) * pixels + i % pixels];
        });
        return TensorRef(static_cast<T*>(images.ref().data()) + 2 * pixels, images.ref().type(), extents, strides,
                         images.ref().space());
      };
      TestTensor<T> images[4];
      const TensorRef x = within(images[0], &call.x), out = within(images[1], nullptr),
                      out_grad = within(images[2], &call.out_grad), x_grad = within(images[3], nullptr);
      batch_norm(ctx, x, call.mean, call.variance, out, call.saved_mean, call.saved_inv_std, {}, {}, call.params);
      batch_norm_grad(ctx, x, call.saved_mean, call.saved_inv_std, out_grad, x_grad, call.scale_grad, call.bias_grad,
                      call.params);
      for (TestTensor<T>* tensor : {&call.out, &call.x_grad, &images[1], &images[3]}) tensor->download();
      for (std::int64_t i = 0; i < images[1].size(); ++i) {
        const std::int64_t image = i / (8 * pixels), channel = i / pixels % 8 - 2;
        const bool is_there = channel >= 0 && channel < 5;
        const std::int64_t at = (image * 5 + channel) * pixels + i % pixels;
        const double expected = is_there ? call.out[at] : 7.0, expected_grad = is_there ? call.x_grad[at] : 7.0;
        ASSERT_NEAR(images[1][i], expected, 1e-2 * (1.0 + std::abs(expected))) << i;
        ASSERT_NEAR(images[3][i], expected_grad, 1e-2 * (1.0 + std::abs(expected_grad))) << i;
      }
    }
  });
}

TEST_P(BatchNormTest, takes_planes_that_begin_between_two_packs) {
  for_each_type([&]<class T>() {
    for (const Extents& extents : {Extents{40, 6, 49}, Extents{3, 8, 64}}) {
      Call<T> call(ctx, extents, "NCHW"), moved(ctx, extents, "NCHW");
      TestTensor<T> memory(ctx, {call.x.size() + 1});
      memory.fill([&](std::int64_t i) { return i == 0 ? 0.0 : static_cast<double>(call.x[i - 1]); });
      const TensorRef x(static_cast<T*>(memory.ref().data()) + 1, memory.ref().type(), extents,
                        extents.row_major_strides(), memory.ref().space());
      call.forward();
      call.backward();
      batch_norm(ctx, x, moved.mean, moved.variance, moved.out, moved.saved_mean, moved.saved_inv_std, {}, {},
                 moved.params);
      batch_norm_grad(ctx, x, call.saved_mean, call.saved_inv_std, moved.out_grad, moved.x_grad, moved.scale_grad,
                      moved.bias_grad, moved.params);
      NormReference expected;
      for (TestTensor<SumsOf<T>>* tensor : {&call.saved_mean, &call.saved_inv_std}) tensor->download();
      normalize_plainly<T>(expected, call.shape, values_of(call.x), values_of(call.scale), values_of(call.bias), 1e-5);
      differentiate_plainly<T, T>(expected, call.shape, values_of(call.x), values_of(call.saved_mean),
                                  values_of(call.saved_inv_std), values_of(call.scale), values_of(call.out_grad));
      expect_near(moved.out, expected.out, "out");
      expect_near(moved.x_grad, expected.x_grad, "x_grad");
      expect_near(moved.scale_grad, expected.scale_grad, "scale_grad");
    }
  });
}

TEST_P(BatchNormTest, takes_parameters_of_the_type_of_sums) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      check<T, SumsOf<T>>({4, 16, 5, 8}, name);
      check<T, SumsOf<T>>({4, 16, 5, 8}, name, Layout::padded, Layout::every_other);
    }
  });
}

TEST_P(BatchNormTest, goes_without_scale_and_bias) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const bool is_test : {false, true}) {
        for (const int which : {0, 1, 2}) {
          Call<T> call(ctx, {9, 6, 5, 8}, name);
          call.params.is_test = is_test;
          if (which != 0) call.params.scale = {};
          if (which != 1) call.params.bias = {};
          call.check(name);
          // Gradients that are wanted alone have the bits that they have together.
          call.params.scale = call.scale;
          call.params.bias = call.bias;
          call.backward();
          TestTensor<T> alone(ctx, call.x.extents()), of_scale(ctx, {call.shape.groups}),
              of_bias(ctx, {call.shape.groups});
          const auto differentiate = [&](const TensorRef& x_grad, const TensorRef& scale_grad, const TensorRef& bias) {
            batch_norm_grad(ctx, call.x, call.saved_mean, call.saved_inv_std, call.out_grad, x_grad, scale_grad, bias,
                            call.params);
          };
          differentiate(alone, {}, {});
          differentiate({}, of_scale, {});
          differentiate({}, {}, of_bias);
          expect_same_bits(alone, call.x_grad, "x_grad alone");
          expect_same_bits(of_scale, call.scale_grad, "scale_grad alone");
          expect_same_bits(of_bias, call.bias_grad, "bias_grad alone");
        }
      }
    }
  });
}

TEST_P(BatchNormTest, is_computed_in_place) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const bool is_test : {false, true}) {
        for (const Layout layout : {Layout::contiguous, Layout::reversed, Layout::padded}) {
          Call<T> call(ctx, {40, 8, 5, 33}, name, layout, layout);
          call.params.is_test = is_test;
          call.run();
          batch_norm_grad(ctx, call.x, call.saved_mean, call.saved_inv_std, call.out_grad, call.out_grad,
                          call.scale_grad, call.bias_grad, call.params);
          batch_norm(ctx, call.x, call.mean, call.variance, call.x, call.saved_mean, call.saved_inv_std, {}, {},
                     call.params);
          expect_same_bits(call.x, call.out, name + " x");
          expect_same_bits(call.out_grad, call.x_grad, name + " out_grad");
        }
      }
    }
  });
}

TEST_P(BatchNormTest, keeps_its_digits_where_the_mean_is_large) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    const double offset = std::is_same_v<T, f16> ? 2048.0 : 1e6;
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Extents& extents :
           {Extents{3, 5, 7, 9}, Extents{8, 3, 100, 90}, Extents{8, 100, 90, 3}, Extents{60, 5, 7, 7}}) {
        Call<T> call(ctx, extents, name);
        Random random(7);
        call.x.fill([&](std::int64_t) { return offset + random.uniform(-20.0, 20.0); });
        call.check(extents.to_string() + " large mean");
        call.x.fill([&](std::int64_t i) { return i < call.x.size() / 9 ? 0.0 : offset + random.uniform(-20.0, 20.0); });
        call.check(extents.to_string() + " a step");
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(BatchNormTest, does_not_drift_over_constants) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const double constant : drifting_constants) {
      for (const std::string name : {"NCHW", "NHWC"}) {
        Call<T, SumsOf<T>> call(ctx, {4, 3, 5001, 3}, name);  // f16 could not hold the sums
        call.x.fill([&](std::int64_t i) { return i / 3 % 2 == 0 ? constant : -constant; });
        call.out_grad.fill([&](std::int64_t) { return constant; });
        call.check(name);
      }
    }
  });
}

TEST_P(BatchNormTest, follows_the_formula_for_equal_elements_nan_and_inf) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      const Extents extents = name == "NCHW" ? Extents{3, 4, 50, 60} : Extents{3, 50, 60, 4};
      Call<T> call(ctx, extents, name);
      call.x.fill([&](std::int64_t i) {
        const std::int64_t c = call.shape.group_of[static_cast<std::size_t>(i)];
        if (c == 3) return 1.1;
        if (i < call.x.size() / 2) return static_cast<double>(i % 7);
        return c == 0 ? nan : c == 1 ? inf : -inf;
      });
      call.forward();
      call.out.download();
      for (auto* statistics : {&call.saved_inv_std, &call.mean, &call.variance}) statistics->download();
      for (std::int64_t c = 0; c < 4; ++c) {
        ASSERT_EQ(std::isnan(call.saved_inv_std[c]), c < 3) << c;
        ASSERT_EQ(std::isfinite(call.mean[c]), c == 3) << c;
        ASSERT_EQ(std::isfinite(call.variance[c]), c == 3) << c;
      }
      for (std::int64_t i = 0; i < call.x.size(); ++i) {
        const std::int64_t c = call.shape.group_of[static_cast<std::size_t>(i)];
        ASSERT_EQ(std::isnan(call.out[i]), c < 3) << i;
        if (c == 3) {
          ASSERT_EQ(call.out[i], call.bias[3]) << i;
        }
      }
    }
  });
}

TEST_P(BatchNormTest, gives_the_same_bits_on_every_run_and_in_both_modes) {
  skip_where_sanitized();
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Extents& extents : {Extents{9, 6, 150, 33}, Extents{70, 6, 7, 7}, Extents{4001, 40}}) {
        for (const bool is_test : {false, true}) {
          Call<T> call(ctx, extents, name);
          call.params.is_test = is_test;
          call.run();
          for (int run = 0; run < 4; ++run) {
            Call<T> again(Context(ctx).deterministic(run % 2 == 1), extents, name);
            again.params.is_test = is_test;
            again.run();
            again.expect_same_bits_as(call, extents.to_string() + " " + name);
            if (HasFailure()) return;
          }
        }
      }
    }
  });
}

TEST_P(BatchNormTest, gradients_agree_with_central_differences) {
  for (const bool is_test : {false, true}) {
    for (const std::string name : {"NCHW", "NHWC"}) {
      Call<double> call(ctx, {3, 4, 2}, name);
      call.params.is_test = is_test;
      call.x.fill_randomly(1, -20.0, 20.0);  // far apart, so that slopes are nearly straight
      const auto objective = [&] {
        batch_norm(ctx, call.x, call.mean, call.variance, call.out, call.saved_mean, call.saved_inv_std, {}, {},
                   call.params);
        return weighted_sum(call.out, call.out_grad);
      };
      objective();
      call.backward();
      expect_slopes(call.x, call.x_grad, objective);
      expect_slopes(call.scale, call.scale_grad, objective);
      expect_slopes(call.bias, call.bias_grad, objective);
    }
  }
}

TEST_P(BatchNormTest, accepts_tensors_without_elements) {
  for_each_type([&]<class T>() {
    using S = SumsOf<T>;
    for (const auto& [extents, name] :
         {std::pair(Extents{0, 3, 5}, "NCHW"), {Extents{4, 3, 0}, "NCHW"}, {Extents{0, 5, 3}, "NHWC"}}) {
      Call<T> none(ctx, extents, name);
      none.params.is_test = true;
      none.check("by running statistics");
      none.params.is_test = false;
      const Expected zeros(3), mean = exactly(values_of(none.mean)), variance = exactly(values_of(none.variance));
      TestTensor<S> mean_out(ctx, {3}), variance_out(ctx, {3});
      none.forward(mean_out, variance_out);
      none.run();
      expect_near(none.mean, mean, "mean in place");
      expect_near(none.variance, variance, "variance in place");
      expect_near(mean_out, mean, "mean_out");
      expect_near(variance_out, variance, "variance_out");
      expect_near(none.saved_mean, zeros, "saved_mean");
      expect_near(none.saved_inv_std, exactly({nan, nan, nan}), "saved_inv_std");
      expect_near(none.scale_grad, zeros, "scale_grad");
      expect_near(none.bias_grad, zeros, "bias_grad");
    }
    Call<T> no_channels(ctx, {4, 0}, "NCHW");
    no_channels.run();
    no_channels.params.is_test = true;
    no_channels.run();
  });
}

TEST_P(BatchNormTest, takes_its_temporaries_from_a_workspace_that_is_lent) {
  for (const Extents& extents : {Extents{9, 6, 150, 33}, Extents{70, 6, 7, 7}}) {
    Call<float> call(ctx, extents, "NCHW"), lent(ctx, extents, "NCHW");
    call.forward();
    call.backward();
    const std::size_t forward = batch_norm_workspace(ctx, lent.x, lent.mean, lent.variance, lent.out, lent.saved_mean,
                                                     lent.saved_inv_std, {}, {}, lent.params);
    const std::size_t backward =
        batch_norm_grad_workspace(ctx, lent.x, lent.saved_mean, lent.saved_inv_std, lent.out_grad, lent.x_grad,
                                  lent.scale_grad, lent.bias_grad, lent.params);
    ASSERT_GT(forward, 0u);
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

TEST_P(BatchNormTest, a_call_by_name_computes_what_the_function_computes) {
  Call<f16, float> call(ctx, {4, 3, 5}, "NHWC"), named(ctx, {4, 3, 5}, "NHWC");
  call.forward();
  run("batch_norm", ctx,
      Arguments()
          .set("x", named.x.ref())
          .set("mean", named.mean.ref())
          .set("variance", named.variance.ref())
          .set("scale", named.scale.ref())
          .set("bias", named.bias.ref())
          .set("data_layout", Attribute(std::string("NHWC")))
          .set("out", named.out.ref())
          .set("saved_mean", named.saved_mean.ref())
          .set("saved_inv_std", named.saved_inv_std.ref())
          .set("mean_out", named.mean.ref()));
  for (Call<f16, float>* of : {&call, &named}) {
    of->out.download();
    of->mean.download();
  }
  for (std::int64_t i = 0; i < 60; ++i) EXPECT_EQ(named.out[i], call.out[i]);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(named.mean[i], call.mean[i]);
}

TEST_P(BatchNormTest, refuses_wrong_calls) {
  Call<float> call(ctx, {3, 4}, "NCHW"), one(ctx, {1, 4}, "NCHW"), pixel(ctx, {1, 1, 1, 4}, "NHWC");
  const auto refused = [&](const BatchNormParams& params, const std::string& message) {
    call.params = params;
    expect_error([&] { call.forward(call.mean, {}); }, "portops::batch_norm: " + message);
  };
  refused({.data_layout = "NDHWC"}, "data_layout is 'NDHWC', expected NCHW or NHWC");
  refused({.epsilon = -1.0}, "epsilon is -1, expected a finite number that is not negative");
  refused({.momentum = inf}, "momentum is inf, expected a finite number");
  refused({.is_test = true}, "mean_out is given, but is_test leaves the running statistics as they are");
  refused({.scale = TestTensor<float>(ctx, {3})}, "scale has extents [3], expected [4] (the channels of x)");
  call.params = {.is_test = true};
  expect_error([&] { call.forward({}, call.variance); },
               "portops::batch_norm: variance_out is given, but is_test leaves the running statistics as they are");
  call.params = {};
  expect_error(
      [&] { one.forward(); },
      "portops::batch_norm: x has extents [1, 4], expected more than one value per channel, as is_test is false");
  expect_error([&] { pixel.forward(); },
               "portops::batch_norm: x has extents [1, 1, 1, 4], expected more than one value per channel, as is_test "
               "is false");
  if (has_type<f16>()) {
    Call<f16> half(ctx, {3, 4}, "NCHW");
    expect_error([&] { half.forward(half.scale, {}); },
                 "portops::batch_norm: mean_out has element type f16, expected f32");
  }
  expect_error(
      [&] {
        batch_norm_grad(ctx, call.x, call.saved_mean, call.saved_inv_std, call.out_grad, {}, call.scale_grad, {});
      },
      "portops::batch_norm_grad: scale_grad is wanted, but there is no scale");
  expect_error(
      [&] {
        batch_norm(ctx, call.x, call.mean, call.variance, call.out, call.saved_mean, call.saved_inv_std, call.variance,
                   {}, call.params);
      },
      "portops::batch_norm: mean_out overlaps variance in memory, expected disjoint tensors");
  expect_error(
      [&] {
        batch_norm(ctx, TestTensor<float>(ctx, {4}), call.mean, call.variance, call.out, call.saved_mean,
                   call.saved_inv_std, {}, {});
      },
      "portops::batch_norm: x has extents [4], expected two axes or more");
}

}  // namespace
}  // namespace portops::test
