// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/channels_last.hpp"

#include "core/exec/dispatch.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/layouts.hpp"

#include <cstdint>

namespace portops::impl {

bool has_planes_at_units(const TensorRef& tensor) {
  if (!is_matrix_of_planes(tensor) || reinterpret_cast<std::uintptr_t>(tensor.data()) % 16 != 0) return false;
  for (const int axis : {0, 1}) {
    if (tensor.extent(axis) <= 1) continue;
    if (tensor.stride(axis) % unit_of(tensor.type()) != 0 || tensor.stride(axis) < 0) return false;
  }
  return true;
}

ChannelsLast::ChannelsLast(MemoryLayout& layout, const TensorRef& tensor, bool is_copied, std::int64_t unit,
                           bool wants_zeros)
    : tensor_(tensor),
      pixel_(ceil_div(tensor.extent(1), unit) * unit),
      wants_zeros_(wants_zeros && pixel_ > tensor.extent(1)) {
  const std::int64_t pixels = tensor.extent(0) * tensor.extent(2) * tensor.extent(3);
  if (is_copied) copy_ = TemporaryArray(layout, pixels * pixel_, size_of(tensor.type()));
}

TensorRef ChannelsLast::in(void* memory) const {
  return is_copied() ? copy_with_channels_last(tensor_, copy_.in(memory), pixel_) : tensor_;
}

TensorRef ChannelsLast::copied_to(const Context& ctx, const std::string& label, void* memory) const {
  if (is_copied()) {
    dispatch(ctx.backend(), tensor_.type(), [&]<Backend B, class T>() {
      // All of it: zeros are few bytes of many pixels.
      const std::int64_t elements = tensor_.extent(0) * tensor_.extent(2) * tensor_.extent(3) * pixel_;
      const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T);
      if (wants_zeros_) ConvolutionKernels<B, T>::zero(ctx, label, copy_.in(memory), bytes);
      ConvolutionKernels<B, T>::rearrange(ctx, label,
                                          to_channels_last(tensor_, 0, tensor_.extent(0), copy_.in(memory), pixel_));
    });
  }
  return in(memory);
}

}  // namespace portops::impl
