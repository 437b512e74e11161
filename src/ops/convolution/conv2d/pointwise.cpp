// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/pointwise.hpp"

#include "blas/gemm.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

using blas::Batch;
using blas::Transpose;

/// A matrix of so many rows and columns whose rows lie so far apart, from an element of the tensor on.
TensorRef matrix(const TensorRef& of, std::int64_t element, std::int64_t rows, std::int64_t columns,
                 std::int64_t distance) {
  auto* const data = static_cast<std::byte*>(of.data()) + element * static_cast<std::int64_t>(size_of(of.type()));
  return {data, of.type(), {rows, columns}, {distance, 1}, of.space()};
}

bool are_pixels(const ConvolutionTensors& t) { return is_matrix_of_pixels(t.x) && is_matrix_of_pixels(t.out); }

bool are_planes(const ConvolutionTensors& t) {
  return is_matrix_of_planes(t.x) && is_matrix_of_planes(t.out) && t.x.stride(0) >= 0 && t.out.stride(0) >= 0;
}

}  // namespace

bool is_pointwise(const Windows& w) {
  return w.taps() == 1 && w.stride_y == 1 && w.stride_x == 1 && w.top == 0 && w.left == 0 && w.out_height == w.height &&
         w.out_width == w.width;
}

bool suits_products(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  if (ctx.backend() != Backend::cuda || !is_pointwise(windows)) return false;
  const std::int64_t m = windows.group_out_channels(), k = windows.group_channels();
  // In f32 that is not rounded, extents below these are multiplied without tensor cores.
  constexpr std::int64_t least = 64;
  const bool rounds = t.x.type() != ElementType::f32 || ctx.math() == Math::tf32;
  if (!rounds && std::min({m, k, windows.pixels()}) < least) return false;
  const bool has_rows = (k == 1 || t.weight.stride(1) == 1) && (t.weight.extent(0) == 1 || t.weight.stride(0) >= k);
  return has_rows && (are_pixels(t) || are_planes(t));
}

void convolve_by_products(const Context& ctx, const Windows& w, const ConvolutionTensors& t) {
  const std::int64_t m = w.group_out_channels(), k = w.group_channels(), p = w.pixels();
  const std::int64_t row = std::max(t.weight.stride(0), k);
  const Temporary memory(ctx, Conv2dConvolution::labels().workspace.c_str(), products_workspace(ctx));
  const Workspace workspace{memory.data(), products_workspace(ctx)};
  const bool by_pixels = are_pixels(t);
  const bool adds_bias = t.bias && by_pixels && w.groups == 1;
  const double beta = t.bias && !adds_bias ? 1.0 : 0.0;
  if (beta != 0.0) fill_with_bias(ctx, Conv2dConvolution::labels(), t.out, t.bias);
  if (by_pixels) {
    blas::gemm(ctx, Transpose::no, Transpose::yes, 1.0, matrix(t.x, 0, w.images * p, k, pixel_distance(t.x)),
               matrix(t.weight, 0, m, k, row), beta, matrix(t.out, 0, w.images * p, m, pixel_distance(t.out)),
               Batch{w.groups, k, m * row, m}, workspace, adds_bias ? t.bias : TensorRef());
    return;
  }
  // One batch of all images of a group, or of all groups of an image, whichever are more.
  const std::int64_t x_plane = std::max(t.x.stride(1), p), out_plane = std::max(t.out.stride(1), p);
  const bool by_group = w.images >= w.groups;
  for (std::int64_t i = 0; i < (by_group ? w.groups : w.images); ++i) {
    const std::int64_t group = by_group ? i : 0, image = by_group ? 0 : i;
    blas::gemm(ctx, Transpose::no, Transpose::no, 1.0, matrix(t.weight, group * m * row, m, k, row),
               matrix(t.x, image * t.x.stride(0) + group * k * x_plane, k, p, x_plane), beta,
               matrix(t.out, image * t.out.stride(0) + group * m * out_plane, m, p, out_plane),
               by_group ? Batch{w.images, 0, t.x.stride(0), t.out.stride(0)}
                        : Batch{w.groups, m * row, k * x_plane, m * out_plane},
               workspace);
  }
}

std::size_t products_workspace(const Context& ctx) { return blas::gemm_workspace(ctx); }

}  // namespace portops::impl
