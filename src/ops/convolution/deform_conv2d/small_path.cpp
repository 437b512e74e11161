// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/small_path.hpp"

#include "core/exec/dispatch.hpp"
#include "core/lanes/gpu_teams.hpp"
#include "ops/convolution/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/convolution/deform_conv2d/taps_path.hpp"
#include "ops/convolution/pixels.hpp"

#include <cstdint>

namespace portops::impl {
namespace {

/// Whether an axis has the stride; that of a single element means nothing.
bool has_stride(std::int64_t extent, std::int64_t stride, std::int64_t expected) {
  return extent == 1 || stride == expected;
}

/// What other paths take at least: pixel by pixel, where nothing is copied; tap by tap; and by the fused kernel, which
/// waits for copies.
double microseconds_of_others(const Context& ctx, const Windows& w, const ConvolutionTensors& t) {
  constexpr std::int64_t few_channels = 8;
  if (w.group_channels() < few_channels) return 6.0;
  if (suits_taps(ctx, w, t)) return 10.0;
  return t.x.type() == ElementType::f32 && ctx.math() == Math::tf32 ? 19.0 : 20.0;
}

}  // namespace

std::int64_t SmallForm::parts(const Windows& w) const { return ceil_div(w.group_out_channels(), outs); }

std::int64_t SmallForm::teams(const Windows& w) const {
  return w.groups * parts(w) * ceil_div(w.images * w.pixels(), std::int64_t{pixels});
}

std::int64_t SmallForm::pitch(const Windows& w) const {
  // Neighbouring pixels are four banks of a GPU's scratch apart.
  constexpr std::int64_t banks = 32, apart = 4;
  return ceil_div(w.group_column() - apart, banks) * banks + apart;
}

std::int64_t SmallForm::samples(const Windows& w) const {
  const std::int64_t deformable_groups = ceil_div(w.group_channels(), w.deformable_channels()) + 1;
  return std::min(deformable_groups, w.deformable_groups) * w.taps() * pixels;
}

double SmallForm::microseconds(const Windows& w) const {
  constexpr std::int64_t teams_at_once = gpu_teams_at_once / 2;
  const auto rounds = static_cast<double>(ceil_div(teams(w), teams_at_once));
  const double of_column = 1e-3 * (1.0 * pixels + 0.07 * static_cast<double>(outs));
  return 0.5 + rounds * (2.0 + of_column * static_cast<double>(w.group_column()));
}

std::size_t SmallForm::scratch_bytes(const Windows& w) const {
  return sizeof(float) * static_cast<std::size_t>(pitch(w) * pixels) +
         sample_bytes * static_cast<std::size_t>(samples(w)) + bytes_of_sums;
}

SmallForm SmallForm::of(const Windows& w) {
  constexpr std::int64_t least_outs = 64;  // four for each warp of a team
  SmallForm best{8, w.group_out_channels()};
  for (std::int64_t parts = 1; parts == 1 || w.group_out_channels() >= parts * least_outs; parts *= 2) {
    for (const int own_pixels : {8, 6, 4}) {
      const SmallForm form{own_pixels, ceil_div(w.group_out_channels(), parts * 4) * 4};
      if (form.microseconds(w) < best.microseconds(w)) best = form;
    }
  }
  return best;
}

bool is_dense_by_taps(const Windows& w, const Tensor4& weight) {
  return has_stride(w.group_channels(), weight.stride[1], 1) &&
         has_stride(w.kernel_width, weight.stride[3], w.group_channels()) &&
         has_stride(w.kernel_height, weight.stride[2], w.group_channels() * w.kernel_width);
}

bool is_dense_by_channels(const Windows& w, const Tensor4& weight) {
  return has_stride(w.kernel_width, weight.stride[3], 1) &&
         has_stride(w.kernel_height, weight.stride[2], w.kernel_width) &&
         has_stride(w.group_channels(), weight.stride[1], w.taps());
}

bool suits_small(const Context& ctx, const Windows& w, const ConvolutionTensors& t) {
  if (ctx.backend() != Backend::cuda || ctx.products() == Products::kokkos_kernels) return false;
  if (t.x.type() == ElementType::f64 || !fits_pixels(w, t)) return false;
  const Tensor4 weight = tensor4(t.weight);
  if (!is_dense_by_taps(w, weight) && !is_dense_by_channels(w, weight)) return false;
  constexpr std::size_t most_scratch_bytes = 46 << 10;
  const SmallForm form = SmallForm::of(w);
  return form.scratch_bytes(w) <= most_scratch_bytes && form.microseconds(w) <= microseconds_of_others(ctx, w, t);
}

void deform_conv2d_small(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  dispatch(ctx.backend(), t.x.type(), [&]<Backend B, class T>() {
    const ImageStep step{.windows = windows, .offset = tensor4(t.offset), .mask = tensor4(t.mask), .x = tensor4(t.x)};
    DeformConv2dKernels<B, T>::convolve_small(ctx, step, tensor4(t.weight), convolution_out(t));
  });
}

}  // namespace portops::impl
