// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/tensor_cores_sm90.hpp"
#include "core/exec/cuda/cuda_device.hpp"
#include "ops/convolution/conv2d/fused/weight_parts_sm90.hpp"
#include "ops/convolution/conv2d/fused/weight_products.hpp"

#include <algorithm>
#include <type_traits>

namespace portops::impl {
namespace {

using blas::sm90::Precision;
using blas::sm90::SharedAddress;

// Two warpgroups.
constexpr int threads = 256;
constexpr int step_pixels = 64;    ///< of a stage
constexpr int line_channels = 64;  ///< 128 bytes of 16-bit numbers
constexpr int columns = 192;       ///< of a tile: a 3 by 3 window of 64 channels is three tiles
constexpr int column_lines = columns / line_channels;
/// A line of channels of all pixels of a stage: their channels are neighbours, so the product takes it turned. Of
/// planes it is the pixels of all its channels, as products want them.
constexpr int line_bytes = step_pixels * 128;
constexpr int unit_channels = 8;  ///< of 16 bytes
constexpr int stages = 4;
constexpr const char* label = "portops::conv2d_grad::weight_grad[fused]";

constexpr __host__ __device__ int row_lines(int rows) { return rows / line_channels; }
constexpr __host__ __device__ int tile_bytes(int rows) { return (row_lines(rows) + column_lines) * line_bytes; }

/// Where a pixel of out_grad, and the window that it stands for, lie.
struct PixelPlace {
  std::int32_t x;            ///< the window's first position, in units of 16 bytes; it may lie outside of the image
  std::int32_t out_grad;     ///< the same
  std::int16_t row, column;  ///< of that position in the image
  std::int32_t is_there;
};

struct Arguments {
  Windows windows;
  WeightProductsOperands operands;
  WeightProductsPlan plan;
  std::int64_t all_pixels;
  Divisor by_pixels, by_width, by_steps_of_image;
};

/// What a block computes.
struct Block {
  int group, first_out_channel, column_tile, share;
  int first_step, steps;

  __device__ Block(const Arguments& arguments, int rows) {
    const WeightProductsPlan& plan = arguments.plan;
    column_tile = static_cast<int>(blockIdx.x);
    share = static_cast<int>(blockIdx.z);
    group = static_cast<int>(blockIdx.y) / plan.row_tiles;
    first_out_channel = (static_cast<int>(blockIdx.y) - group * plan.row_tiles) * rows;
    first_step = static_cast<int>(std::int64_t{plan.steps} * share / plan.shares);
    steps = static_cast<int>(std::int64_t{plan.steps} * (share + 1) / plan.shares) - first_step;
  }
};

/// Makes the table of a step's pixels.
__device__ __forceinline__ void find_pixels(const Arguments& arguments, std::int64_t step, PixelPlace* places) {
  if (threadIdx.x >= step_pixels) return;
  const Windows& w = arguments.windows;
  const std::int64_t pixel = step * step_pixels + threadIdx.x;
  PixelPlace place{0, 0, 0, 0, 0};
  if (pixel < arguments.all_pixels) {
    const std::uint32_t image = arguments.by_pixels.quotient(static_cast<std::uint32_t>(pixel));
    const std::uint32_t in_image = static_cast<std::uint32_t>(pixel) - image * arguments.by_pixels.value();
    const std::uint32_t y = arguments.by_width.quotient(in_image), x = in_image - y * arguments.by_width.value();
    const int row = static_cast<int>(y * w.stride_y - w.top), column = static_cast<int>(x * w.stride_x - w.left);
    const PixelStrides& of_x = arguments.operands.x_strides;
    const PixelStrides& of_grad = arguments.operands.out_grad_strides;
    place.x = static_cast<std::int32_t>(image * of_x.image + row * of_x.y + column * of_x.x);
    place.out_grad = static_cast<std::int32_t>(image * of_grad.image + y * of_grad.y + x * of_grad.x);
    place.row = static_cast<std::int16_t>(row);
    place.column = static_cast<std::int16_t>(column);
    place.is_there = 1;
  }
  places[threadIdx.x] = place;
}

/// What a line of x in a tile is: some channels of a tap. Taps are counted before channels, so that those of a tile are
/// neighbours.
struct Line {
  int tap, first_channel;  ///< not less than the group's channels where there is no such line

