// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/fused/fused.hpp"

#include "core/exec/cuda/cuda_device.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/workspace.hpp"
#include "core/lanes/tile_shape.hpp"
#include "ops/convolution/channels_last.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/fused/fused_sm90.hpp"
#include "ops/convolution/layouts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace portops::impl {
namespace {

/// What each further split adds, in nanoseconds.
constexpr std::int64_t split_time = 2500;

/// Of a run in memory.
std::int64_t run_bytes(const Windows& windows, ElementType type) {
  return ceil_div(windows.channel_run(), unit_of(type)) * 16;
}

/// How many tiles the device works on at once: where several blocks share one, they must be neighbours on it. Asked
/// once for each form and device, as it takes long.
std::int64_t at_once(const Context& ctx, const FusedKernels& kernels, const FusedPlan& plan, const BlockTime& block) {
  if (plan.splits == 1) return std::int64_t{multiprocessors(ctx)} * block.at_once;
  static std::mutex mutex;
  using Form = std::array<int, 6>;
  static std::map<std::pair<const FusedKernels*, Form>, int> known;
  const std::lock_guard lock(mutex);
  const std::pair key{&kernels, Form{cuda_device(ctx), static_cast<int>(plan.type), static_cast<int>(plan.tf32),
                                     plan.rows, plan.pixels, plan.splits}};
  if (const auto entry = known.find(key); entry != known.end()) return entry->second;
  const CurrentDevice device(ctx);
  // Known when it has been told: the question may fail.
  const int clusters = std::max(kernels.clusters_at_once(plan), 1);
  known.emplace(key, clusters);
  return clusters;
}

/// A plan with its inner axis, but no form.
FusedPlan plan_steps(const Context& ctx, const Windows& windows, ElementType type) {
  FusedPlan plan{.type = type, .tf32 = type == ElementType::f32 && ctx.math() == Math::tf32};
  const std::int64_t run = windows.channel_run();
  plan.run_bytes = static_cast<int>(run_bytes(windows, type));
  plan.run_chunks = static_cast<int>(ceil_div(run, chunk_channels(type)));
  plan.group_chunks = static_cast<int>(windows.group_channels() / run) * plan.run_chunks;
  plan.steps = static_cast<int>(windows.taps()) * plan.group_chunks;
  const std::int64_t phases = ceil_div(windows.taps(), FusedPlan::most_phase_taps);
  plan.phase_taps = static_cast<int>(ceil_div(windows.taps(), phases));
  return plan;
}

/// Whether x can be read where it lies.
bool is_ready(const ConvolutionTensors& tensors, const Windows& windows) {
  const TensorRef& x = tensors.x;
  const bool is_padded = tensors.x_is_padded && windows.channel_run() == windows.channels;
  const std::int64_t width = unit_of(x.type());
  const auto is_aligned = [&](int axis) { return x.extent(axis) <= 1 || x.stride(axis) % width == 0; };
  const auto is_forward = [&](int axis) { return x.extent(axis) <= 1 || x.stride(axis) >= 0; };
  return (is_padded || windows.channel_run() % width == 0) && has_channels_last(x) &&
         reinterpret_cast<std::uintptr_t>(x.data()) % 16 == 0 && is_aligned(0) && is_aligned(2) && is_aligned(3) &&
         is_forward(0) && is_forward(2) && is_forward(3);
}

/// Where x lies, or will when it has been copied.
FusedOperands operands_of_x(const ConvolutionTensors& tensors, const Windows& windows, const FusedPlan& plan) {
  FusedOperands operands;
  if (is_ready(tensors, windows)) {
    const TensorRef& x = tensors.x;
    const std::int64_t width = unit_of(plan.type);
    operands.x = x.data();
    operands.x_image = x.stride(0) / width;
    operands.x_row = x.stride(2) / width;
    operands.x_pixel = x.stride(3) / width;
  } else {
    operands.x_is_copied = true;
    operands.x_pixel = plan.pixel_bytes(windows) / 16;
    operands.x_row = windows.width * operands.x_pixel;
    operands.x_image = windows.area() * operands.x_pixel;
  }
  return operands;
}

FusedPlan with_form(const Context& ctx, FusedPlan plan, const Windows& windows, const FusedForm& form) {
  plan.rows = form.rows;
  plan.pixels = form.pixels;
  plan.splits = form.splits;
  plan.residence = form.residence;
  plan.row_tiles = static_cast<int>(ceil_div(windows.group_out_channels(), form.rows));
  plan.pixel_tiles = ceil_div(windows.images * windows.pixels(), form.pixels);
  if (form.residence == Residence::patches) {
    plan.pixel_tiles =
        windows.images * ceil_div(windows.out_height, patch_side) * ceil_div(windows.out_width, patch_side);
  }
  plan.blocks = plan.pixel_tiles;
  if (plan.is_resident()) {
    const std::int64_t most = multiprocessors(ctx) / (windows.groups * plan.row_tiles);
    plan.blocks = std::min(plan.pixel_tiles, std::max<std::int64_t>(most, 1));
  }
  return plan;
}

/// Those of calls that are launched together, in one form.
using FusedPlans = std::vector<FusedPlan>;

FusedPlans with_form(const Context& ctx, FusedPlans plans, std::span<const FusedCall> calls, const FusedForm& form) {
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i] = with_form(ctx, plans[i], calls[i].windows, form);
    blocks += plans[i].row_tiles * calls[i].windows.groups * plans[i].blocks * plans[i].splits;
  }
  for (FusedPlan& plan : plans) plan.load = ceil_div(blocks, multiprocessors(ctx));
  return plans;
}

