// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/map_labels.hpp"

#include <string>

namespace portops::impl {

/// What the kernels and the temporaries of a convolution are called, after its operator.
struct ConvolutionLabels {
  explicit ConvolutionLabels(const std::string& op)
      : workspace("portops::" + op + "::workspace"),
        fill("portops::" + op + "::fill"),
        bias(op + "::bias"),
        x("portops::" + op + "::x[channels_last]"),
        operands("portops::" + op + "::operands[channels_last]"),
        packed_weight("portops::" + op + "::weight[tiles]"),
        columns("portops::" + op + "::columns[im2col]"),
        out("portops::" + op + "::out[strided]"),
        finish("portops::" + op + "::finish"),
        tiles("portops::" + op + "[tiles]"),
        strips("portops::" + op + "[strips]"),
        pixels("portops::" + op + "[pixels]"),
        fused("portops::" + op + "[fused]") {}

  std::string workspace;
  std::string fill;
  MapLabels bias;
  std::string x, operands;  ///< copies with the channels last, of x alone and of several operands
  std::string packed_weight;
  std::string columns;
  std::string out;
  std::string finish;
  std::string tiles, strips, pixels, fused;  ///< the paths
};

}  // namespace portops::impl