  __device__ __forceinline__ Line(const Arguments& arguments, const Block& block, int line) {
    const int chunk = block.column_tile * column_lines + line, taps = static_cast<int>(arguments.windows.taps());
    const int of_channels = chunk / taps;
    tap = chunk - of_channels * taps;
    first_channel = of_channels * line_channels;
  }
};

/// A unit of x, of a line of the tile: what one thread reads of pixel after pixel.
struct UnitOfX {
  std::int32_t offset;
  std::int16_t row, column;  ///< of the tap in the window
  bool exists;

  UnitOfX() = default;
  __device__ UnitOfX(const Arguments& arguments, const Block& block, int line, int unit) {
    const Windows& w = arguments.windows;
    const Line its(arguments, block, line);
    const int tap = its.tap, channel = its.first_channel + unit * unit_channels;
    const int y = tap / static_cast<int>(w.kernel_width), x = tap - y * static_cast<int>(w.kernel_width);
    row = static_cast<std::int16_t>(y * w.dilation_y);
    column = static_cast<std::int16_t>(x * w.dilation_x);
    exists = channel < w.group_channels();
    offset = static_cast<std::int32_t>((block.group * w.group_channels() + channel) / unit_channels +
                                       row * arguments.operands.x_strides.y + column * arguments.operands.x_strides.x);
  }

  /// Whether the pixel's window has it inside of the image.
  __device__ __forceinline__ bool is_in(const Windows& w, const PixelPlace& place) const {
    return exists && place.is_there != 0 && static_cast<unsigned>(place.row + row) < static_cast<unsigned>(w.height) &&
           static_cast<unsigned>(place.column + column) < static_cast<unsigned>(w.width);
  }
};

/// The same of out_grad.
struct UnitOfOutGrad {
  std::int32_t offset;
  int channels;  ///< that there are, of the last unit fewer than of others

  UnitOfOutGrad() = default;
  __device__ UnitOfOutGrad(const Arguments& arguments, const Block& block, int line, int unit) {
    const std::int64_t of_group = arguments.windows.group_out_channels();
    const std::int64_t channel = block.first_out_channel + line * line_channels + unit * unit_channels;
    channels = static_cast<int>(min(of_group - channel, std::int64_t{unit_channels}));
    offset = static_cast<std::int32_t>((block.group * of_group + channel) / unit_channels);
  }
};

/// The units that a thread reads of each pixel.
template <int rows>
struct Units {
  UnitOfOutGrad out_grad[row_lines(rows)];
  UnitOfX x[column_lines];

  __device__ Units(const Arguments& arguments, const Block& block) {
    const int unit = static_cast<int>(threadIdx.x) % (line_channels / unit_channels);
#pragma unroll
    for (int line = 0; line < row_lines(rows); ++line) out_grad[line] = {arguments, block, line, unit};
#pragma unroll
    for (int line = 0; line < column_lines; ++line) x[line] = {arguments, block, line, unit};
  }

