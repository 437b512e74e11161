// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/tensor_ref.hpp"
#include "ops/convolution/windows.hpp"

namespace portops::impl {

/// The tensors of a convolution; offset and mask are those of deform_conv2d.
struct ConvolutionTensors {
  TensorRef x, offset, weight, mask, bias, out;
};

}  // namespace portops::impl
