// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/deform_conv2d/deform_conv2d_convolution.hpp"
#include "ops/convolution/deform_conv2d/fused/bilinear_samples_sm90.hpp"
#include "ops/convolution/fused/fused_convolve_sm90.hpp"

namespace portops::impl {
namespace {

template <class T, fused_sm90::Precision precision>
using Forms = fused_sm90::FormsInRegisters<fused_sm90::BilinearSamples, T, precision>;
using Path = fused_sm90::FusedPath<fused_sm90::BilinearSamples, Forms>;

std::span<const BlockTime> block_times(ElementType type, bool tf32) {
  constexpr int fixed = 9000, both = fused_sm90::BilinearSamples::blocks_at_once<fused_sm90::Precision::tf32>(64);
  static constexpr BlockTime of_16_bits[] = {{256, 128, fixed, 1150},
                                             {256, 64, fixed, 620},
                                             {128, 128, fixed, 920},
                                             {128, 64, fixed, 400},
                                             {64, 128, 12000, 1430, both}};
  static constexpr BlockTime of_tf32[] = {{256, 128, fixed, 980},      {256, 64, fixed, 520}, {192, 128, fixed, 885},
                                          {128, 128, fixed, 785},      {128, 64, fixed, 345}, {96, 128, fixed, 700},
                                          {64, 128, 12000, 1270, both}};
  static constexpr BlockTime of_f32[] = {{256, 128, fixed, 2100}, {256, 64, fixed, 1140}, {192, 128, fixed, 1700},
                                         {128, 128, fixed, 1310}, {128, 64, fixed, 650},  {96, 128, fixed, 1120},
                                         {64, 128, fixed, 940}};
  if (size_of(type) == 2) return of_16_bits;
  return tf32 ? std::span<const BlockTime>(of_tf32) : of_f32;
}

int clusters_at_once(const FusedPlan& plan) { return Path::clusters_at_once(DeformConv2dConvolution::labels(), plan); }

void run(void* stream, std::span<const FusedConvolution> convolutions) {
  Path::run(DeformConv2dConvolution::labels(), stream, convolutions);
}

}  // namespace

const FusedKernels& DeformConv2dConvolution::fused() {
  static const FusedKernels kernels{labels(), block_times, nullptr, clusters_at_once, run};
  return kernels;
}

}  // namespace portops::impl