  /// Calls action(line of the tile, address, how many of its channels are there) for those of a pixel.
  template <class Action>
  __device__ __forceinline__ void for_lines(const Arguments& arguments, PixelPlace place, const Action& action) const {
    const auto* const of_grad = static_cast<const uint4*>(arguments.operands.out_grad);
    const auto* const of_x = static_cast<const uint4*>(arguments.operands.x);
#pragma unroll
    for (int line = 0; line < row_lines(rows); ++line) {
      const bool is_there = out_grad[line].channels > 0 && place.is_there != 0;
      action(line, of_grad + (is_there ? place.out_grad + out_grad[line].offset : 0),
             is_there ? out_grad[line].channels : 0);
    }
#pragma unroll
    for (int line = 0; line < column_lines; ++line) {
      const bool is_there = x[line].is_in(arguments.windows, place);
      action(row_lines(rows) + line, of_x + (is_there ? place.x + x[line].offset : 0), is_there ? unit_channels : 0);
    }
  }
};

/// What a thread copies of the planes of a stage: the same 16 bytes of pixels of every 32nd channel of each line.
template <int rows>
struct PlaneUnits {
  static constexpr int lines = row_lines(rows) + column_lines;
  static constexpr int line_units = step_pixels / unit_channels, together = threads / line_units;
  static constexpr int of_line = line_channels / together;
  int unit = static_cast<int>(threadIdx.x) % line_units, first_channel = static_cast<int>(threadIdx.x) / line_units;
  std::int32_t offset[lines][of_line];  ///< of the channel, or -1 where there is none

  __device__ PlaneUnits(const Arguments& arguments, const Block& block) {
    const Windows& w = arguments.windows;
    const auto outs = static_cast<int>(w.group_out_channels()), channels = static_cast<int>(w.group_channels());
#pragma unroll
    for (int line = 0; line < lines; ++line) {
#pragma unroll
      for (int k = 0; k < of_line; ++k) {
        const int in_line = first_channel + k * together;
        if (line < row_lines(rows)) {
          const int channel = block.first_out_channel + line * line_channels + in_line;
          offset[line][k] =
              channel < outs
                  ? static_cast<std::int32_t>((block.group * outs + channel) * arguments.operands.out_grad_plane)
                  : -1;
        } else {
          const int channel = Line(arguments, block, line - row_lines(rows)).first_channel + in_line;
          offset[line][k] =
              channel < channels
                  ? static_cast<std::int32_t>((block.group * channels + channel) * arguments.operands.x_plane)
                  : -1;
        }
      }
    }
  }

  __device__ __forceinline__ void copy(const Arguments& arguments, int step, SharedAddress stage) const {
    const std::uint32_t image = arguments.by_steps_of_image.quotient(static_cast<std::uint32_t>(step));
    const auto in_image = static_cast<int>(step - image * arguments.by_steps_of_image.value());
    const int at = in_image * line_units + unit;
    const bool is_there = at < static_cast<int>(arguments.windows.pixels()) / unit_channels;
    const auto* const out_grad =
        static_cast<const uint4*>(arguments.operands.out_grad) + image * arguments.operands.out_grad_strides.image + at;
    const auto* const x =
        static_cast<const uint4*>(arguments.operands.x) + image * arguments.operands.x_strides.image + at;
#pragma unroll
    for (int line = 0; line < lines; ++line) {
#pragma unroll
      for (int k = 0; k < of_line; ++k) {
        const int channel = first_channel + k * together;
        const bool exists = is_there && offset[line][k] >= 0;
        const uint4* const from = (line < row_lines(rows) ? out_grad : x) + offset[line][k];
        blas::sm90::copy_unit(stage + line * line_bytes + channel * 128 + ((unit ^ (channel % 8)) << 4),
                              exists ? from : static_cast<const uint4*>(arguments.operands.x), exists ? 16 : 0);
      }
    }
  }
};

/// Of 64 rows each warpgroup takes half of the pixels of a stage, of 128 half of the rows.
template <int rows>
struct WarpgroupShare {
  int index = static_cast<int>(threadIdx.x) / 128;
  static constexpr int instructions = step_pixels / 16 / (rows == 64 ? 2 : 1);

  __device__ __forceinline__ int row_offset() const { return rows == 64 ? 0 : index * line_bytes; }
  __device__ __forceinline__ int first_instruction() const { return rows == 64 ? index * instructions : 0; }
};

/// A column of ones beside the tile's: the sums of out_grad's rows.
class RowSums {
 public:
  /// What an instruction reads of 8 columns, turned or not; the numbers are the same wherever it looks.
  static constexpr int bytes = 16 * 128;

