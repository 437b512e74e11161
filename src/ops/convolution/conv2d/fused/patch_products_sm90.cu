// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/convolution/conv2d/fused/patch_products.hpp"

#include "blas/tensor_cores_sm90.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "ops/convolution/conv2d/fused/tensor_maps_sm90.hpp"
#include "ops/convolution/conv2d/fused/weight_parts_sm90.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

using blas::sm90::Precision;
using blas::sm90::SharedAddress;
using Plan = PatchProductsPlan;

constexpr const char* label = "portops::conv2d_grad::weight_grad[patches]";

/// Three warpgroups multiply, three taps each. Of the fourth one a warp copies, and the others add up out_grad.
constexpr int multiplying = 3, consumers = multiplying * 128, threads = consumers + 128, helpers = 96;
constexpr int taps_of_warpgroup = Plan::most_taps / multiplying;
constexpr int patch_pixels = Plan::side * Plan::side;
constexpr int line_bytes = 128;  ///< of a pixel of an operand: 64 channels, swizzled
constexpr int unit_bytes = 16, unit_channels = 8, line_units = line_bytes / unit_bytes;
constexpr int out_grad_bytes = patch_pixels * line_bytes;
constexpr int shared_bytes = 227 * 1024;

/// What a block has in shared memory: stages of x and out_grad; the sums of out_grad; and barriers.
struct Layout {
  int region;  ///< pixels of x
  int x_bytes;
  int stage_bytes;
  int sums_at, barriers_at, bytes;

  __host__ __device__ explicit Layout(const Plan& plan)
      : region(plan.region_width * plan.region_height),
        x_bytes((region * line_bytes + 1023) / 1024 * 1024),
        stage_bytes(x_bytes + out_grad_bytes),
        sums_at(plan.stages * stage_bytes),
        barriers_at(sums_at + helpers * 16),
        bytes(barriers_at + plan.stages * 16) {}
};

/// The four maps of out_grad are those of all of it and of the columns, the rows, or both that the last patches of an
/// image alone have: what is before these is 0.
struct Maps {
  CUtensorMap x, out_grad[2][2];
};

struct Arguments {
  Windows windows;
  Plan plan;
  WeightParts parts;
  int patches;
  Divisor across, down;
};

/// A patch, by where it begins in out_grad.
struct Patch {
  int image, y, x;
  bool is_last_row, is_last_column;

  __device__ Patch(const Arguments& arguments, int number) {
    const std::uint32_t row = arguments.across.quotient(number);
    image = static_cast<int>(arguments.down.quotient(row));
    const int down = static_cast<int>(row - image * arguments.down.value());
    const int across = static_cast<int>(number - row * arguments.across.value());
    is_last_row = down + 1 == static_cast<int>(arguments.down.value());
    is_last_column = across + 1 == static_cast<int>(arguments.across.value());
    y = is_last_row ? static_cast<int>(arguments.windows.out_height) - Plan::side : down * Plan::side;
    x = is_last_column ? static_cast<int>(arguments.windows.out_width) - Plan::side : across * Plan::side;
  }
};

/// The part of the sums that a block has.
struct Tile {
  int row;  ///< the first channel
  int share;

  __device__ Tile() : row(static_cast<int>(blockIdx.x) * Plan::rows), share(static_cast<int>(blockIdx.y)) {}
  __device__ int x_channel(const Plan& plan) const { return plan.x_is_rows ? row : 0; }
  __device__ int out_channel(const Plan& plan) const { return plan.x_is_rows ? 0 : row; }
};

/// Calls action(number) for the patches of a block.
template <class Action>
__device__ __forceinline__ void for_patches(const Arguments& arguments, const Tile& tile, const Action& action) {
  for (int i = tile.share; i < arguments.patches; i += arguments.plan.shares) action(i);
}

/// By one thread: x and out_grad of each patch.
__device__ void copy_patches(const Arguments& arguments, const Maps& maps, const Layout& layout, const Tile& tile,
                             SharedAddress memory, blas::sm90::Ring ring) {
  const Plan& plan = arguments.plan;
  const Windows& windows = arguments.windows;
  const int bytes = (layout.region + patch_pixels) * line_bytes;
  // Where the patches of an image that end where it does begin to be theirs alone.
  const int last_y = (plan.down - 1) * Plan::side, last_x = (plan.across - 1) * Plan::side;
  bool is_first_round = true;
  for_patches(arguments, tile, [&](int number) {
    const Patch patch(arguments, number);
    if (!is_first_round) ring.empty().wait(ring.round ^ 1);
    const SharedAddress stage = memory + ring.stage * layout.stage_bytes;
    const blas::sm90::Barrier full = ring.full();
    full.announce(bytes);
    fused_sm90::copy_box(maps.x, full, stage, tile.x_channel(plan), patch.x - static_cast<int>(windows.left),
                         patch.y - static_cast<int>(windows.top), patch.image);
    fused_sm90::copy_box(maps.out_grad[patch.is_last_row][patch.is_last_column], full, stage + layout.x_bytes,
                         tile.out_channel(plan), patch.x - (patch.is_last_column ? last_x : 0),
                         patch.y - (patch.is_last_row ? last_y : 0), patch.image);
    ring.advance();
    if (ring.stage == 0) is_first_round = false;
  });
}

