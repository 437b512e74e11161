// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/conv2d_convolution.hpp"
#include "ops/convolution/conv2d/fused/whole_forms_sm90.hpp"
#include "ops/convolution/conv2d/fused/whole_samples_sm90.hpp"

#include <algorithm>
#include <type_traits>

namespace portops::impl {
namespace {

using fused_sm90::WeightOrder;

template <class T, fused_sm90::Precision precision>
using InRegisters = fused_sm90::FormsInRegisters<fused_sm90::WholeSamples, T, precision>;
using PathInRegisters = fused_sm90::FusedPath<fused_sm90::WholeSamples, InRegisters>;
/// 16-bit numbers are multiplied as they lie, others brought to tf32 on the way, also the weight, or split.
template <fused_sm90::WeightOrder order>
struct ByCopies {
  template <class T, fused_sm90::Precision precision>
  using FormsByCopies =
      std::conditional_t<precision == fused_sm90::Precision::f32, fused_sm90::SplitForms<T, precision>,
                         fused_sm90::WholeForms<T, precision, order>>;
  template <class T, fused_sm90::Precision precision>
  using Forms = std::conditional_t<sizeof(T) == 2 || order == fused_sm90::WeightOrder::packed,
                                   FormsByCopies<T, precision>, InRegisters<T, precision>>;
  using Path = fused_sm90::FusedPath<fused_sm90::WholeSamples, Forms>;
};

std::span<const BlockTime> block_times(ElementType type, bool tf32) {
  constexpr int both = fused_sm90::WholeSamples::blocks_at_once<fused_sm90::Precision::f32>(64);
  using enum Residence;
  static constexpr BlockTime of_16_bits[] = {{256, 128, 5500, 660},
                                             {128, 128, 5500, 680, both, 310},
                                             {64, 128, 5000, 450, both, 215},
                                             {128, 64, 4400, 240, 1, 0, runs, 300},
                                             {64, 64, 4400, 125, 1, 0, runs, 200},
                                             {32, 64, 4400, 125, 1, 0, runs, 150},
                                             {128, 64, 4400, 142, 1, 0, patches, 710},
                                             {64, 64, 4400, 60, 1, 0, patches, 412},
                                             {32, 64, 4400, 42, 1, 0, patches, 320}};
  // Measured on an H100, 4 % less for an H200, and moved by up to a tenth, so that they choose the best forms of 22
  // shapes.
  static constexpr BlockTime of_tf32[] = {{256, 128, 5500, 570},
                                          {256, 64, 6800, 390},
                                          {192, 128, 5000, 510},
                                          {128, 128, 3200, 390},
                                          {128, 64, 4800, 300},
                                          {96, 128, 4500, 710, both, 330},
                                          {64, 128, 3400, 590, both, 330},
                                          {128, 64, 4400, 290, 1, 0, runs, 400},
                                          {64, 64, 4400, 130, 1, 0, runs, 600},
                                          {32, 64, 4400, 130, 1, 0, runs, 150},
                                          {128, 64, 4400, 240, 1, 0, patches, 350},
                                          {64, 64, 4400, 101, 1, 0, patches, 380},
                                          {32, 64, 4400, 65, 1, 0, patches, 270}};
  static constexpr BlockTime of_f32[] = {{256, 128, 5500, 1930},
                                         {256, 64, 5500, 980},
                                         {192, 128, 5500, 1480},
                                         {128, 128, 5000, 1030},
                                         {128, 64, 5000, 525},
                                         {96, 128, 5000, 800},
                                         {64, 128, 4200, 1410, both},
                                         {32, 128, 4200, 950, both},
                                         {64, 64, 4400, 220, 1, 0, patches, 350},
                                         {32, 64, 4400, 115, 1, 0, patches, 350}};
  if (size_of(type) == 2) return of_16_bits;
  return tf32 ? std::span<const BlockTime>(of_tf32) : of_f32;
}

bool fits_resident(const FusedConvolution& convolution) {
  return fused_sm90::WindowMap::suits(convolution) &&
         fused_sm90::ResidentLayout(convolution.plan, convolution.windows).warpgroups > 0;
}

/// Of the forms by copies, where they have that one.
int clusters_at_once(const FusedPlan& plan) {
  const ConvolutionLabels& labels = Conv2dConvolution::labels();
  return fused_sm90::WindowMap::suits_form(plan) ? ByCopies<WeightOrder::packed>::Path::clusters_at_once(labels, plan)
                                                 : PathInRegisters::clusters_at_once(labels, plan);
}

void run(void* stream, std::span<const FusedConvolution> convolutions) {
  const ConvolutionLabels& labels = Conv2dConvolution::labels();
  if (!std::ranges::all_of(convolutions, fused_sm90::WindowMap::suits)) {
    return PathInRegisters::run(labels, stream, convolutions);
  }
  const WeightOrder order = fused_sm90::WeightMap::order(convolutions.front());
  const bool is_common = std::ranges::all_of(
      convolutions, [&](const FusedConvolution& its) { return fused_sm90::WeightMap::order(its) == order; });
  switch (is_common ? order : WeightOrder::packed) {
    case WeightOrder::packed: return ByCopies<WeightOrder::packed>::Path::run(labels, stream, convolutions);
    case WeightOrder::channels: return ByCopies<WeightOrder::channels>::Path::run(labels, stream, convolutions);
    case WeightOrder::out_channels: return ByCopies<WeightOrder::out_channels>::Path::run(labels, stream, convolutions);
  }
}

}  // namespace

const FusedKernels& Conv2dConvolution::fused() {
  static const FusedKernels kernels{labels(), block_times, fits_resident, clusters_at_once, run};
  return kernels;
}

}  // namespace portops::impl