  template <class T>
  static __device__ __forceinline__ void write_ones(char* to) {
    const T one = static_cast<T>(1.0f);
    for (int i = static_cast<int>(threadIdx.x); i < bytes / 2; i += threads) reinterpret_cast<T*>(to)[i] = one;
  }

  template <Precision precision, bool turned>
  __device__ __forceinline__ void add([[maybe_unused]] std::uint64_t a, [[maybe_unused]] std::uint64_t ones) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PORTOPS_ROW_SUMS(types)                                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32." types " {%0, %1, %2, %3}, %4, %5, 1, 1, 1, %6, %7;" \
               : "+f"(sums_[0]), "+f"(sums_[1]), "+f"(sums_[2]), "+f"(sums_[3])                                 \
               : "l"(a), "l"(ones), "n"(turned ? 1 : 0), "n"(turned ? 1 : 0))
    if constexpr (precision == Precision::f16) {
      PORTOPS_ROW_SUMS("f16.f16");
    } else {
      PORTOPS_ROW_SUMS("bf16.bf16");
    }
#undef PORTOPS_ROW_SUMS
#endif
  }

  /// Calls action(row, sum) for the rows of a tile, once for each.
  template <int rows, class Action>
  __device__ __forceinline__ void for_rows(const Action& action) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
    if (lane % 4 != 0) return;
    const int row = (rows == 64 ? 0 : static_cast<int>(threadIdx.x) / 128 * 64) + warp * 16 + lane / 4;
    action(row, sums_[0]);
    action(row + 8, sums_[2]);
  }

 private:
  float sums_[4] = {};  ///< of two rows, two columns each
};

/// Calls action(row, line, column of the line, sum, the next column's sum) for a thread's sums of a tile.
template <int rows, class Action>
__device__ __forceinline__ void for_sums(const float (&sums)[columns / 2], const Action& action) {
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = (rows == 64 ? 0 : warpgroup * 64) + warp * 16 + half * 8 + lane / 4;
#pragma unroll
    for (int line = 0; line < column_lines; ++line) {
#pragma unroll
      for (int i = 0; i < line_channels / 8; ++i) {
        const int at = 4 * (line * line_channels / 8 + i) + 2 * half;
        action(row, line, lane % 4 * 2 + 8 * i, sums[at], sums[at + 1]);
      }
    }
  }
}

/// Leaves a warpgroup's sums: part by part [output channel][tap][channel].
template <int rows>
__device__ __forceinline__ void leave_sums(const Arguments& arguments, const Block& block,
                                           const float (&sums)[columns / 2]) {
  const Windows& w = arguments.windows;
  const int part = rows == 64 ? 2 * block.share + static_cast<int>(threadIdx.x) / 128 : block.share;
  const std::int64_t row_elements = w.group_column();
  const auto channels = static_cast<int>(w.group_channels());
  const int out_channels = static_cast<int>(w.group_out_channels()) - block.first_out_channel;
  float* const to =
      arguments.operands.parts.sums +
      (part * w.out_channels + block.group * w.group_out_channels() + block.first_out_channel) * row_elements;
  std::int64_t line_begin[column_lines];
  int line_channels_left[column_lines];
#pragma unroll
  for (int line = 0; line < column_lines; ++line) {
    const Line its(arguments, block, line);
    line_begin[line] = its.tap * std::int64_t{channels} + its.first_channel;
    line_channels_left[line] = channels - its.first_channel;
  }
  for_sums<rows>(sums, [&](int row, int line, int channel, float first, float second) {
    if (row >= out_channels || channel >= line_channels_left[line]) return;
    *reinterpret_cast<float2*>(to + row * row_elements + line_begin[line] + channel) = make_float2(first, second);
  });
}

