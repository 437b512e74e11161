// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/fused/whole_samples_sm90.hpp"
#include "ops/convolution/fused/fused_convolve_sm90.hpp"

namespace portops::impl {
namespace {

using Path = fused_sm90::FusedPath<fused_sm90::WholeSamples>;

std::span<const BlockTime> block_times(ElementType type, bool tf32) {
  constexpr int both = fused_sm90::WholeSamples::blocks_at_once(64);
  static constexpr BlockTime of_16_bits[] = {{256, 128, 7700, 716},
                                             {256, 64, 6700, 385},
                                             {128, 128, 5100, 550},
                                             {128, 64, 4800, 285},
                                             {64, 128, 6300, 510, both}};
  static constexpr BlockTime of_tf32[] = {{256, 128, 8900, 705},
                                          {256, 64, 6700, 390},
                                          {128, 128, 5400, 575},
                                          {128, 64, 5000, 293},
                                          {64, 128, 7000, 620, both}};
  static constexpr BlockTime of_f32[] = {{256, 128, 5500, 1930},
                                         {256, 64, 5500, 980},
                                         {128, 128, 5000, 1030},
                                         {128, 64, 5000, 525},
                                         {64, 128, 4200, 1410, both}};
  if (size_of(type) == 2) return of_16_bits;
  return tf32 ? std::span<const BlockTime>(of_tf32) : of_f32;
}

int clusters_at_once(const FusedPlan& plan) { return Path::clusters_at_once(Conv2dConvolution::labels(), plan); }

void run(void* stream, std::span<const FusedConvolution> convolutions) {
  Path::run(Conv2dConvolution::labels(), stream, convolutions);
}

}  // namespace

const FusedKernels& Conv2dConvolution::fused() {
  static const FusedKernels kernels{labels(), block_times, clusters_at_once, run};
  return kernels;
}

}  // namespace portops::impl
