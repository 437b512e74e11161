// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_norm_call.hpp"

#include <limits>

// batch_norm by running statistics, and what becomes of these.

namespace portops::test {
namespace {

class BatchNormRunningTest : public OnBatchNorm {
 protected:
  BatchNormRunningTest() : OnBatchNorm(true) {}
};

PORTOPS_ON_EVERY_BACKEND(BatchNormRunningTest);

TEST_P(BatchNormRunningTest, normalises_by_running_statistics) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Layout layout : all_layouts) {
        for (const Layout other : all_layouts) check<T>({3, 6, 5, 8}, name, layout, other);
        check<T, SumsOf<T>>({4, 16, 5, 8}, name, layout, Layout::every_other);
        if (HasFailure()) return;
      }
      for (const Extents& extents :
           {Extents{1, 7}, Extents{70, 9}, Extents{5, 300}, Extents{4000, 33}, Extents{3, 64, 130},
            Extents{2, 5, 3, 4, 6}, Extents{2, 3, 2048}, Extents{5, 2, 1032}, Extents{40, 6, 7, 7}, Extents{2, 1, 1}}) {
        check<T>(extents, name);
        check<T, SumsOf<T>>(extents, name);
      }
    }
    check<T>({40, 6, 7, 7}, "NCHW", Layout::padded, Layout::contiguous);
    check<T>({40, 6, 16, 16}, "NCHW", Layout::padded, Layout::padded);
  });
}

// Where the mean is given it is exact, and costs out none of its digits: folded into the bias it would.
TEST_P(BatchNormRunningTest, keeps_its_digits_where_a_running_mean_is_large) {
  for_each_type([&]<class T>() {
    const double larger = std::is_same_v<T, double> ? 1e12 : std::is_same_v<T, f16> ? 6e4 : 1e6;
    const double spread = sizeof(T) == 2 ? 30.0 : 3.0;  // elements that 16 bits can tell apart near 1e4
    for (const double offset : {1e4, -1e4, larger}) {
      for (const std::string name : {"NCHW", "NHWC"}) {
        Call<T> call(ctx, {3, 5, 7, 9}, name);
        call.params.is_test = true;
        Random random(7);
        call.x.fill([&](std::int64_t) { return offset + random.uniform(-spread, spread); });
        call.mean.fill([&](std::int64_t c) { return offset + 0.37 * static_cast<double>(c); });
        call.check(name + " " + std::to_string(offset));
      }
    }
  });
}

TEST_P(BatchNormRunningTest, takes_running_variances_of_every_size) {
  for_each_type([&]<class T>() {
    using S = SumsOf<T>;
    const double variances[] = {0.0,  std::numeric_limits<S>::denorm_min(), 1e-30, 1e-12, 1.0,
                                1e30, std::numeric_limits<S>::max()};
    for (const double epsilon : {1e-5, 1e-30, 0.0}) {
      for (const std::string name : {"NCHW", "NHWC"}) {
        Call<T, S> call(ctx, name == "NCHW" ? Extents{3, 7, 9} : Extents{3, 9, 7}, name);
        call.params.is_test = true;
        call.params.epsilon = epsilon;
        call.mean.fill([](std::int64_t c) { return 0.25 * static_cast<double>(c); });
        call.variance.fill([&](std::int64_t c) { return variances[c]; });
        call.x.fill([&](std::int64_t i) {  // some of them the mean itself: 0 / 0 without variance and epsilon
          const std::int64_t c = call.shape.group_of[static_cast<std::size_t>(i)];
          return call.mean[c] + static_cast<double>(i % 4 - 1);
        });
        call.check(name + " " + std::to_string(epsilon));
      }
    }
  });
}