/// Leaves those of out_grad, or writes them where they have one part.
template <class T, int rows>
__device__ __forceinline__ void leave_row_sums(const Arguments& arguments, const Block& block, const RowSums& sums) {
  const Windows& w = arguments.windows;
  const int part = rows == 64 ? 2 * block.share + static_cast<int>(threadIdx.x) / 128 : block.share;
  const int out_channels = static_cast<int>(w.group_out_channels()) - block.first_out_channel;
  const std::int64_t first = block.group * w.group_out_channels() + block.first_out_channel;
  const WeightParts& operands = arguments.operands.parts;
  float* const parts = operands.bias_sums(w, arguments.plan.parts) + part * w.out_channels + first;
  T* const result = static_cast<T*>(operands.bias_grad) + first * operands.bias_grad_stride;
  sums.for_rows<rows>([&](int row, float sum) {
    if (row >= out_channels) return;
    if (arguments.plan.parts > 1) {
      parts[row] = sum;
    } else {
      result[row * operands.bias_grad_stride] = static_cast<T>(sum);
    }
  });
}

/// Writes sums that have one part, by way of shared memory: 16 bytes of channels a thread, or, where channels are not
/// neighbours, elements that lie close together by neighbouring threads.
template <class T>
__device__ __forceinline__ void write_sums(const Arguments& arguments, const Block& block,
                                           const float (&sums)[columns / 2], char* shared) {
  constexpr int rows = 128, stride = columns + 8;  // which spreads what a warp writes over the banks
  static_assert(rows * stride * sizeof(T) <= static_cast<std::size_t>(stages) * tile_bytes(rows));
  T* const tile = reinterpret_cast<T*>(shared);
  __syncthreads();
  for_sums<rows>(sums, [&](int row, int line, int channel, float first, float second) {
    const T pair[] = {static_cast<T>(first), static_cast<T>(second)};
    memcpy(tile + row * stride + line * line_channels + channel, pair, sizeof(pair));
  });
  __syncthreads();
  const Windows& w = arguments.windows;
  const Tensor4& to = arguments.operands.parts.weight_grad;
  T* const data =
      static_cast<T*>(to.data) + (block.group * w.group_out_channels() + block.first_out_channel) * to.stride[0];
  const int out_channels = min(rows, static_cast<int>(w.group_out_channels()) - block.first_out_channel);
  const auto width = static_cast<int>(w.kernel_width);
  const auto address = [&](int row, const Line& line, int channel) {
    const int y = line.tap / width;
    return data + to.offset(row, line.first_channel + channel, y, line.tap - y * width);
  };
  const auto is_aligned = [&](std::int64_t elements) { return elements % unit_channels == 0; };
  if (to.stride[1] == 1 && is_aligned(to.stride[0]) && is_aligned(to.stride[2]) && is_aligned(to.stride[3]) &&
      reinterpret_cast<std::uintptr_t>(to.data) % 16 == 0) {
    constexpr int units = columns / unit_channels;
    for (int i = static_cast<int>(threadIdx.x); i < out_channels * units; i += threads) {
      const int row = i / units, column = (i - row * units) * unit_channels;
      const Line line(arguments, block, column / line_channels);
      const int channel = column % line_channels;
      if (line.first_channel + channel >= w.group_channels()) continue;
      *reinterpret_cast<uint4*>(address(row, line, channel)) =
          *reinterpret_cast<const uint4*>(tile + row * stride + column);
    }
    return;
  }
  if (threadIdx.x >= columns) return;
  const int channel = static_cast<int>(threadIdx.x) / column_lines,
            of_tile = static_cast<int>(threadIdx.x) % column_lines;
  const Line line(arguments, block, of_tile);
  if (line.first_channel + channel >= w.group_channels()) return;
  const T* from = tile + of_tile * line_channels + channel;
  T* at = address(0, line, channel);
#pragma unroll 8
  for (int row = 0; row < out_channels; ++row) {
    *at = *from;
    at += to.stride[0];
    from += stride;
  }
}

/// Of planes.
std::int64_t steps_of_image(const Windows& windows) { return (windows.pixels() + step_pixels - 1) / step_pixels; }