/// What a resident tile takes longer, in nanoseconds, where it writes planes, eight pixels of one at a time: least
/// where these fill sectors of 32 bytes, most where they begin anywhere.
std::int64_t planes_time(const FusedPlan& plan, const FusedCall& call) {
  const TensorRef& out = call.tensors.out;
  if (out.extent(1) <= 1 || out.stride(1) == 1) return 0;
  const auto element = static_cast<std::int64_t>(size_of(plan.type));
  const bool is_cut = plan.residence == Residence::patches && call.windows.out_width % patch_side != 0;
  const std::int64_t of_64_rows = is_cut ? 1200 : element == 2 ? 600 : 0;
  return plan.rows < 64 ? of_64_rows / 4 : of_64_rows;
}

/// What a resident plan takes, in nanoseconds: copies of runs take as long where they bring less of each pixel.
std::int64_t expected_time(const Context& ctx, const FusedPlan& plan, const FusedCall& call, const BlockTime& block) {
  const Windows& windows = call.windows;
  const std::int64_t blocks = plan.blocks * plan.row_tiles * windows.groups;
  const std::int64_t tiles = ceil_div(plan.pixel_tiles, plan.blocks) * ceil_div(blocks, multiprocessors(ctx));
  const std::int64_t bytes = plan.residence == Residence::patches ? plan.step_bytes() : 128;
  const std::int64_t tile_time = block.tile_time + planes_time(plan, call);
  return block.fixed_time + tiles * (tile_time + bytes * plan.steps * block.step_time / 128);
}

/// What others take that are launched together.
std::int64_t expected_time(const FusedPlans& plans, std::span<const FusedCall> calls, const BlockTime& block,
                           std::int64_t at_once) {
  std::int64_t all = 0, longest = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const FusedPlan& plan = plans[i];
    const int step_time = plan.load <= 1 && block.lone_step_time > 0 ? block.lone_step_time : block.step_time;
    const std::int64_t time =
        block.fixed_time + (plan.splits - 1) * split_time + ceil_div(plan.steps, plan.splits) * step_time;
    const std::int64_t tiles = plan.row_tiles * calls[i].windows.groups * plan.pixel_tiles;
    if (plans.size() == 1) return ceil_div(tiles, at_once) * time;
    all += tiles * time;
    longest = std::max(longest, time);
  }
  return std::max(longest, all / at_once);
}

/// Whether there is a kernel for a resident plan.
bool fits_resident(const FusedKernels& kernels, const FusedCall& call, const FusedPlan& plan) {
  return kernels.fits_resident({call.windows, plan, operands_of_x(call.tensors, call.windows, plan)});
}