/// By the helpers: the sums of the channels of a unit of out_grad, of every twelfth pixel.
template <class T>
__device__ void add_out_grad(const Arguments& arguments, const Layout& layout, const Tile& tile, const char* shared,
                             blas::sm90::Ring ring, float (&sums)[unit_channels]) {
  const int thread = static_cast<int>(threadIdx.x) - consumers - 32, unit = thread % line_units;
  for_patches(arguments, tile, [&](int) {
    ring.full().wait(ring.round);
    const char* const out_grad = shared + ring.stage * layout.stage_bytes + layout.x_bytes;
    for (int line = thread / line_units; line < patch_pixels; line += helpers / line_units) {
      const uint4 word = *reinterpret_cast<const uint4*>(out_grad + line * line_bytes + ((unit ^ line % 8) << 4));
      T numbers[unit_channels];
      memcpy(numbers, &word, sizeof(numbers));
#pragma unroll
      for (int i = 0; i < unit_channels; ++i) sums[i] += static_cast<float>(numbers[i]);
    }
    __syncwarp();
    if (thread % 32 == 0) ring.empty().arrive();
    ring.advance();
  });
}

/// By the helpers: leaves the sums of out_grad of the block's share.
__device__ void leave_out_grad(const Arguments& arguments, const Tile& tile, float* scratch,
                               const float (&sums)[unit_channels]) {
  constexpr int some = 4;  // numbers of each thread, at a time
  const int thread = static_cast<int>(threadIdx.x) - consumers - 32;
  const int first = tile.out_channel(arguments.plan);
  const auto outs = static_cast<int>(arguments.windows.out_channels);
  float* const parts = arguments.parts.bias_sums(arguments.windows, arguments.plan.shares);
#pragma unroll
  for (int k = 0; k < unit_channels; k += some) {
    blas::sm90::synchronize<4, helpers>();
#pragma unroll
    for (int i = 0; i < some; ++i) scratch[thread * some + i] = sums[k + i];
    blas::sm90::synchronize<4, helpers>();
    const int unit = thread / some, i = thread % some, channel = unit * unit_channels + k + i;
    if (thread < line_units * some && first + channel < outs) {
      float total = 0.0f;
      for (int other = unit; other < helpers; other += line_units) total += scratch[other * some + i];
      parts[tile.share * outs + first + channel] = total;
    }
  }
}

/// Of an operand whose lines are pixels, eight of which begin `pitch` lines behind those before: turned.
__device__ __forceinline__ std::uint64_t describe_lines(SharedAddress operand, int pitch) {
  return static_cast<std::uint64_t>(operand >> 4 & 0x3fff) | std::uint64_t{64} << 16 |
         static_cast<std::uint64_t>(pitch * line_bytes >> 4) << 32 | std::uint64_t{1} << 62;
}

/// The sums of a warpgroup's taps.
struct TapSums {
  float of[taps_of_warpgroup][Plan::columns / 2] = {};

  /// Behind a wait for the products: the compiler does not know that it is one for registers.
  __device__ __forceinline__ void complete() {
#pragma unroll
    for (auto& sums : of) {
#pragma unroll
      for (float& sum : sums) asm volatile("" : "+f"(sum)::"memory");
    }
  }
};

