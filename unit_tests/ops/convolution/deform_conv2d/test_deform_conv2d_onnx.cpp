// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "deform_conv2d_reference.hpp"

// ONNX's DeformConv (opsets 19 and 22) is deform_conv2d under other names.

namespace portops::test {
namespace {

/// The attributes of a node, with their defaults.
struct DeformConvNode {
  Numbers dilations{1, 1};
  std::int64_t group = 1;
  Numbers kernel_shape{};  ///< that of W, if it is not given
  std::int64_t offset_group = 1;
  Numbers pads{0, 0, 0, 0};  ///< top, left, bottom, right
  Numbers strides{1, 1};
};

/// B and mask may be missing.
void deform_conv(const Context& ctx, const DeformConvNode& node, const TensorRef& X, const TensorRef& W,
                 const TensorRef& offset, const TensorRef& B, const TensorRef& mask, const TensorRef& Y) {
  if (!node.kernel_shape.empty() && node.kernel_shape != Numbers{W.extent(2), W.extent(3)}) {
    throw Error("kernel_shape is not that of W");
  }
  DeformConv2dParams params;
  params.mask = mask;
  params.bias = B;
  params.stride = node.strides;
  params.padding = node.pads;
  params.dilation = node.dilations;
  params.groups = node.group;
  params.deformable_groups = node.offset_group;
  deform_conv2d(ctx, X, offset, W, Y, params);
}

class DeformConv2dOnnxTest : public OnEveryBackend {
 protected:
  using Values = std::vector<double>;

  /// The output of a node over one image of rows and columns of 3.
  Values run(const DeformConvNode& node, const TensorRef& X, std::int64_t channels, const Values& offset,
             const Extents& window, const TensorRef& B = {}, const TensorRef& mask = {}) {
    const Extents out{1, 1, window[0], window[1]};
    TestTensor<float> W(ctx, {1, channels, 2, 2}), Y(ctx, out);
    TestTensor<float> offsets(ctx, {1, node.offset_group * 8, window[0], window[1]});
    W.fill([](std::int64_t) { return 1.0; });
    offsets.fill([&](std::int64_t i) { return offset[static_cast<std::size_t>(i)]; });
    deform_conv(ctx, node, X, W, offsets, B, mask, Y);
    Y.download();
    Values values;
    for (std::int64_t i = 0; i < out.product(); ++i) values.push_back(Y[i]);
    return values;
  }

  /// Zeros but for one element h-ward of the window's first tap, and one w-ward of its third.
  static Values offsets(std::size_t count, std::size_t down, std::size_t across) {
    Values values(count, 0.0);
    values[down] = 0.5;
    values[across] = -0.1;
    return values;
  }

  static void expect_near(const Values& found, const Values& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
  }

  DeformConv2dOnnxTest() {
    X.fill([](std::int64_t i) { return static_cast<double>(i); });
  }

  TestTensor<float> X{ctx, {1, 1, 3, 3}};
};

PORTOPS_ON_EVERY_BACKEND(DeformConv2dOnnxTest);

// The first four are those of ONNX's own tests of the operator.

TEST_P(DeformConv2dOnnxTest, without_pads) {
  expect_near(run({.kernel_shape = {2, 2}}, X, 1, offsets(32, 0, 5 * 4 + 1), {2, 2}), {9.5, 11.9, 20, 24});
}

TEST_P(DeformConv2dOnnxTest, with_pads) {
  expect_near(run({.pads = {1, 1, 1, 1}}, X, 1, offsets(128, 0, 5 * 16 + 6), {4, 4}),
              {0, 1, 3, 2, 3, 8, 11.9, 7, 9, 20, 24, 13, 6, 13, 15, 8});
}

TEST_P(DeformConv2dOnnxTest, with_mask_and_bias) {
  TestTensor<float> B(ctx, {1}), mask(ctx, {1, 4, 2, 2});
  B.fill([](std::int64_t) { return 1.0; });
  mask.fill([](std::int64_t i) { return i == 2 * 4 + 3 ? 0.2 : 1.0; });
  expect_near(run({}, X, 1, offsets(32, 0, 5 * 4 + 1), {2, 2}, B, mask), {10.5, 12.9, 21, 19.4});
}

TEST_P(DeformConv2dOnnxTest, with_offset_groups) {
  TestTensor<float> two(ctx, {1, 2, 3, 3});
  two.fill([](std::int64_t i) { return static_cast<double>(i < 9 ? i : 17 - i); });
  expect_near(run({.offset_group = 2}, two, 2, offsets(64, 0, 13 * 4 + 1), {2, 2}), {33.5, 32.1, 32, 32});
}

TEST_P(DeformConv2dOnnxTest, with_other_pads_on_every_side) {
  const Values no_offset(8 * 12, 0.0);
  expect_near(run({.pads = {1, 0, 0, 2}}, X, 1, no_offset, {3, 4}), {1, 3, 2, 0, 8, 12, 7, 0, 20, 24, 13, 0});
  expect_near(run({.pads = {0, 2, 1, 0}}, X, 1, no_offset, {3, 4}), {0, 3, 8, 12, 0, 9, 20, 24, 0, 6, 13, 15});
}

TEST_P(DeformConv2dOnnxTest, with_all_attributes) {
  for_each_type([&]<class T>() {
    DeformConv2dProblem<T> problem(ctx, {.channels = 12,
                                         .out_channels = 4,
                                         .kernel = {2, 3},
                                         .stride = {1, 2},
                                         .padding = {0, 1, 2, 3},
                                         .dilation = {3, 2},
                                         .groups = 2,
                                         .deformable_groups = 3});
    const DeformConvNode node{.dilations = {3, 2},
                              .group = 2,
                              .kernel_shape = {2, 3},
                              .offset_group = 3,
                              .pads = {0, 1, 2, 3},
                              .strides = {1, 2}};
    const auto& refs = problem.refs;
    deform_conv(ctx, node, refs.at("x"), refs.at("weight"), refs.at("offset"), refs.at("bias"), refs.at("mask"),
                refs.at("out"));
    problem.expect("out", problem.expected_out());
  });
}

}  // namespace
}  // namespace portops::test