FusedPlans make_plans(const Context& ctx, const FusedKernels& kernels, std::span<const FusedCall> calls,
                      const std::optional<FusedForm>& form = {}) {
  const ElementType type = calls.front().tensors.x.type();
  FusedPlans steps;
  int most_splits = FusedPlan::most_splits;
  for (const FusedCall& call : calls) {
    steps.push_back(plan_steps(ctx, call.windows, type));
    most_splits = std::min(most_splits, steps.back().steps);
  }
  if (form) return with_form(ctx, steps, calls, *form);
  FusedPlans best;
  std::int64_t least = INT64_MAX;
  for (const BlockTime& block : kernels.block_times(type, steps.front().tf32)) {
    if (block.is_resident()) {
      // Blocks of one call alone.
      if (calls.size() > 1) continue;
      const FusedCall& call = calls.front();
      const FusedForm of_block{block.rows, block.pixels, 1, block.residence};
      const FusedPlan plan = with_form(ctx, steps.front(), call.windows, of_block);
      const std::int64_t time = expected_time(ctx, plan, call, block);
      if (time >= least || !fits_resident(kernels, call, plan)) continue;
      least = time;
      best.assign(1, plan);
      continue;
    }
    for (int splits = 1; splits <= most_splits; splits *= 2) {
      FusedPlans plans = with_form(ctx, steps, calls, {block.rows, block.pixels, splits});
      const std::int64_t time = expected_time(plans, calls, block, at_once(ctx, kernels, plans.front(), block));
      if (time >= least) continue;
      least = time;
      best = std::move(plans);
    }
  }
  return best;
}

struct FusedMemory {
  MemoryLayout layout;
  FusedPlans plans;
  std::vector<TemporaryArray> weights;
  TemporaryArray x;  ///< where the tensor cannot be read as it lies

  FusedMemory(std::span<const FusedCall> calls, FusedPlans how) : plans(std::move(how)) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      weights.emplace_back(layout, static_cast<std::int64_t>(plans[i].weight_bytes(calls[i].windows)), 1);
    }
    const auto& [windows, tensors] = calls.front();
    if (!is_ready(tensors, windows)) {
      x = TemporaryArray(layout, windows.images * windows.area() * plans.front().pixel_bytes(windows), 1);
    }
  }
};

/// Copies x with its channels last, each run of them padded with zeros to a multiple of 16 bytes.
template <Backend B, class T>
void copy_x(const Context& ctx, const ConvolutionLabels& labels, const Windows& windows, const TensorRef& x,
            const FusedPlan& plan, void* copy) {
  const std::int64_t run = windows.channel_run();
  const std::int64_t padded_run = plan.run_bytes / static_cast<std::int64_t>(size_of(x.type()));
  const std::int64_t runs = windows.channels / run;
  const std::int64_t pixel = runs * padded_run;
  Rearrangement what = to_channels_last(x, 0, windows.images, copy, pixel);
  if (padded_run == run) return ConvolutionKernels<B, T>::rearrange(ctx, labels.x, what);
  // All of it: what fills up a run is few bytes of many pixels.
  ConvolutionKernels<B, T>::zero(ctx, labels.fill, copy,
                                 static_cast<std::size_t>(windows.images * windows.area() * pixel) * sizeof(T));
  what.rows = run;
  // Image by image all runs, or run by run all images: a launch for each of what there is less of.
  std::int64_t from_step = run * what.from.row, to_step = padded_run;
  if (windows.images < runs) {
    what.batches = runs;
    std::swap(what.from.batch, from_step);
    std::swap(what.to.batch, to_step);
  }
  for (std::int64_t k = 0; k < std::min(windows.images, runs); ++k) {
    ConvolutionKernels<B, T>::rearrange(ctx, labels.x, what);
    what.from.data = static_cast<T*>(what.from.data) + from_step;
    what.to.data = static_cast<T*>(what.to.data) + to_step;
  }
}

}  // namespace