/// Enqueues the products of a patch.
template <Precision precision>
__device__ __forceinline__ void multiply_patch(TapSums& sums, const Arguments& arguments, const Layout& layout,
                                               SharedAddress stage) {
  const Plan& plan = arguments.plan;
  const Windows& windows = arguments.windows;
  const int first = static_cast<int>(threadIdx.x) / 128 * taps_of_warpgroup;
  const auto taps = static_cast<int>(windows.taps()), width = static_cast<int>(windows.kernel_width);
  const int pitch = plan.region_width;
  const std::uint64_t out_grad = describe_lines(stage + layout.x_bytes, Plan::side);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < taps_of_warpgroup; ++i) {
    // Where there are fewer, those of the first one once more, which are dropped.
    const int tap = first + i < taps ? first + i : 0;
    const int y = tap / width, x = tap - y * width;
    const int line = y * static_cast<int>(windows.dilation_y) * pitch + x * static_cast<int>(windows.dilation_x);
    const std::uint64_t region = describe_lines(stage + line * line_bytes, pitch);
#pragma unroll
    for (int k = 0; k < patch_pixels / 16; ++k) {
      const std::uint64_t of_x = region + (2 * k * pitch * line_bytes >> 4);
      const std::uint64_t of_grad = out_grad + (k * 16 * line_bytes >> 4);
      const std::uint64_t a = plan.x_is_rows ? of_x : of_grad, b = plan.x_is_rows ? of_grad : of_x;
      blas::sm90::multiply_32_bytes<precision, Plan::columns, true, true>(sums.of[i], a, b, 1);
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Leaves a warpgroup's sums.
__device__ void leave_sums(const Arguments& arguments, const Tile& tile, const TapSums& sums) {
  const Plan& plan = arguments.plan;
  const Windows& w = arguments.windows;
  const auto outs = static_cast<int>(w.out_channels), channels = static_cast<int>(w.channels);
  const auto taps = static_cast<int>(w.taps());
  float* const part = arguments.parts.sums + std::int64_t{tile.share} * outs * taps * channels;
  const auto leave = [&](int row, int column, int tap, float sum) {
    const int out = plan.x_is_rows ? column : row, channel = plan.x_is_rows ? row : column;
    if (out < outs && channel < channels) part[(std::int64_t{out} * taps + tap) * channels + channel] = sum;
  };
  const int first = static_cast<int>(threadIdx.x) / 128 * taps_of_warpgroup;
#pragma unroll
  for (int i = 0; i < taps_of_warpgroup; ++i) {
    const int tap = first + i;
    if (tap >= taps) break;
    blas::sm90::for_rows_of_sums<Plan::columns>(sums.of[i], [&](int row, int column, const auto& pair_at) {
#pragma unroll
      for (int k = 0; k < Plan::columns / 8; ++k) {
        const float2 pair = pair_at(k);
        leave(tile.row + row, column + 8 * k, tap, pair.x);
        leave(tile.row + row, column + 8 * k + 1, tap, pair.y);
      }
    });
  }
}

template <class T, Precision precision>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ Arguments arguments,
                                                       const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) char shared[];
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const Layout layout(arguments.plan);
  const Tile tile;
  const int thread = static_cast<int>(threadIdx.x);
  const bool sums_out_grad = arguments.parts.bias_grad != nullptr && tile.x_channel(arguments.plan) == 0;
  blas::sm90::Ring ring{memory + layout.barriers_at, arguments.plan.stages};
  if (thread == 0) ring.make(1, multiplying + (sums_out_grad ? helpers / 32 : 0));
  __syncthreads();
  // Of all 65536.
  constexpr int consumer_registers = 152, helper_registers = 56;
  if (thread < consumers) {
    blas::sm90::take_registers<consumer_registers>();
    TapSums sums;
    // A block has one patch at least.
    int number = tile.share;
    do {
      ring.full().wait(ring.round);
      multiply_patch<precision>(sums, arguments, layout, memory + ring.stage * layout.stage_bytes);
      // Of the patch before, the products are over.
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (thread % 128 == 0 && number != tile.share) ring.empty_before().arrive();
      ring.advance();
      number += arguments.plan.shares;
    } while (number < arguments.patches);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    sums.complete();
    return leave_sums(arguments, tile, sums);
  }
  blas::sm90::leave_registers<helper_registers>();
  if (thread < consumers + 32) {
    if (thread == consumers) copy_patches(arguments, maps, layout, tile, memory, ring);
  } else if (sums_out_grad) {
    float sums[unit_channels] = {};
    add_out_grad<T>(arguments, layout, tile, shared, ring, sums);
    leave_out_grad(arguments, tile, reinterpret_cast<float*>(shared + layout.sums_at), sums);
  }
}

