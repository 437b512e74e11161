// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/window_rows.hpp"

#include "core/copy/strided_copy.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/convolve.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

/// The call that the fused path gets, and copies of x and of the weight for it, in which a pixel's channels, and a
/// tap's, are padded with zeros to 16 bytes, and x is padded on its left and right.
class WindowRows {
 public:
  WindowRows(const Windows& windows, const ConvolutionTensors& tensors)
      : windows_(windows),
        tensors_(tensors),
        pixel_(ceil_div(windows.channels * size(), 16) * 16 / size()),
        row_((windows.out_width - 1) * windows.stride_x + windows.kernel_width),
        x_(layout_, windows.images * windows.height * row_ * pixel_, static_cast<std::size_t>(size())),
        weight_(layout_, windows.out_channels * windows.taps() * pixel_, static_cast<std::size_t>(size())) {}

  Windows windows() const {
    Windows rows = windows_;
    rows.channels = windows_.kernel_width * pixel_;
    rows.width = rows.out_width;
    rows.kernel_width = rows.stride_x = 1;
    rows.left = 0;
    return rows;
  }

  /// Without memory, of the same extents, strides and alignment.
  ConvolutionTensors tensors(void* memory) const {
    const std::int64_t row = row_ * pixel_, channels = windows_.kernel_width * pixel_;
    ConvolutionTensors rows = tensors_;
    rows.x = at(x_, memory, {windows_.images, channels, windows_.height, windows_.out_width},
                {windows_.height * row, 1, row, windows_.stride_x * pixel_});
    rows.weight = at(weight_, memory, {windows_.out_channels, channels, windows_.kernel_height, 1},
                     {windows_.kernel_height * channels, 1, channels, channels});
    return rows;
  }

  /// Of the copies, and with what the fused path needs.
  std::size_t own_bytes() const { return layout_.bytes(); }
  std::size_t bytes(const Context& ctx) const {
    return own_bytes() + fused_workspace(ctx, Conv2dConvolution::fused(), windows(), tensors(nullptr));
  }

  void copy(const Context& ctx, void* memory) const {
    static const CopyLabels labels("conv2d");
    dispatch(ctx.backend(), tensors_.x.type(), [&]<Backend B, class T>() {
      ConvolutionKernels<B, T>::zero(ctx, Conv2dConvolution::labels().fill, memory, layout_.bytes());
    });
    // The columns of x that windows reach.
    const std::int64_t first = std::max<std::int64_t>(0, -windows_.left);
    const std::int64_t columns = std::min(windows_.width, row_ - windows_.left) - first;
    const std::int64_t row = row_ * pixel_, channels = windows_.kernel_width * pixel_;
    if (columns > 0) {
      const TensorRef& x = tensors_.x;
      const Extents extents{windows_.images, windows_.channels, windows_.height, columns};
      const Extents strides{windows_.height * row, 1, row, pixel_};
      const TensorRef whole = at(x_, memory, extents, strides);
      strided_copy(ctx, labels,
                   make_copy_plan(moved(x, first * x.stride(3), extents, x.strides()),
                                  moved(whole, (first + windows_.left) * pixel_, extents, strides)));
    }
    strided_copy(ctx, labels,
                 make_copy_plan(tensors_.weight, at(weight_, memory, tensors_.weight.extents(),
                                                    {windows_.kernel_height * channels, 1, channels, pixel_})));
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(tensors_.x.type())); }
  TensorRef at(const TemporaryArray& array, void* memory, const Extents& extents, const Extents& strides) const {
    return {array.in(memory), tensors_.x.type(), extents, strides, tensors_.x.space()};
  }

  Windows windows_;
  ConvolutionTensors tensors_;
  std::int64_t pixel_;  ///< channels of a pixel of the copy
  std::int64_t row_;    ///< pixels of its rows
  MemoryLayout layout_;
  TemporaryArray x_, weight_;
};

}  // namespace

bool suits_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  if (ctx.backend() != Backend::cuda || windows.groups != 1 || windows.kernel_width == 1 || windows.dilation_x != 1 ||
      choose_path<Conv2dConvolution>(ctx, windows, tensors) != ConvolutionPath::im2col) {
    return false;
  }
  const WindowRows rows(windows, tensors);
  return can_fuse(ctx, rows.windows(), rows.tensors(nullptr));
}

void convolve_by_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  const WindowRows rows(windows, tensors);
  const std::size_t own = rows.own_bytes(), bytes = rows.bytes(ctx);
  const Temporary memory(ctx, Conv2dConvolution::labels().workspace.c_str(), bytes);
  rows.copy(ctx, memory.data());
  const Context lent = Context(ctx).workspace({static_cast<std::byte*>(memory.data()) + own, bytes - own});
  convolve_fused(lent, Conv2dConvolution::fused(), rows.windows(), rows.tensors(memory.data()));
}

std::size_t window_rows_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  return WindowRows(windows, tensors).bytes(ctx);
}

}  // namespace portops::impl
