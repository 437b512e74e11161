// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/channels_last.hpp"

#include "core/exec/dispatch.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/layouts.hpp"

namespace portops::impl {

ChannelsLast::ChannelsLast(MemoryLayout& layout, const TensorRef& tensor, bool is_copied) : tensor_(tensor) {
  if (is_copied) copy_ = TemporaryArray(layout, tensor.size(), size_of(tensor.type()));
}

TensorRef ChannelsLast::in(void* memory) const {
  return is_copied() ? copy_with_channels_last(tensor_, copy_.in(memory)) : tensor_;
}

TensorRef ChannelsLast::copied_to(const Context& ctx, const std::string& label, void* memory) const {
  if (is_copied()) {
    dispatch(ctx.backend(), tensor_.type(), [&]<Backend B, class T>() {
      ConvolutionKernels<B, T>::rearrange(ctx, label,
                                          to_channels_last(tensor_, 0, tensor_.extent(0), copy_.in(memory)));
    });
  }
  return in(memory);
}

}  // namespace portops::impl