/// Enqueues the products by a kernel with so much shared memory, and the sums of their parts.
template <class T, class Kernel>
void launch(Kernel* kernel, int shared_bytes, cudaStream_t stream, const Windows& windows,
            const WeightProductsPlan& plan, const WeightProductsOperands& operands) {
  const auto divisor = [](std::int64_t value) { return Divisor(static_cast<std::uint32_t>(value)); };
  const Arguments arguments{.windows = windows,
                            .operands = operands,
                            .plan = plan,
                            .all_pixels = windows.images * windows.pixels(),
                            .by_pixels = divisor(windows.pixels()),
                            .by_width = divisor(windows.out_width),
                            .by_steps_of_image = divisor(steps_of_image(windows))};
  allow_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes, label);
  const dim3 grid(static_cast<unsigned>(plan.column_tiles),
                  static_cast<unsigned>(windows.groups) * static_cast<unsigned>(plan.row_tiles),
                  static_cast<unsigned>(plan.shares));
  kernel<<<grid, threads, static_cast<std::size_t>(shared_bytes), stream>>>(arguments);
  check_cuda(cudaGetLastError(), label, "cudaLaunchKernel");
  if (plan.parts > 1) enqueue_sums_of_parts<T>(stream, label, windows, operands.parts, plan.parts);
}

constexpr __host__ __device__ int ones_at(int rows) { return stages * tile_bytes(rows); }
constexpr __host__ __device__ int places_at(int rows) { return ones_at(rows) + RowSums::bytes; }
constexpr int shared_bytes(int rows) {
  return places_at(rows) + stages * step_pixels * static_cast<int>(sizeof(PixelPlace));
}

/// The sums of a tile over some pixels. All threads copy, some steps ahead, and multiply.
template <class T, Precision precision, int rows, bool of_planes>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(1024) char shared[];
  auto* const places = reinterpret_cast<PixelPlace*>(shared + places_at(rows));
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const Block block(arguments, rows);
  // A thread has the same unit of each line, and every 32nd pixel.
  constexpr int line_units = line_channels / unit_channels, together = threads / line_units;
  const int unit = static_cast<int>(threadIdx.x) % line_units, first_pixel = static_cast<int>(threadIdx.x) / line_units;
  const std::conditional_t<of_planes, PlaneUnits<rows>, Units<rows>> units(arguments, block);

  const auto find = [&](int step) {
    if constexpr (of_planes) return;
    find_pixels(arguments, std::int64_t{block.first_step} + step, places + step % stages * step_pixels);
  };
  const auto copy = [&](int step) {
    const SharedAddress stage = memory + step % stages * tile_bytes(rows);
    if constexpr (of_planes) {
      units.copy(arguments, block.first_step + step, stage);
    } else {
#pragma unroll
      for (int pixel = first_pixel; pixel < step_pixels; pixel += together) {
        const SharedAddress to = stage + pixel * 128 + ((unit ^ (pixel % 8)) << 4);
        units.for_lines(arguments, places[step % stages * step_pixels + pixel],
                        [&](int line, const void* from, int channels) {
                          blas::sm90::copy_unit(to + line * line_bytes, from, channels * 2);
                        });
      }
    }
  };

  // The product before the current one may still read its stage.
  constexpr int ahead = stages - 2;
#pragma unroll
  for (int step = 0; step <= ahead; ++step) find(step);
  __syncthreads();
