// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ops/convolution/fused/fused.hpp"
#include "ops/convolution/im2col.hpp"
#include "ops/convolution/pixels.hpp"
#include "ops/convolution/tiles.hpp"

#include <cstdint>

// A convolution by the path that suits it. The operator is a parameter, a struct Operator with
//
//   Kernels<B, T>                   its kernels: DeformConv2dKernels says which
//   labels()                        what they are called
//   fused()                         those of the fused path, in builds that have it
//   fits_strips(windows, x)         whether hosts can sample x in strips
//   samples_strips(windows, x)      whether they do so to make tiles of columns

namespace portops::impl {

/// The ways to the result.
enum class ConvolutionPath : std::uint8_t { fused, pixels, strips, tiles, im2col };

/// Whether a thread of a host may compute a strip of pixels: as suits_pixels().
template <class Operator>
bool suits_strips(const Context& ctx, const Windows& windows, const TensorRef& x) {
  constexpr std::int64_t chain = 64;
  constexpr std::int64_t few_out_channels = 16;
  return ctx.backend() != Backend::cuda && windows.group_column() <= chain &&
         windows.group_out_channels() <= few_out_channels && Operator::fits_strips(windows, x);
}

template <class Operator>
ConvolutionPath choose_path(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  // A library multiplies columns that are in memory.
  if (ctx.products() == Products::kokkos_kernels) return ConvolutionPath::im2col;
  const bool fuses = can_fuse(ctx, windows, tensors);
  if (fuses && has_long_runs(ctx, windows, tensors)) return ConvolutionPath::fused;
  if (suits_pixels(ctx, windows, tensors)) return ConvolutionPath::pixels;
  if (fuses) return ConvolutionPath::fused;
  if (suits_strips<Operator>(ctx, windows, tensors.x)) return ConvolutionPath::strips;
  return ctx.backend() == Backend::cuda ? ConvolutionPath::im2col : ConvolutionPath::tiles;
}

/// On GPUs. Needs channels, an out that has elements, and fits_pixels(). Takes no workspace: all is read and written
/// where it lies.
template <class Operator>
void convolve_by_pixels(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(t.x)};
    Operator::template Kernels<B, T>::convolve_pixels(ctx, step, tensor4(t.weight), convolution_out(t));
  });
}

/// On hosts, many pixels at a time. Needs channels, an out that has elements, fits_strips(), and at most strip_sums
/// output channels a group. It takes no workspace either.
template <class Operator>
void convolve_by_strips(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(t.x)};
    Operator::template Kernels<B, T>::convolve_strips(ctx, step, tensor4(t.weight), convolution_out(t));
  });
}

/// Needs channels, and an out that has elements. `step` is the most images whose columns, or a copy of x, are in memory
/// at once.
template <class Operator>
void convolve(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors, std::int64_t step) {
  switch (choose_path<Operator>(ctx, windows, tensors)) {
    case ConvolutionPath::fused: return convolve_fused(ctx, Operator::fused(), windows, tensors);
    case ConvolutionPath::pixels: return convolve_by_pixels<Operator>(ctx, windows, tensors);
    case ConvolutionPath::strips: return convolve_by_strips<Operator>(ctx, windows, tensors);
    case ConvolutionPath::tiles: return convolve_by_tiles<Operator>(ctx, windows, tensors, step);
    case ConvolutionPath::im2col: return convolve_by_im2col<Operator>(ctx, windows, tensors, step);
  }
}

/// Whether convolve() finishes what it writes (ConvolutionTensors::finishes).
template <class Operator>
bool finishes_convolve(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  if (choose_path<Operator>(ctx, windows, t) != ConvolutionPath::tiles) return false;
  bool finishes = false;
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    finishes = ConvolutionKernels<B, T>::finishes_tiles(windows, Operator::samples_strips(windows, t.x));
  });
  return finishes;
}

/// Calls convolve(tensors) or, if that does not finish the result although a program asks for it, finishes what it
/// leaves in other memory: the addend may lie where the result is to lie.
template <class Operator, class Convolve>
void convolve_and_finish(const Context& ctx, const ConvolutionTensors& t, bool finishes, const Convolve& convolve) {
  if (!t.finishes() || finishes) return convolve(t);
  const Tensor plain(t.out.type(), {t.out.size()}, default_memory_space(ctx.backend()));
  const ProgramCall weight_alone{.weight = t.program->weight};
  ConvolutionTensors tensors = t;
  tensors.out = {plain.ref().data(), t.out.type(), t.out.extents(), t.out.strides(), plain.ref().space()};
  tensors.program = &weight_alone;
  convolve(tensors);
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    ConvolutionKernels<B, T>::finish(ctx, Operator::labels().finish, plain.ref().data(), convolution_out(t),
                                     t.out.size());
  });
}

/// The workspace that it needs.
template <class Operator>
std::size_t convolve_workspace(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors,
                               std::int64_t step) {
  switch (choose_path<Operator>(ctx, windows, tensors)) {
    case ConvolutionPath::fused: return fused_workspace(ctx, Operator::fused(), windows, tensors);
    case ConvolutionPath::pixels:
    case ConvolutionPath::strips: return 0;
    case ConvolutionPath::tiles: return tiles_workspace<Operator>(ctx, windows, tensors, step);
    case ConvolutionPath::im2col: break;
  }
  return im2col_workspace<Operator>(ctx, windows, tensors, step);
}

}  // namespace portops::impl
