// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/context.hpp>
#include <portops/core/element_type.hpp>
#include <portops/nn/batch_norm2d.hpp>
#include <portops/nn/conv2d.hpp>
#include <portops/nn/deform_conv2d.hpp>
#include <portops/nn/generator.hpp>
#include <portops/nn/linear.hpp>
#include <portops/nn/module.hpp>

#include <cstdint>

namespace portops::apps {

struct NetworkOptions {
  double width = 1.0;  ///< a factor of all numbers of channels, which are then rounded to multiples of 4
  std::int64_t classes = 10;
  ElementType type = ElementType::f32;
};

/// A deformable network for small grey images. x is [N, 1, H, W], H and W at least 8, so that batch_norm has several
/// pixels of a single image in the end; out [N, classes], the logits:
///
///   convolution 1 → 32, 32 → 64
///   maxima of 2 × 2
///   deformable convolution 64 → 128, 128 → 128
///   maxima of 2 × 2
///   deformable convolution 128 → 256
///   mean of all pixels
///   linear 256 → classes
///
/// Windows are 3 × 3. Behind each convolution come batch_norm, whose bias serves both, the maxima where there are some,
/// and relu; beside each deformable one stands the convolution that gives it offsets and masks.
class Network : public nn::Module {
 public:
  Network(const Context& ctx, nn::Generator& random, const NetworkOptions& options);
  nn::Variable operator()(const Context& ctx, const nn::Variable& x) const;
  void describe(nn::Members& members) override;

  nn::Conv2d conv1, conv2;
  nn::DeformConv2dPack deform1, deform2, deform3;
  nn::BatchNorm2d norm1, norm2, norm3, norm4, norm5;
  nn::Linear head;
};

}  // namespace portops::apps