#pragma unroll
  for (int step = 0; step < ahead; ++step) {
    if (step < block.steps) copy(step);
    blas::sm90::close_copies();
  }
  const WarpgroupShare<rows> own;
  float sums[columns / 2] = {};
  RowSums row_sums;
  constexpr bool turned = !of_planes;
  const std::uint64_t ones = blas::sm90::describe<precision, turned, line_bytes>(memory + ones_at(rows));
  // Two loops: sums that are conditional within one would make products wait for each other.
  const auto multiply_steps = [&](auto with_row_sums) {
    for (int step = 0; step < block.steps; ++step) {
      blas::sm90::wait_for_copies<ahead - 1>();
      blas::sm90::fence_products();
      __syncthreads();
      const SharedAddress stage = memory + step % stages * tile_bytes(rows);
      const std::uint64_t a = blas::sm90::describe<precision, turned, line_bytes>(stage + own.row_offset());
      const std::uint64_t b = blas::sm90::describe<precision, turned, line_bytes>(stage + row_lines(rows) * line_bytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int k = 0; k < own.instructions; ++k) {
        const std::uint64_t at = blas::sm90::instruction_offset<precision, turned>(0, own.first_instruction() + k);
        blas::sm90::multiply_32_bytes<precision, columns, turned, turned>(sums, a + at, b + at, 1);
        if constexpr (with_row_sums.value) row_sums.add<precision, turned>(a + at, ones);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      // Of the product before, this warpgroup's part is over; of the one before that, both are, and its stage is free.
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      if (step + ahead < block.steps) copy(step + ahead);
      blas::sm90::close_copies();
      find(step + ahead + 1);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  };
  if (block.column_tile == 0 && arguments.operands.parts.bias_grad != nullptr) {
    RowSums::write_ones<T>(shared + ones_at(rows));
    multiply_steps(std::true_type());
    leave_row_sums<T, rows>(arguments, block, row_sums);
  } else {
    multiply_steps(std::false_type());
  }
  if constexpr (rows == 128) {
    if (arguments.plan.parts == 1) return write_sums<T>(arguments, block, sums, shared);
  }
  leave_sums<rows>(arguments, block, sums);
}

}  // namespace

WeightProductsPlan plan_weight_products(const Windows& windows, bool of_planes, int multiprocessors) {
  constexpr auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  WeightProductsPlan plan;
  plan.rows = windows.group_out_channels() <= 64 ? 64 : 128;
  plan.row_tiles = static_cast<int>(ceil_div(windows.group_out_channels(), plan.rows));
  plan.tap_chunks = static_cast<int>(ceil_div(windows.group_channels(), line_channels));
  plan.column_tiles = static_cast<int>(ceil_div(windows.taps() * plan.tap_chunks, column_lines));
  plan.of_planes = of_planes;
  plan.steps = static_cast<int>(of_planes ? windows.images * steps_of_image(windows)
                                          : ceil_div(windows.images * windows.pixels(), step_pixels));
  // In steps' time: what a block takes besides, and what adding up a part of the sums takes, and writing the result,
  // for as many tiles as there are multiprocessors. A single part is the result.
  constexpr double fixed = 8.0, of_part = 3.0, of_result = 8.0;
  const std::int64_t tiles = std::int64_t{plan.column_tiles} * plan.row_tiles * windows.groups;
  double least = 0;
  for (int shares = 1; shares <= std::min(plan.steps, 128); ++shares) {
    const auto waves = static_cast<double>(ceil_div(tiles * shares, multiprocessors));
    const bool is_result = plan.rows == 128 && shares == 1;
    const double time = waves * (static_cast<double>(ceil_div(plan.steps, shares)) + fixed) +
                        (is_result ? 0.0 : of_part * shares + of_result) * static_cast<double>(tiles) / multiprocessors;
    if (shares > 1 && time >= least) continue;
    least = time;
    plan.shares = shares;
  }
  plan.parts = plan.shares * (plan.rows == 64 ? 2 : 1);
  return plan;
}

void multiply_for_weight(void* stream, ElementType type, const Windows& windows, const WeightProductsPlan& plan,
                         const WeightProductsOperands& operands) {
  const auto enqueue = [&]<class T, Precision precision>() {
    auto* const kernel =
        plan.of_planes ? (plan.rows == 64 ? multiply<T, precision, 64, true> : multiply<T, precision, 128, true>)
                       : (plan.rows == 64 ? multiply<T, precision, 64, false> : multiply<T, precision, 128, false>);
    launch<T>(kernel, shared_bytes(plan.rows), static_cast<cudaStream_t>(stream), windows, plan, operands);
  };
  if (type == ElementType::f16) return enqueue.template operator()<f16, Precision::f16>();
  enqueue.template operator()<bf16, Precision::bf16>();
}

}  // namespace portops::impl
