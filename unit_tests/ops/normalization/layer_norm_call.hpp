// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "norm_reference.hpp"

#include <portops/ops/layer_norm.hpp>

namespace portops::test {

inline Extents part_of(const Extents& extents, int begin, int end) {
  return Extents(std::span(extents.begin() + begin, extents.begin() + end));
}

inline NormShape shape_of_rows(const Extents& extents, std::int64_t axis) {
  const auto first = static_cast<int>(axis < 0 ? axis + extents.rank() : axis);
  NormShape shape;
  shape.groups = part_of(extents, 0, first).product();
  shape.group_size = shape.parameters = part_of(extents, first, extents.rank()).product();
  for (std::int64_t i = 0; i < shape.groups * shape.group_size; ++i) {
    shape.group_of.push_back(i / shape.group_size);
    shape.parameter_of.push_back(i % shape.group_size);
  }
  return shape;
}

/// The tensors of a layer norm and its gradient. P is the type of scale and bias.
template <class T, class P = T>
struct LayerNormCall {
  using S = SumsOf<T>;

  LayerNormCall(const Context& context, const Extents& extents, std::int64_t axis, Layout x_layout = Layout::contiguous,
                Layout layout = Layout::contiguous)
      : ctx(context), shape(shape_of_rows(extents, axis)) {
    const auto first = static_cast<int>(axis < 0 ? axis + extents.rank() : axis);
    const Extents rows = part_of(extents, 0, first), normalized = part_of(extents, first, extents.rank());
    x = TestTensor<T>(ctx, extents, x_layout);
    for (TestTensor<T>* tensor : {&out, &out_grad, &x_grad}) *tensor = TestTensor<T>(ctx, extents, layout);
    for (TestTensor<S>* tensor : {&mean, &inv_std}) *tensor = TestTensor<S>(ctx, rows, layout);
    for (TestTensor<P>* tensor : {&scale, &bias, &scale_grad, &bias_grad}) {
      *tensor = TestTensor<P>(ctx, normalized, layout);
    }
    x.fill_randomly(1);
    scale.fill_randomly(2, 0.25, 2.0);
    bias.fill_randomly(3);
    out_grad.fill_randomly(4);
    params.scale = scale;
    params.bias = bias;
    params.begin_norm_axis = axis;
  }

  void forward() { layer_norm(ctx, x, out, mean, inv_std, params); }
  void backward() { layer_norm_grad(ctx, x, mean, inv_std, out_grad, x_grad, scale_grad, bias_grad, params); }
  void run() {
    forward();
    backward();
  }
  void expect_same_bits_as(LayerNormCall& other, const std::string& what) {
    expect_same_bits(out, other.out, what + " out");
    expect_same_bits(mean, other.mean, what + " mean");
    expect_same_bits(inv_std, other.inv_std, what + " inv_std");
    expect_same_bits(x_grad, other.x_grad, what + " x_grad");
    expect_same_bits(scale_grad, other.scale_grad, what + " scale_grad");
    expect_same_bits(bias_grad, other.bias_grad, what + " bias_grad");
  }

  void check(const std::string& what) {
    NormReference expected;
    forward();
    const bool has_scale = static_cast<bool>(params.scale), has_bias = static_cast<bool>(params.bias);
    const std::vector<double> weights = has_scale ? values_of(scale) : std::vector<double>();
    normalize_plainly<T>(expected, shape, values_of(x), weights, has_bias ? values_of(bias) : std::vector<double>(),
                         params.epsilon);
    expect_near(mean, expected.mean, what + " mean");
    expect_near(inv_std, expected.inv_std, what + " inv_std");
    expect_near(out, expected.out, what + " out");
    if (!has_scale || !has_bias) return;
    backward();
    differentiate_plainly<T, P>(expected, shape, values_of(x), values_of(mean), values_of(inv_std), weights,
                                values_of(out_grad));
    expect_near(x_grad, expected.x_grad, what + " x_grad");
    expect_near(scale_grad, expected.scale_grad, what + " scale_grad");
    expect_near(bias_grad, expected.bias_grad, what + " bias_grad");
  }

  Context ctx;
  NormShape shape;
  TestTensor<T> x, out, out_grad, x_grad;
  TestTensor<S> mean, inv_std;
  TestTensor<P> scale, bias, scale_grad, bias_grad;
  LayerNormParams params;
};

}  // namespace portops::test