// In out and x_grad; sums have them in their channel.
TEST_P(BatchNormRunningTest, nan_and_inf_stay_in_their_elements_by_running_statistics) {
  for_each_type([&]<class T>() {
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Extents& extents : {Extents{3, 6, 5, 8}, Extents{40, 6, 7, 7}, Extents{2, 3, 2056}}) {
        Call<T> call(ctx, extents, name);
        call.params.is_test = true;
        const double factors[] = {1.5, -0.5, 0.0};
        call.scale.fill([&](std::int64_t c) { return factors[c % 3]; });
        const double numbers[] = {nan, inf, -inf};
        const auto scatter = [&](TestTensor<T>& tensor, std::int64_t first) {
          const std::vector<double> plain = values_of(tensor);
          tensor.fill([&](std::int64_t i) {
            const bool is_one = i % 101 == first;
            return is_one ? numbers[i / 101 % 3] : plain[static_cast<std::size_t>(i)];
          });
        };
        scatter(call.x, 7);
        scatter(call.out_grad, 50);
        call.check(extents.to_string() + " " + name);
      }
    }
  });
}

TEST_P(BatchNormRunningTest, nan_and_inf_of_running_statistics_stay_in_their_channel) {
  for_each_type([&]<class T>() {
    const double means[] = {0.5, nan, inf, -inf, 0.25, 1.0, -1.0, 2.0};
    const double variances[] = {1.0, 0.5, 1.0, 2.0, nan, inf, -1.0, 1.5};
    for (const std::string name : {"NCHW", "NHWC"}) {
      for (const Extents& extents : {Extents{3, 8, 5, 8}, Extents{2, 8, 2056}, Extents{40, 8, 7, 7}}) {
        const Extents last{extents[0], extents.product() / extents[0] / 8, 8};
        Call<T> call(ctx, name == "NCHW" ? extents : last, name);
        call.params.is_test = true;
        call.mean.fill([&](std::int64_t c) { return means[c]; });
        call.variance.fill([&](std::int64_t c) { return variances[c]; });
        call.check(extents.to_string() + " " + name);
      }
    }
  });
}

// 16-bit x has them in f32, of which the smallest updates ask more digits than x has.
TEST_P(BatchNormRunningTest, weighs_running_statistics_by_momentum) {
  for_each_type([&]<class T>() {
    for (const double momentum : {0.0, 0.1, 0.999, 1.0}) {
      for (const bool from_nothing : {false, true}) {  // then what is added shows in every digit
        for (const Extents& extents : {Extents{5, 6, 7}, Extents{2, 6}}) {
          for (const Layout layout : all_layouts) {
            Call<T> call(ctx, extents, "NCHW", Layout::contiguous, layout);
            call.params.momentum = momentum;
            Random random(7);
            call.x.fill([&](std::int64_t) { return random.uniform(1.0, 3.0); });
            if (from_nothing) call.mean.fill([](std::int64_t) { return 0.0; });
            if (from_nothing) call.variance.fill([](std::int64_t) { return 0.0; });
            call.check(extents.to_string() + " momentum " + std::to_string(momentum));
          }
        }
      }
    }
  });
}

TEST_P(BatchNormRunningTest, gives_running_statistics_one_by_one_and_leaves_those_before) {
  for_each_type([&]<class T>() {
    for (const double momentum : {0.0, 0.9, 1.0}) {
      using S = SumsOf<T>;
      Call<T> call(ctx, {5, 6, 7}, "NCHW");
      call.params.momentum = momentum;
      const Expected mean = exactly(values_of(call.mean)), variance = exactly(values_of(call.variance));
      TestTensor<S> means(ctx, {6}), variances(ctx, {6}), mean_alone(ctx, {6}), variance_alone(ctx, {6});
      call.forward(means, variances);
      call.forward(mean_alone, {});
      call.forward({}, variance_alone);
      expect_near(call.mean, mean, "mean");
      expect_near(call.variance, variance, "variance");
      expect_same_bits(mean_alone, means, "mean_out alone");
      expect_same_bits(variance_alone, variances, "variance_out alone");
      if (momentum == 0.0) expect_same_bits(means, call.saved_mean, "a mean that replaces");
      if (momentum == 1.0) expect_near(means, mean, "a mean that stays");
      if (momentum == 1.0) expect_near(variances, variance, "a variance that stays");
      call.forward();
      expect_same_bits(call.mean, means, "mean_out in place");
      expect_same_bits(call.variance, variances, "variance_out in place");
    }
  });
}

}  // namespace
}  // namespace portops::test
