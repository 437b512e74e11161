// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/im2col.hpp"

namespace portops::impl {
namespace {

using blas::Batch;
using blas::Transpose;

void* advanced(void* data, std::int64_t elements, ElementType type) {
  return static_cast<std::byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

void multiply_planes(const Context& ctx, const Windows& w, const Matrices& matrix, ElementType type, void* weight,
                     void* columns, const Tensor4& out, double beta, Workspace workspace) {
  const std::int64_t m = w.group_out_channels(), k = w.group_column(), p = w.pixels();
  // One batch of all images of a group, or of all groups of an image, whichever are more.
  const bool by_group = w.images >= w.groups;
  const Batch batch =
      by_group ? Batch{w.images, 0, p * w.column(), out.stride[0]} : Batch{w.groups, m * k, k, m * out.stride[1]};
  const std::int64_t products = by_group ? w.groups : w.images;
  for (std::int64_t i = 0; i < products; ++i) {
    void* const a = advanced(weight, by_group ? i * m * k : 0, type);
    void* const b = advanced(columns, i * (by_group ? k : p * w.column()), type);
    void* const c = advanced(out.data, i * (by_group ? m * out.stride[1] : out.stride[0]), type);
    blas::gemm(of_products(ctx), Transpose::no, Transpose::yes, 1.0, matrix(a, m, k, k), matrix(b, p, k, w.column()),
               beta, matrix(c, m, p, out.stride[1]), batch, workspace);
  }
}

void multiply_pixels(const Context& ctx, const Windows& w, const Matrices& matrix, void* weight, void* columns,
                     void* out, std::int64_t distance, double beta, Workspace workspace) {
  const std::int64_t m = w.group_out_channels(), k = w.group_column(), p = w.images * w.pixels();
  blas::gemm(of_products(ctx), Transpose::no, Transpose::yes, 1.0, matrix(columns, p, k, w.column()),
             matrix(weight, m, k, k), beta, matrix(out, p, m, distance), Batch{w.groups, k, m * k, m}, workspace);
}

}  // namespace

Context of_products(const Context& ctx) {
  const bool chooses = ctx.products() == Products::automatic && ctx.backend() != Backend::cuda;
  return chooses ? Context(ctx).products(Products::own) : ctx;
}

Im2colMemory::Im2colMemory(const Context& ctx, const Windows& windows, const ConvolutionTensors& t, std::int64_t step)
    : arrays(layout, ctx, windows, t.x, t.weight, step) {
  const bool has_pixels = is_matrix_of_pixels(t.out), has_planes = is_matrix_of_planes(t.out);
  // Kokkos Kernels computes one product after the other: one for all images of a step is worth the copy.
  by_pixels = (ctx.products() == Products::kokkos_kernels && step > 1) || (has_pixels && !has_planes);
  if (by_pixels ? !has_pixels : !has_planes) {
    out = TemporaryArray(layout, step * windows.out_channels * windows.pixels(), size_of(t.x.type()));
  }
}

Tensor4 Im2colMemory::product(const TensorRef& tensor, std::int64_t first, void* memory) const {
  if (!out) return tensor4(tensor, first);
  const std::int64_t channels = tensor.extent(1), width = tensor.extent(3);
  if (by_pixels) {
    return {out.in(memory), {channels * tensor.extent(2) * width, 1, channels * width, channels}};
  }
  const Extents strides = tensor.extents().row_major_strides();
  return {out.in(memory), {strides[0], strides[1], strides[2], strides[3]}};
}

void multiply_columns(const Context& ctx, const Windows& windows, ElementType type, void* weight, void* columns,
                      const Tensor4& out, bool by_pixels, std::int64_t distance, double beta, Workspace workspace) {
  const Matrices matrix(ctx, type);
  if (by_pixels) {
    multiply_pixels(ctx, windows, matrix, weight, columns, out.data, distance, beta, workspace);
  } else {
    multiply_planes(ctx, windows, matrix, type, weight, columns, out, beta, workspace);
  }
}

}  // namespace portops::impl
