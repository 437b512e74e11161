// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/window_rows.hpp"

#include "core/copy/strided_copy.hpp"
#include "core/exec/workspace.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/resident_blocks.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/convolve.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

const CopyLabels& copy_labels() {
  static const CopyLabels labels("conv2d");
  return labels;
}

std::size_t bytes_of(const Context& ctx, const WindowRows& rows) {
  return rows.bytes() + fused_workspace(ctx, Conv2dConvolution::fused(), rows.windows(), rows.tensors(nullptr));
}

}  // namespace

WindowRows::WindowRows(const Windows& windows, const ConvolutionTensors& tensors)
    : windows_(windows),
      tensors_(tensors),
      pixel_(ceil_div(windows.channels * size(), 16) * 16 / size()),
      row_((windows.out_width - 1) * windows.stride_x + windows.kernel_width),
      x_(layout_, windows.images * windows.height * row_ * pixel_, static_cast<std::size_t>(size())),
      weight_(layout_, windows.out_channels * windows.taps() * pixel_, static_cast<std::size_t>(size())) {}

Windows WindowRows::windows() const {
  Windows rows = windows_;
  rows.channels = windows_.kernel_width * pixel_;
  rows.width = rows.out_width;
  rows.kernel_width = rows.stride_x = 1;
  rows.left = 0;
  return rows;
}

ConvolutionTensors WindowRows::tensors(void* memory) const {
  const std::int64_t row = row_ * pixel_, channels = windows_.kernel_width * pixel_;
  ConvolutionTensors rows = tensors_;
  rows.x = at(x_, memory, {windows_.images, channels, windows_.height, windows_.out_width},
              {windows_.height * row, 1, row, windows_.stride_x * pixel_});
  rows.weight = at(weight_, memory, {windows_.out_channels, channels, windows_.kernel_height, 1},
                   {windows_.kernel_height * channels, 1, channels, channels});
  return rows;
}

TensorRef WindowRows::weight(void* memory) const {
  const std::int64_t channels = windows_.kernel_width * pixel_;
  return at(weight_, memory, tensors_.weight.extents(), {windows_.kernel_height * channels, 1, channels, pixel_});
}

void WindowRows::copy_x_and_weight(const Context& ctx, void* memory) const {
  zero(ctx, memory, layout_.bytes());
  fill_x(ctx, memory);
  strided_copy(ctx, copy_labels(), make_copy_plan(tensors_.weight, weight(memory)));
}

void WindowRows::copy_x(const Context& ctx, void* memory) const {
  zero(ctx, memory, static_cast<std::size_t>(windows_.images * windows_.height * row_ * pixel_ * size()));
  fill_x(ctx, memory);
}

TensorRef WindowRows::at(const TemporaryArray& array, void* memory, const Extents& extents,
                         const Extents& strides) const {
  return {array.in(memory), tensors_.x.type(), extents, strides, tensors_.x.space()};
}

void WindowRows::zero(const Context& ctx, void* memory, std::size_t bytes) const {
  dispatch(ctx.backend(), tensors_.x.type(), [&]<Backend B, class T>() {
    ConvolutionKernels<B, T>::zero(ctx, Conv2dConvolution::labels().fill, memory, bytes);
  });
}

/// Copies the columns of x that windows reach.
void WindowRows::fill_x(const Context& ctx, void* memory) const {
  const std::int64_t first = std::max<std::int64_t>(0, -windows_.left);
  const std::int64_t columns = std::min(windows_.width, row_ - windows_.left) - first;
  if (columns <= 0) return;
  const std::int64_t row = row_ * pixel_;
  const TensorRef& x = tensors_.x;
  const Extents extents{windows_.images, windows_.channels, windows_.height, columns};
  const Extents strides{windows_.height * row, 1, row, pixel_};
  const TensorRef whole = at(x_, memory, extents, strides);
  strided_copy(ctx, copy_labels(),
               make_copy_plan(moved(x, first * x.stride(3), extents, x.strides()),
                              moved(whole, (first + windows_.left) * pixel_, extents, strides)));
}

bool has_window_rows(const Windows& windows) {
  return windows.groups == 1 && windows.kernel_width > 1 && windows.dilation_x == 1;
}

bool suits_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  if (ctx.backend() != Backend::cuda || !has_window_rows(windows)) return false;
  const ConvolutionPath path = choose_path<Conv2dConvolution>(ctx, windows, tensors);
  const bool wastes_chunks = path == ConvolutionPath::fused && !fills_chunks(windows, tensors.x.type()) &&
                             !has_resident_blocks(ctx, windows, tensors);
  if (path != ConvolutionPath::im2col && !wastes_chunks) return false;
  const WindowRows rows(windows, tensors);
  return can_fuse(ctx, rows.windows(), rows.tensors(nullptr));
}

void convolve_by_window_rows(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  const WindowRows rows(windows, tensors);
  const std::size_t own = rows.bytes(), bytes = bytes_of(ctx, rows);
  const Temporary memory(ctx, Conv2dConvolution::labels().workspace.c_str(), bytes);
  rows.copy_x_and_weight(ctx, memory.data());
  const Context lent = Context(ctx).workspace({static_cast<std::byte*>(memory.data()) + own, bytes - own});
  convolve_fused(lent, Conv2dConvolution::fused(), rows.windows(), rows.tensors(memory.data()));
}

std::size_t window_rows_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  return bytes_of(ctx, WindowRows(windows, tensors));
}

}  // namespace portops::impl
