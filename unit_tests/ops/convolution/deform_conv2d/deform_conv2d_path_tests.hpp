// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "deform_conv2d_reference.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_rules.hpp"

// A call of deform_conv2d as its paths take it.

namespace portops::test {

template <class T>
impl::ConvolutionTensors tensors_of(const DeformConv2dProblem<T>& problem) {
  return {problem.refs.at("x"),    problem.refs.at("offset"), problem.refs.at("weight"),
          problem.refs.at("mask"), problem.refs.at("bias"),   problem.refs.at("out")};
}

template <class T>
impl::Windows windows_of(const DeformConv2dProblem<T>& problem) {
  return impl::deform_conv2d_extents("deform_conv2d", problem.refs.at("x"), problem.refs.at("weight"), problem.params())
      .windows;
}

/// A case whose operands and result all have this layout.
inline DeformConv2dCase with_layout(DeformConv2dCase c, Layout layout) {
  for (const std::string name : {"x", "offset", "weight", "mask", "bias", "out"}) c.layouts[name] = layout;
  return c;
}

}  // namespace portops::test
