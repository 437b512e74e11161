// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/pointwise.hpp"

#include "blas/gemm.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "ops/convolution/bias.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/conv2d_kernels.hpp"
#include "ops/convolution/layouts.hpp"
#include "ops/convolution/weight_grad.hpp"

#include <algorithm>
#include <cstdint>

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

/// Whether products are those of f32 that is not rounded.
bool is_ieee_f32(const Context& ctx, ElementType type) { return type == ElementType::f32 && ctx.math() == Math::ieee; }
/// Of these, extents below this one leave tiles of products mostly empty.
constexpr std::int64_t least_of_f32 = 64;
/// The same of the products of groups, of any type.
constexpr std::int64_t least_of_group = 16;

/// Elements from an image to the next; 0 where there is one.
std::int64_t image_distance(const TensorRef& tensor) { return tensor.extent(0) > 1 ? tensor.stride(0) : 0; }

/// In how many equal chunks of pixels, which begin at multiples of 16 bytes, the planes of each of a few images are
/// multiplied, so that a GPU has enough tiles. (Of a single image cuBLAS shares out the pixels itself, and in f32 that
/// is not rounded gemm[sm90] does of any.)
std::int64_t chunks_of_image(const Context& ctx, const Windows& w, ElementType type) {
  constexpr std::int64_t few_images = 4, enough_tiles = 128, tile_rows = 128, tile_columns = 64, least_pixels = 256;
  if (w.images == 1 || w.images > few_images || is_ieee_f32(ctx, type)) return 1;
  const std::int64_t unit = unit_of(type), p = w.pixels();
  const std::int64_t tiles = w.images * ceil_div(w.out_channels, tile_rows) * ceil_div(w.channels, tile_columns);
  std::int64_t chunks = std::min(ceil_div(enough_tiles, tiles), std::max<std::int64_t>(p / least_pixels, 1));
  while (chunks > 1 && p % (chunks * unit) != 0) --chunks;
  return chunks;
}

/// The memory of weight_grad_by_planes: for the sums of chunks, unless the only one's are weight_grad.
struct SumsOfPlanes {
  std::int64_t chunks;
  bool are_result;
  MemoryLayout layout;
  TemporaryArray sums, products;

  SumsOfPlanes(const Context& ctx, const Windows& w, const TensorRef& weight_grad)
      : chunks(chunks_of_image(ctx, w, weight_grad.type())),
        are_result(w.images * chunks == 1 && has_rows(w, weight_grad)) {
    if (!are_result) {
      sums =
          TemporaryArray(layout, w.images * chunks * w.out_channels * w.channels, arithmetic_size(weight_grad.type()));
    }
    products = TemporaryArray(layout, static_cast<std::int64_t>(products_workspace(ctx)), 1);
  }
};

}  // namespace

bool is_pointwise(const Windows& w) {
  return w.taps() == 1 && w.stride_y == 1 && w.stride_x == 1 && w.top == 0 && w.left == 0 && w.out_height == w.height &&
         w.out_width == w.width;
}

bool suits_products(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  if (ctx.backend() != Backend::cuda || !is_pointwise(windows)) return false;
  const std::int64_t m = windows.group_out_channels(), k = windows.group_channels();
  if (windows.groups > 1 && std::min(m, k) < least_of_group) return false;
  if (is_ieee_f32(ctx, t.x.type()) && std::min({m, k, windows.pixels()}) < least_of_f32) return false;
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

bool suits_products_of_planes(const Context& ctx, const Windows& w, const TensorRef& x, const TensorRef& out_grad) {
  if (ctx.backend() != Backend::cuda || ctx.products() == Products::kokkos_kernels || w.groups > 1 ||
      !is_pointwise(w) || !has_planes_at_units(x) || !has_planes_at_units(out_grad)) {
    return false;
  }
  // Tiles of products of fewer channels are mostly empty.
  const std::int64_t least_channels = is_ieee_f32(ctx, x.type()) ? least_of_f32 : 32;
  const std::int64_t m = w.out_channels, k = w.channels, p = w.pixels();
  const auto sums = m * k * static_cast<std::int64_t>(arithmetic_size(x.type()));
  const auto planes = p * (m + k) * static_cast<std::int64_t>(size_of(x.type()));
  // Sums are written and read once more, as copies of the planes would be; those of 16-bit types need none.
  const bool has_small_sums = size_of(x.type()) == 2 ? 2 * sums <= planes : 4 * sums <= 5 * planes;
  return std::min(m, k) >= least_channels && (w.images == 1 || has_small_sums);
}

void weight_grad_by_planes(const Context& ctx, const Windows& w, const TensorRef& x, const TensorRef& out_grad,
                           const TensorRef& weight_grad) {
  const SumsOfPlanes plan(ctx, w, weight_grad);
  const std::int64_t m = w.out_channels, k = w.channels, p = w.pixels(), chunk = p / plan.chunks;
  const std::int64_t x_plane = std::max(x.stride(1), p), out_plane = std::max(out_grad.stride(1), p);
  const std::int64_t x_image = image_distance(x), out_image = image_distance(out_grad);
  const Temporary memory(ctx, "portops::conv2d_grad::workspace", plan.layout.bytes());
  const Workspace workspace{plan.products.in(memory.data()), products_workspace(ctx)};
  const TensorRef sums = plan.are_result ? matrix(weight_grad, 0, m, k, std::max(weight_grad.stride(0), k))
                                         : TensorRef(plan.sums.in(memory.data()), arithmetic_type(x.type()),
                                                     {w.images * plan.chunks * m, k}, {k, 1}, x.space());
  // One batch of all images, or of all chunks of an image.
  const bool by_image = plan.chunks == 1;
  for (std::int64_t i = 0; i < (by_image ? 1 : w.images); ++i) {
    blas::gemm(
        ctx, Transpose::no, Transpose::yes, 1.0, matrix(out_grad, i * out_image, m, chunk, out_plane),
        matrix(x, i * x_image, k, chunk, x_plane), 0.0, matrix(sums, i * plan.chunks * m * k, m, k, sums.stride(0)),
        by_image ? Batch{w.images, out_image, x_image, m * k} : Batch{plan.chunks, chunk, chunk, m * k}, workspace);
  }
  if (plan.are_result) return;
  dispatch(ctx.backend(), x.type(), [&]<Backend B, class T>() {
    Conv2dKernels<B, T>::join_planes(ctx, w, w.images * plan.chunks, sums.data(), tensor4(weight_grad));
  });
}

std::size_t weight_grad_by_planes_workspace(const Context& ctx, const Windows& windows, const TensorRef& weight_grad) {
  return SumsOfPlanes(ctx, windows, weight_grad).layout.bytes();
}

}  // namespace portops::impl