bool can_fuse(const Context& ctx, const Windows& windows, const ConvolutionTensors& t) {
  const ElementType type = t.x.type();
  if (ctx.backend() != Backend::cuda || type == ElementType::f64 || compute_capability(ctx) != 90) return false;
  const std::int64_t chunk = chunk_channels(type);
  const std::int64_t padded_run = ceil_div(windows.channel_run(), chunk) * chunk;
  const std::int64_t runs = windows.channels / windows.channel_run();
  // Where most of many chunks would be padding, or most of a thread's 16 bytes, columns in memory cost less.
  const bool has_one_chunk = runs == 1 && windows.channels * static_cast<std::int64_t>(size_of(type)) >= gpu_pack_bytes;
  if (!has_long_runs(ctx, windows, t) && !has_one_chunk) return false;
  const std::int64_t pixel_bytes = runs * run_bytes(windows, type);
  constexpr std::int64_t most_bytes = std::int64_t{4} << 30;
  const auto reach = [&](int axis) {
    return t.x.extent(axis) <= 1 ? 0 : (t.x.extent(axis) - 1) * std::abs(t.x.stride(axis));
  };
  const std::int64_t span = (reach(0) + reach(1) + reach(2) + reach(3)) * static_cast<std::int64_t>(size_of(type));
  // Of 64 bytes, of the packed weight, whose output channels a block fills up by 255 at most.
  const std::int64_t packed_pieces = (windows.group_out_channels() + 255) * windows.taps() * runs *
                                     (padded_run * static_cast<std::int64_t>(size_of(type)) / 64);
  return windows.images * windows.area() * pixel_bytes < most_bytes && span < most_bytes &&
         windows.taps() * windows.channels < INT32_MAX / 4 && packed_pieces < INT32_MAX &&
         windows.groups * ceil_div(windows.group_out_channels(), 32) < 65536 &&
         windows.images * windows.pixels() < INT32_MAX && windows.area() > 0;
}

std::vector<FusedForm> fused_forms(const Context& ctx, const FusedKernels& kernels, const FusedCall& call) {
  const ElementType type = call.tensors.x.type();
  const FusedPlan plan = plan_steps(ctx, call.windows, type);
  std::vector<FusedForm> forms;
  for (const BlockTime& block : kernels.block_times(type, plan.tf32)) {
    if (block.is_resident()) {
      const FusedForm form{block.rows, block.pixels, 1, block.residence};
      if (fits_resident(kernels, call, with_form(ctx, plan, call.windows, form))) forms.push_back(form);
      continue;
    }
    for (int splits = 1; splits <= std::min(FusedPlan::most_splits, plan.steps); splits *= 2) {
      forms.push_back({block.rows, block.pixels, splits});
    }
  }
  return forms;
}

void convolve_fused(const Context& ctx, const FusedKernels& kernels, std::span<const FusedCall> calls,
                    const std::optional<FusedForm>& form) {
  const FusedMemory plan(calls, make_plans(ctx, kernels, calls, form));
  const Temporary memory(ctx, kernels.labels.workspace.c_str(), plan.layout.bytes());
  const auto& [windows, t] = calls.front();
  const ElementType type = t.x.type();
  FusedOperands common = operands_of_x(t, windows, plan.plans.front());
  if (common.x_is_copied) {
    void* const copy = plan.x.in(memory.data());
    common.x = copy;
    dispatch_type(type, [&]<class T>() {
      copy_x<Backend::cuda, T>(ctx, kernels.labels, windows, t.x, plan.plans.front(), copy);
    });
  }
  std::vector<FusedConvolution> convolutions;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ConvolutionTensors& its = calls[i].tensors;
    FusedOperands operands = common;
    operands.offset = tensor4(its.offset);
    operands.mask = tensor4(its.mask);
    operands.weight = tensor4(its.weight);
    operands.out = tensor4(its.out);
    operands.bias = its.bias ? its.bias.data() : nullptr;
    operands.bias_stride = its.bias ? its.bias.stride(0) : 0;
    operands.packed_weight = plan.weights[i].in(memory.data());
    convolutions.push_back({calls[i].windows, plan.plans[i], operands});
  }
  // Blocks that take longest begin first.
  std::ranges::stable_sort(convolutions, std::greater(), [](const FusedConvolution& its) { return its.plan.steps; });
  const CurrentDevice device(ctx);
  const LaunchEvent event(ctx, kernels.labels.fused.c_str());
  kernels.run(cuda_stream(ctx), convolutions);
}

std::size_t fused_workspace(const Context& ctx, const FusedKernels& kernels, std::span<const FusedCall> calls) {
  return FusedMemory(calls, make_plans(ctx, kernels, calls)).layout.bytes();
}

}  // namespace portops::impl