/// A line of channels of a box of pixels.
CUtensorMap map_of(const void* data, ElementType type, const std::int64_t (&extents)[4], const PixelStrides& strides,
                   int width, int height) {
  const auto number = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t sizes[] = {number(extents[0]), number(extents[1]), number(extents[2]), number(extents[3])};
  // An axis of one position, whose stride may be any, has that of the one inside of it.
  const std::int64_t pixel = extents[1] > 1 ? strides.x : 1, row = extents[2] > 1 ? strides.y : pixel;
  const std::int64_t image = extents[3] > 1 ? strides.image : row;
  const cuuint64_t bytes[] = {number(pixel * unit_bytes), number(row * unit_bytes), number(image * unit_bytes)};
  const cuuint32_t box[] = {line_bytes / 2, static_cast<cuuint32_t>(width), static_cast<cuuint32_t>(height), 1};
  const cuuint32_t every[] = {1, 1, 1, 1};
  CUtensorMap map;
  fused_sm90::check_map(
      fused_sm90::tiled_encode()(&map, fused_sm90::map_type(type), 4, const_cast<void*>(data), sizes, bytes, box, every,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled");
  return map;
}

Maps maps_of(const Windows& windows, const Plan& plan, const PatchProductsOperands& operands, ElementType type) {
  Maps maps;
  maps.x = map_of(operands.x, type, {windows.channels, windows.width, windows.height, windows.images},
                  operands.x_strides, plan.region_width, plan.region_height);
  for (const int last_row : {0, 1}) {
    for (const int last_column : {0, 1}) {
      const std::int64_t y = last_row * (plan.down - 1) * Plan::side, x = last_column * (plan.across - 1) * Plan::side;
      const PixelStrides& strides = operands.out_grad_strides;
      const auto* const first =
          static_cast<const std::byte*>(operands.out_grad) + (y * strides.y + x * strides.x) * unit_bytes;
      maps.out_grad[last_row][last_column] =
          map_of(first, type, {windows.out_channels, windows.out_width - x, windows.out_height - y, windows.images},
                 strides, Plan::side, Plan::side);
    }
  }
  return maps;
}

template <class T, Precision precision>
void launch(cudaStream_t stream, const Windows& windows, const Plan& plan, const PatchProductsOperands& operands) {
  const auto divisor = [](int value) { return Divisor(static_cast<std::uint32_t>(value)); };
  const Arguments arguments{.windows = windows,
                            .plan = plan,
                            .parts = operands.parts,
                            .patches = static_cast<int>(windows.images) * plan.across * plan.down,
                            .across = divisor(plan.across),
                            .down = divisor(plan.down)};
  auto* const kernel = multiply<T, precision>;
  const int bytes = Layout(plan).bytes;
  allow_shared_memory(reinterpret_cast<const void*>(kernel), bytes, label);
  const dim3 grid(static_cast<unsigned>(plan.row_tiles), static_cast<unsigned>(plan.shares));
  kernel<<<grid, threads, static_cast<std::size_t>(bytes), stream>>>(
      arguments, maps_of(windows, plan, operands, ElementTypeOf<T>::value));
  check_cuda(cudaGetLastError(), label, "cudaLaunchKernel");
  enqueue_sums_of_parts<T>(stream, label, windows, operands.parts, plan.shares);
}

}  // namespace

std::optional<PatchProductsPlan> plan_patch_products(const Windows& windows, int multiprocessors) {
  constexpr int least_taps = 6;
  constexpr std::int64_t most_box = 256;
  const std::int64_t width = Plan::side + (windows.kernel_width - 1) * windows.dilation_x;
  const std::int64_t height = Plan::side + (windows.kernel_height - 1) * windows.dilation_y;
  if (windows.groups != 1 || windows.stride_x != 1 || windows.stride_y != 1 || windows.taps() < least_taps ||
      windows.taps() > Plan::most_taps || windows.out_width < Plan::side || windows.out_height < Plan::side ||
      width > most_box || height > most_box || fused_sm90::tiled_encode() == nullptr) {
    return std::nullopt;
  }
  if (std::min(windows.channels, windows.out_channels) > Plan::columns) return std::nullopt;
  Plan plan{.x_is_rows = windows.out_channels <= Plan::columns};
  plan.region_width = static_cast<int>(width);
  plan.region_height = static_cast<int>(height);
  plan.across = static_cast<int>(ceil_div(windows.out_width, Plan::side));
  plan.down = static_cast<int>(ceil_div(windows.out_height, Plan::side));
  const std::int64_t tiles = ceil_div(plan.x_is_rows ? windows.channels : windows.out_channels, Plan::rows);
  const std::int64_t patches = windows.images * plan.across * plan.down;
  constexpr int most_stages = 6;
  for (plan.stages = most_stages; plan.stages > 1 && Layout(plan).bytes > shared_bytes;) --plan.stages;
  constexpr std::int64_t least_patches = 8;  // of a share
  if (plan.stages < 2 || 2 * tiles > multiprocessors || patches >= INT32_MAX) return std::nullopt;
  plan.row_tiles = static_cast<int>(tiles);
  plan.shares = static_cast<int>(multiprocessors / tiles);
  return patches >= least_patches * plan.shares ? std::optional(plan) : std::nullopt;
}

void multiply_patches(void* stream, ElementType type, const Windows& windows, const PatchProductsPlan& plan,
                      const PatchProductsOperands& operands) {
  auto* const to = static_cast<cudaStream_t>(stream);
  if (type == ElementType::f16) return launch<f16, Precision::f16>(to, windows, plan, operands);
  launch<bf16, Precision::bf16>(to, windows, plan, operands);
}

}  // namespace portops::impl
