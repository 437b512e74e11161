// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/convolution_tensors.hpp"

#include <initializer_list>

namespace portops::impl {

/// The tensors of a call; some may be empty.
using TensorsOfCall = std::initializer_list<const TensorRef*>;

/// Whether x has pixels, and these, all elements and all positions have numbers of 32 bits, which kernels need whose
/// threads take a pixel.
bool fits_pixels(const Windows& windows, TensorsOfCall tensors);
bool fits_pixels(const Windows& windows, const ConvolutionTensors& tensors);

/// Whether a thread of a GPU may compute a pixel: for groups whose windows have few elements, and few output channels.
bool suits_pixels(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

}  // namespace portops::impl
