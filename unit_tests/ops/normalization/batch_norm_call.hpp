// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "norm_reference.hpp"

#include <portops/ops/batch_norm.hpp>

namespace portops::test {

inline NormShape shape_of_channels(const Extents& extents, int axis) {
  NormShape shape;
  shape.groups = shape.parameters = extents[axis];
  const std::int64_t size = extents.product();
  shape.group_size = size / std::max<std::int64_t>(shape.groups, 1);
  std::int64_t inner = 1;
  for (int k = axis + 1; k < extents.rank(); ++k) inner *= extents[k];
  for (std::int64_t i = 0; i < size; ++i) {
    shape.group_of.push_back(i / inner % shape.groups);
    shape.parameter_of.push_back(shape.group_of.back());
  }
  return shape;
}

/// The tensors of a batch norm and its gradient. P is the type of scale and bias.
template <class T, class P = T>
struct BatchNormCall {
  using S = SumsOf<T>;

  BatchNormCall(const Context& context, const Extents& extents, const std::string& layout_name,
                Layout x_layout = Layout::contiguous, Layout layout = Layout::contiguous)
      : ctx(context), shape(shape_of_channels(extents, layout_name == "NCHW" ? 1 : extents.rank() - 1)) {
    x = TestTensor<T>(ctx, extents, x_layout);
    for (TestTensor<T>* tensor : {&out, &out_grad, &x_grad}) *tensor = TestTensor<T>(ctx, extents, layout);
    for (TestTensor<S>* tensor : {&mean, &variance, &saved_mean, &saved_inv_std}) {
      *tensor = TestTensor<S>(ctx, {shape.groups}, layout);
    }
    for (TestTensor<P>* tensor : {&scale, &bias, &scale_grad, &bias_grad}) {
      *tensor = TestTensor<P>(ctx, {shape.groups}, layout);
    }
    x.fill_randomly(1);
    scale.fill_randomly(2, 0.25, 2.0);
    bias.fill_randomly(3);
    out_grad.fill_randomly(4);
    mean.fill_randomly(5);
    variance.fill_randomly(6, 0.5, 2.0);
    params.scale = scale;
    params.bias = bias;
    params.data_layout = layout_name;
  }

  void forward(const TensorRef& mean_out, const TensorRef& variance_out) {
    batch_norm(ctx, x, mean, variance, out, saved_mean, saved_inv_std, mean_out, variance_out, params);
  }
  /// The running statistics are written in place.
  void forward() { params.is_test ? forward({}, {}) : forward(mean, variance); }
  void backward() {
    const TensorRef none;
    batch_norm_grad(ctx, x, saved_mean, saved_inv_std, out_grad, x_grad, params.scale ? scale_grad.ref() : none,
                    params.bias ? bias_grad.ref() : none, params);
  }
  void run() {
    forward();
    backward();
  }

  void check(const std::string& what) {
    NormReference expected;
    const std::vector<double> mean_before = values_of(mean), variance_before = values_of(variance);
    forward();
    const std::vector<double> none, weights = params.scale ? values_of(scale) : none,
                                    shifts = params.bias ? values_of(bias) : none;
    if (params.is_test) {
      const Statistics running{{mean_before.begin(), mean_before.end()},
                               {variance_before.begin(), variance_before.end()}};
      expected.mean = exactly(mean_before);
      normalize_by<T>(expected, shape, values_of(x), running, weights, shifts, params.epsilon, 0.0);
    } else {
      normalize_plainly<T>(expected, shape, values_of(x), weights, shifts, params.epsilon);
    }
    expect_near(saved_mean, expected.mean, what + " saved_mean");
    expect_near(saved_inv_std, expected.inv_std, what + " saved_inv_std");
    expect_near(out, expected.out, what + " out");
    const double n = static_cast<double>(shape.group_size), unbiased = n / (n - 1.0);
    expect_near(mean, updated(mean_before, expected.mean, 1.0), what + " mean_out");
    expect_near(variance, updated(variance_before, expected.variance, unbiased), what + " variance_out");
    backward();
    differentiate_plainly<T, P>(expected, shape, values_of(x), values_of(saved_mean), values_of(saved_inv_std), weights,
                                values_of(out_grad), params.is_test);
    expect_near(x_grad, expected.x_grad, what + " x_grad");
    if (params.scale) expect_near(scale_grad, expected.scale_grad, what + " scale_grad");
    if (params.bias) expect_near(bias_grad, expected.bias_grad, what + " bias_grad");
  }

  void expect_same_bits_as(BatchNormCall& other, const std::string& what) {
    expect_same_bits(out, other.out, what + " out");
    expect_same_bits(saved_mean, other.saved_mean, what + " saved_mean");
    expect_same_bits(saved_inv_std, other.saved_inv_std, what + " saved_inv_std");
    expect_same_bits(mean, other.mean, what + " mean_out");
    expect_same_bits(variance, other.variance, what + " variance_out");
    expect_same_bits(x_grad, other.x_grad, what + " x_grad");
    expect_same_bits(scale_grad, other.scale_grad, what + " scale_grad");
    expect_same_bits(bias_grad, other.bias_grad, what + " bias_grad");
  }

  /// What a running statistic becomes, which was `before`, by so many times what x has.
  Expected updated(const std::vector<double>& before, Expected of_x, double times) const {
    if (params.is_test) return exactly(before);
    const double share = 1.0 - params.momentum;
    for (std::size_t c = 0; c < before.size(); ++c) {
      const double stays = params.momentum * before[c], comes = share * of_x.value[c] * times;
      of_x.value[c] = stays + comes;
      // Rounded no more than four times, in the type of sums.
      of_x.error[c] = share * of_x.error[c] * times + 4.0 * rounding<S>() * (std::abs(stays) + std::abs(comes));
    }
    return of_x;
  }

  Context ctx;
  NormShape shape;
  TestTensor<T> x, out, out_grad, x_grad;
  TestTensor<S> mean, variance, saved_mean, saved_inv_std;
  TestTensor<P> scale, bias, scale_grad, bias_grad;
  BatchNormParams params;
};

/// Tests of batch norm, by the statistics of x or, where is_test is true, by running ones.
class OnBatchNorm : public OnEveryBackend {
 protected:
  template <class T, class P = T>
  using Call = BatchNormCall<T, P>;

  explicit OnBatchNorm(bool is_test) : is_test_(is_test) {}

  template <class T, class P = T>
  void check(const Extents& extents, const std::string& layout_name, Layout x_layout = Layout::contiguous,
             Layout layout = Layout::contiguous) {
    Call<T, P> call(ctx, extents, layout_name, x_layout, layout);
    call.params.is_test = is_test_;
    call.check(extents.to_string() + " " + layout_name);
  }

 private:
  bool is_test_;
};

}  // namespace portops::test
