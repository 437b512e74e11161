// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_tensors.hpp"

namespace portops::impl {

/// Whether x has pixels, and these, all elements and all positions have numbers of 32 bits, which ConvolvePixels needs.
bool fits_pixels(const Windows& windows, const ConvolutionTensors& tensors);

/// Whether a thread of a GPU may compute a pixel: for groups whose windows have few elements, and few output channels.
bool suits_pixels(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
