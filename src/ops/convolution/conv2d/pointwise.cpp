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

/// Whether the weight of each group is a matrix of rows as it lies: of output channels, or of channels, where they are
/// exchanged and there is one group.
bool has_rows(const Windows& w, const TensorRef& weight) {
  const std::int64_t k = w.group_channels();
  return (k == 1 || weight.stride(1) == 1) && (weight.extent(0) == 1 || weight.stride(0) >= k);
}
bool has_exchanged_rows(const Windows& w, const TensorRef& weight) {
  const std::int64_t m = w.out_channels;
  return w.groups == 1 && (m == 1 || weight.stride(0) == 1) && (w.channels == 1 || weight.stride(1) >= m);
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
  // In f32 that is not rounded, extents below these leave tiles of products mostly empty.
  constexpr std::int64_t least = 64;
  const bool rounds = t.x.type() != ElementType::f32 || ctx.math() == Math::tf32;
  if (!rounds && std::min({m, k, windows.pixels()}) < least) return false;
  const bool is_matrix = has_rows(windows, t.weight) || has_exchanged_rows(windows, t.weight);
  return is_matrix && (are_pixels(t) || are_planes(t));
}

void convolve_by_products(const Context& ctx, const Windows& w, const ConvolutionTensors& t) {
  const std::int64_t m = w.group_out_channels(), k = w.group_channels(), p = w.pixels();
  const bool is_exchanged = !has_rows(w, t.weight);
  const std::int64_t row = std::max(t.weight.stride(is_exchanged ? 1 : 0), is_exchanged ? m : k);
  const auto weight_of = [&](std::int64_t group) {
    return is_exchanged ? matrix(t.weight, 0, k, m, row) : matrix(t.weight, group * m * row, m, k, row);
  };
  const Temporary memory(ctx, Conv2dConvolution::labels().workspace.c_str(), products_workspace(ctx));
  const Workspace workspace{memory.data(), products_workspace(ctx)};
  const bool by_pixels = are_pixels(t);
  const bool adds_bias = t.bias && by_pixels && w.groups == 1;
  const double beta = t.bias && !adds_bias ? 1.0 : 0.0;
  if (beta != 0.0) fill_with_bias(ctx, Conv2dConvolution::labels(), t.out, t.bias);
  if (by_pixels) {
    const Transpose turns = is_exchanged ? Transpose::no : Transpose::yes;
    blas::gemm(ctx, Transpose::no, turns, 1.0, matrix(t.x, 0, w.images * p, k, pixel_distance(t.x)), weight_of(0), beta,
               matrix(t.out, 0, w.images * p, m, pixel_distance(t.out)), Batch{w.groups, k, m * row, m}, workspace,
               adds_bias ? t.bias : TensorRef());
    return;
  }
  // One batch of all images of a group, or of all groups of an image, whichever are more.
  const std::int64_t x_plane = std::max(t.x.stride(1), p), out_plane = std::max(t.out.stride(1), p);
  const bool by_group = w.images >= w.groups;
  for (std::int64_t i = 0; i < (by_group ? w.groups : w.images); ++i) {
    const std::int64_t group = by_group ? i : 0, image = by_group ? 0 : i;
    blas::gemm(ctx, is_exchanged ? Transpose::yes : Transpose::no, Transpose::no, 1.0, weight_of(group),
               matrix(t.x, image * t.x.stride(0) + group * k * x_plane, k, p, x_plane), beta,
               matrix(t.out, image * t.out.stride(0) + group * m * out_plane, m, p, out_plane),
               by_group ? Batch{w.images, 0, t.x.stride(0), t.out.stride(0)}
                        : Batch{w.groups, m * row, k * x_plane, m * out_plane},
               workspace);
  }
}

std::size_t products_workspace(const Context& ctx) { return blas::gemm_workspace(ctx); }

}  // namespace portops::impl
