// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/pixels.hpp"

namespace portops::impl {

bool fits_pixels(const Windows& w, TensorsOfCall tensors) {
  constexpr std::int64_t most = INT32_MAX;
  const auto fits = [](const TensorRef& tensor) {
    std::int64_t reach = 0;  // how far the last element is from the first one
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      const std::int64_t extent = tensor.extent(axis), stride = tensor.stride(axis);
      if (extent <= 1) continue;
      if (stride > most || stride < -most) return false;
      reach += (extent - 1) * (stride < 0 ? -stride : stride);
      if (reach > most) return false;
    }
    return true;
  };
  for (const TensorRef* tensor : tensors) {
    if (*tensor && (tensor->size() > most || !fits(*tensor))) return false;
  }
  return w.area() > 0 && has_narrow_positions(w);
}

bool fits_pixels(const Windows& windows, const ConvolutionTensors& t) {
  return fits_pixels(windows, {&t.x, &t.offset, &t.weight, &t.mask, &t.out});
}

bool suits_pixels(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  // Sums are one chain here: longer ones would drift. Of elements that are sampled, columns in memory cost more.
  constexpr std::int64_t longest_chain_of_pixels = 64, longest_chain_of_samples = 160, few_out_channels = 64;
  return ctx.backend() == Backend::cuda &&
         windows.group_column() <= (t.offset ? longest_chain_of_samples : longest_chain_of_pixels) &&
         windows.group_out_channels() <= few_out_channels && fits_pixels(windows, t);
}

}  // namespace portops::impl
