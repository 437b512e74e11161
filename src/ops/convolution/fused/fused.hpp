// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/tile_shape.hpp"
#include "core/types/element_type.hpp"
#include "ops/convolution/convolution_labels.hpp"
#include "ops/convolution/convolution_tensors.hpp"
#include "ops/convolution/fused/fused_sm90.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// The fused path: no columns in device memory.

namespace portops::impl {

/// What a block of these output channels and pixels takes, in nanoseconds on an H200 or an H100, where so many run on a
/// multiprocessor at once: measured, or, of 96 and 192 output channels in f32, between what was measured.
struct BlockTime {
  int rows;
  int pixels;
  int fixed_time;  ///< to begin, to find the samples, and to write the sums
  int step_time;
  int at_once = 1;
  int lone_step_time = 0;  ///< where it has a multiprocessor to itself, if that differs
  Residence residence = Residence::none;
  /// Of a resident one, whose fixed time is that to begin: what each tile adds to its steps' time. Both are shared by
  /// tiles that are worked on at once.
  int tile_time = 0;

  bool is_resident() const { return residence != Residence::none; }
};

/// The kernels of an operator.
struct FusedKernels {
  const ConvolutionLabels& labels;
  /// In all forms that there are.
  std::span<const BlockTime> (*block_times)(ElementType type, bool tf32);
  /// Whether there is a kernel whose blocks are resident, as its plan says, and a multiprocessor has room for them.
  bool (*fits_resident)(const FusedConvolution& convolution);
  /// How many groups of blocks that share the inner axis the current device runs at once.
  int (*clusters_at_once)(const FusedPlan& plan);
  /// Packs the weights, and then computes, both on `stream`. Throws Error where a launch fails.
  void (*run)(void* stream, std::span<const FusedConvolution> convolutions);
};

/// Whether runs of channels fill half of their chunks, which have 128 bytes.
inline bool fills_chunks(const Windows& windows, ElementType type) {
  const std::int64_t chunk = chunk_channels(type), run = windows.channel_run();
  return run * 2 >= ceil_div(run, chunk) * chunk;
}

/// Whether these fill them well enough for the path, whose blocks work on zeros otherwise: half of them or, where
/// finding and reading a sample takes most of the time, 8 channels; 16 in f32 beyond 128 output channels a group, where
/// blocks multiply whole chunks.
inline bool has_long_runs(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors) {
  constexpr std::int64_t few_out_channels = 128;
  const ElementType type = tensors.x.type();
  const bool skips_halves =
      type != ElementType::f32 || ctx.math() == Math::tf32 || windows.group_out_channels() <= few_out_channels;
  const std::int64_t least_sampled = skips_halves ? 8 : 16;
  return fills_chunks(windows, type) || (tensors.offset && windows.channel_run() >= least_sampled);
}

/// Whether this build, the context's device and the call allow it.
bool can_fuse(const Context& ctx, const Windows& windows, const ConvolutionTensors& tensors);

/// How a call is cut into the work of blocks of threads: output channels, pixels, and blocks that share the inner axis.
struct FusedForm {
  int rows, pixels, splits;
  Residence residence = Residence::none;
};

/// A call of the path.
struct FusedCall {
  Windows windows;
  ConvolutionTensors tensors;
};

/// All that there are for a call.
std::vector<FusedForm> fused_forms(const Context& ctx, const FusedKernels& kernels, const FusedCall& call);

/// In the form that is expected to be the fastest, or in that one. Several calls have one x, and as many output
/// channels and groups each: they are launched together, where each alone would leave much of a GPU idle.
void convolve_fused(const Context& ctx, const FusedKernels& kernels, std::span<const FusedCall> calls,
                    const std::optional<FusedForm>& form = {});
inline void convolve_fused(const Context& ctx, const FusedKernels& kernels, const Windows& windows,
                           const ConvolutionTensors& tensors, const std::optional<FusedForm>& form = {}) {
  const FusedCall call{windows, tensors};
  convolve_fused(ctx, kernels, std::span(&call, 1), form);
}

/// The workspace that it needs.
std::size_t fused_workspace(const Context& ctx, const FusedKernels& kernels, std::span<const FusedCall> calls);
inline std::size_t fused_workspace(const Context& ctx, const FusedKernels& kernels, const Windows& windows,
                                   const ConvolutionTensors& tensors) {
  const FusedCall call{windows, tensors};
  return fused_workspace(ctx, kernels, std::span(&call, 1));
}

}  // namespace portops::impl
