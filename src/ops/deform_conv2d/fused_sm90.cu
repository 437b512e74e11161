// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/fused_sm90.hpp"

#include "blas/tensor_cores_sm90.hpp"
#include "core/check.hpp"
#include "core/divide.hpp"
#include "ops/deform_conv2d/sample.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

using blas::sm90::Operand;
using blas::sm90::RowsInRegisters;
using blas::sm90::SharedAddress;
using blas::sm90::Tile;

// Two warpgroups: with 64 pixels each, or with the same 64 pixels and every other step each.
constexpr int threads = 256;
constexpr int warpgroups = threads / 128;
constexpr int chunk_bytes = 128;
constexpr int most_splits = FusedPlan::most_splits;

/// A sample of the block's pixels: where its corner above left lies in x, in bytes, a multiple of 16, and flags.
using Place = std::uint32_t;
constexpr Place steps_right = 1, steps_down = 2;  ///< the corners to the right, or below, are other pixels
constexpr Place is_zero = 4;                      ///< the sample lies outside; what is read for it does not count

constexpr int stages = 4;
constexpr int most_phase_taps = FusedPlan::most_phase_taps;

/// How many warpgroups share the steps of a block with so many pixels.
__host__ __device__ constexpr int shares_of(int pixels) { return warpgroups * 64 / pixels; }

/// The sums of a warpgroup in shared memory: a row of pixels for each output channel, warpgroups with other pixels
/// beside each other. The padding spreads what a warp writes at once, 8 pixels of 4 pairs of channels, over the banks.
__host__ __device__ constexpr int sums_stride(int pixels) { return pixels + 4; }
__host__ __device__ constexpr int sums_bytes(int rows, int pixels) {
  return shares_of(pixels) * rows * sums_stride(pixels) * 4;
}

/// What a block has in shared memory: the stages, a tile of the weight each, which make room for the sums at the end,
/// then barriers and tables.
struct SharedLayout {
  int barriers, targets, biases, weights, places, bytes;

  /// Of `rows` output channels and samples of `taps` taps at a time.
  __host__ __device__ constexpr SharedLayout(int stage_bytes, int rows, int pixels, int taps)
      : barriers(stages * stage_bytes > sums_bytes(rows, pixels) ? stages * stage_bytes : sums_bytes(rows, pixels)),
        targets(barriers + stages * 16),       // where each pixel lies in out
        biases(targets + pixels * 8),          // of each output channel
        weights(biases + rows * 4),            // the corners' weights of each sample, times its mask, tap by tap
        places(weights + taps * pixels * 16),  // of each sample
        bytes(places + taps * pixels * 4) {}
};

constexpr int tile_bytes(Operand operand, int rows) {
  switch (operand) {
    case Operand::f16: return Tile<Operand::f16>::bytes(rows);
    case Operand::bf16: return Tile<Operand::bf16>::bytes(rows);
    case Operand::tf32: return Tile<Operand::tf32>::bytes(rows);
    case Operand::f32: break;
  }
  return Tile<Operand::f32>::bytes(rows);
}

Operand operand_of(const FusedPlan& plan) {
  switch (plan.type) {
    case ElementType::f16: return Operand::f16;
    case ElementType::bf16: return Operand::bf16;
    default: return plan.tf32 ? Operand::tf32 : Operand::f32;
  }
}

/// What kernels know of a call.
struct Call {
  Windows windows;
  FusedOperands operands;
  int splits, run_chunks, group_chunks, deformable_chunks, phase_taps, steps, row_tiles;
  Divisor kernel_width;
};

/// A pixel of out. They are counted image by image, and in it in strips of 16 columns, so that those of a block lie
/// close together and sample the same pixels of x.
struct Pixel {
  std::int64_t image, y, x;
};

__device__ Pixel locate(const Windows& windows, std::int64_t index) {
  constexpr std::int64_t width = 16;
  const std::int64_t image = quotient(index, windows.pixels());
  const std::int64_t in_image = index - image * windows.pixels();
  const std::int64_t strip = quotient(in_image, width * windows.out_height);
  const std::int64_t in_strip = in_image - strip * width * windows.out_height;
  const std::int64_t left = windows.out_width - strip * width;
  const std::int64_t y = quotient(in_strip, left < width ? left : width);
  return {image, y, strip * width + in_strip - y * (left < width ? left : width)};
}

/// What a block computes: all steps, or its share of them, of a tile of output channels and pixels.
struct BlockTile {
  std::int64_t first_pixel;
  int group, split;
  int first_step, steps;           ///< of the group's steps, those of this block
  int channels;                    ///< output channels of the tile that there are
  std::int64_t first_out_channel;  ///< of all groups'

  __device__ BlockTile(const Call& call, int rows, int pixels)
      : first_pixel(static_cast<std::int64_t>(blockIdx.x) * pixels),
        group(static_cast<int>(blockIdx.y) / call.row_tiles),
        split(static_cast<int>(blockIdx.z)),
        first_step(call.steps * split / call.splits),
        steps(call.steps * (split + 1) / call.splits - first_step) {
    const std::int64_t first_channel = (static_cast<int>(blockIdx.y) % call.row_tiles) * rows;  // of the group
    const std::int64_t of_group = call.windows.group_out_channels();
    channels = static_cast<int>(min(of_group - first_channel, std::int64_t{rows}));
    first_out_channel = group * of_group + first_channel;
  }
};

/// Steps of a block whose samples are in shared memory together: taps of one deformable group.
struct Phase {
  int first_tap, taps;
  int deformable_group;
  int begin, end;  ///< of the block's steps
  int chunk, tap;  ///< where the first step lies; the tap is counted in the phase

  __device__ Phase(const Call& call, const BlockTile& tile, int first) : begin(first) {
    const int step = tile.first_step + begin;
    const int phase = step / (call.phase_taps * call.group_chunks);
    first_tap = phase * call.phase_taps;
    taps = min(call.phase_taps, static_cast<int>(call.windows.taps()) - first_tap);
    const int in_phase = step - first_tap * call.group_chunks;
    chunk = in_phase / taps;
    tap = in_phase % taps;
    const int first_chunk = tile.group * call.group_chunks;  // of the group
    deformable_group = (first_chunk + chunk) / call.deformable_chunks;
    const int end_chunk = min(call.group_chunks, (deformable_group + 1) * call.deformable_chunks - first_chunk);
    end = min(tile.steps, begin + (end_chunk - chunk) * taps - tap);
  }
};

// --- the weight --------------------------------------------------------------------------------------------

/// The parts of 16 bytes, of each piece, that a row of the packed weight has.
struct WeightParts {
  Divisor taps;       ///< of the kernel, fastest
  Divisor of_tap;     ///< those of a tap: of all chunks of a group
  Divisor rows;       ///< of all tiles of a group
  std::uint32_t all;  ///< of all groups
};

/// The channel, of a chunk, of an element of a 16-byte part of a row of packed weight. A thread's columns, 16 bytes of
/// neighbouring channels, are words of several instructions; the weight follows them.
template <class T, Operand operand>
__device__ __forceinline__ int channel_of(int part, int element) {
  constexpr int of_vector = 16 / sizeof(T);
  constexpr int of_word = operand == Operand::tf32 ? 1 : 2;
  constexpr int words = of_vector / of_word;  // of a vector
  const int instruction = part / 2;
  const int vector = element / of_word + 4 * (instruction / (words / 2));
  const int word = instruction % (words / 2) * 2 + part % 2;
  return vector * of_vector + word * of_word + element % of_word;
}

/// Packs the weight into the tiles that blocks copy: [group][row tile][step][tile]. Neighbouring threads take
/// neighbours in the weight.
template <class T, Operand operand>
__global__ void pack_weight(const __grid_constant__ Call call, WeightParts parts, int tile_rows) {
  using Layout = Tile<operand>;
  constexpr int part_channels = Layout::channels / Layout::parts;
  blas::sm90::wait_for_kernel_before();
  blas::sm90::let_next_kernel_start();
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= parts.all) return;
  const std::uint32_t part_of_all = parts.taps.quotient(index);
  const int tap = static_cast<int>(index - part_of_all * parts.taps.value());
  const std::uint32_t row_of_all = parts.of_tap.quotient(part_of_all);
  const int part_of_row = static_cast<int>(part_of_all - row_of_all * parts.of_tap.value());
  const std::uint32_t group = parts.rows.quotient(row_of_all);
  const int row = static_cast<int>(row_of_all - group * parts.rows.value());
  const int chunk = part_of_row / Layout::parts, part = part_of_row % Layout::parts;

  const Windows& windows = call.windows;
  const Tensor4& weight = call.operands.weight;
  const int run = static_cast<int>(windows.group_channels()) / (call.group_chunks / call.run_chunks);
  const int in_run = chunk % call.run_chunks * Layout::channels;
  const int first_channel = chunk / call.run_chunks * run + in_run;
  const int tap_y = tap / static_cast<int>(windows.kernel_width);
  const int tap_x = tap - tap_y * static_cast<int>(windows.kernel_width);
  const T* const from = static_cast<const T*>(weight.data) +
                        weight.offset(group * windows.group_out_channels() + row, first_channel, tap_y, tap_x);
  const int channels = row < windows.group_out_channels() ? run - in_run : 0;
  float element[part_channels];
#pragma unroll
  for (int i = 0; i < part_channels; ++i) {
    const int channel = channel_of<T, operand>(part, i);
    element[i] = channel < channels ? static_cast<float>(from[channel * weight.stride[1]]) : 0.0f;
  }

  const int first_tap = tap / call.phase_taps * call.phase_taps;
  const int taps = min(call.phase_taps, static_cast<int>(windows.taps()) - first_tap);
  const std::int64_t step = first_tap * call.group_chunks + chunk * taps + tap - first_tap;
  const std::int64_t row_tile = static_cast<std::int64_t>(group) * call.row_tiles + row / tile_rows;
  char* const to = static_cast<char*>(call.operands.packed_weight) +
                   (row_tile * call.steps + step) * Layout::bytes(tile_rows) + Layout::offset(row % tile_rows, part);
  if constexpr (operand == Operand::tf32) {
    using blas::sm90::tf32_bits;
    *reinterpret_cast<uint4*>(to) =
        make_uint4(tf32_bits(element[0]), tf32_bits(element[1]), tf32_bits(element[2]), tf32_bits(element[3]));
  } else {
    std::uint32_t pairs[4][Layout::pieces];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if constexpr (operand == Operand::f32) {
        blas::sm90::split_pair(element[2 * j], element[2 * j + 1], pairs[j]);
      } else if constexpr (operand == Operand::f16) {
        pairs[j][0] = blas::sm90::f16_pair(element[2 * j], element[2 * j + 1]);
      } else {
        pairs[j][0] = blas::sm90::bf16_pair(element[2 * j], element[2 * j + 1]);
      }
    }
#pragma unroll
    for (int piece = 0; piece < Layout::pieces; ++piece) {
      *reinterpret_cast<uint4*>(to + piece * tile_rows * Layout::row_bytes) =
          make_uint4(pairs[0][piece], pairs[1][piece], pairs[2][piece], pairs[3][piece]);
    }
  }
}

// --- columns -----------------------------------------------------------------------------------------------

__device__ __forceinline__ std::uint32_t word_of(const uint4& vector, int i) {
  return i == 0 ? vector.x : i == 1 ? vector.y : i == 2 ? vector.z : vector.w;
}

/// 16 bytes of neighbouring channels of a sample's corners.
template <class T>
struct Vector {
  uint4 corner[corners];

  /// The sample: words of f32, or of pairs of a 16-bit type.
  __device__ __forceinline__ void blend(const float4& weights, std::uint32_t (&words)[4]) const {
    const float weight[corners] = {weights.x, weights.y, weights.z, weights.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        float value = weight[0] * __uint_as_float(word_of(corner[0], i));
#pragma unroll
        for (int k = 1; k < corners; ++k) value = fmaf(weight[k], __uint_as_float(word_of(corner[k], i)), value);
        words[i] = __float_as_uint(value);
      } else {
        float2 value{};
#pragma unroll
        for (int k = 0; k < corners; ++k) {
          const std::uint32_t word = word_of(corner[k], i);
          float2 both;
          if constexpr (std::is_same_v<T, f16>) {
            both = __half22float2(*reinterpret_cast<const __half2*>(&word));
          } else {
            both = make_float2(blas::sm90::first_of_bf16_pair(word), blas::sm90::second_of_bf16_pair(word));
          }
          value.x = k == 0 ? weight[k] * both.x : fmaf(weight[k], both.x, value.x);
          value.y = k == 0 ? weight[k] * both.y : fmaf(weight[k], both.y, value.y);
        }
        words[i] =
            std::is_same_v<T, f16> ? blas::sm90::f16_pair(value.x, value.y) : blas::sm90::bf16_pair(value.x, value.y);
      }
    }
  }
};

/// Puts a vector of columns where instructions want it: of the thread's first or second row, the first or second half
/// of the chunk.
template <Operand operand>
__device__ __forceinline__ void place_words(const std::uint32_t (&words)[4], int row, int half,
                                            RowsInRegisters<operand>& rows) {
  if constexpr (operand == Operand::f32) {
    std::uint32_t first[3], second[3];
    blas::sm90::split_pair(__uint_as_float(words[0]), __uint_as_float(words[1]), first);
    blas::sm90::split_pair(__uint_as_float(words[2]), __uint_as_float(words[3]), second);
#pragma unroll
    for (int piece = 0; piece < 3; ++piece) {
      rows.words[piece][half][row] = first[piece];
      rows.words[piece][half][2 + row] = second[piece];
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rows.words[0][2 * half + i / 2][i % 2 * 2 + row] =
          operand == Operand::tf32 ? blas::sm90::tf32_bits(__uint_as_float(words[i])) : words[i];
    }
  }
}

/// What a sample is to the threads that make columns of it.
template <class T>
__device__ void write_sample(const FusedOperands& operands, const Sample<float>& sample, float4& weights,
                             Place& place) {
  float weight[corners];
  sample.weights(weight);
#pragma unroll
  for (float& w : weight) w *= sample.factor;
  if (!sample.is_outside()) {
    const std::int64_t units =
        sample.image * operands.x_image + sample.y * operands.x_row + sample.x * operands.x_pixel;
    place =
        static_cast<Place>(units * 16) | (sample.steps_right ? steps_right : 0) | (sample.steps_down ? steps_down : 0);
  } else if (sample.is_nan || 0.0f * sample.factor != 0.0f) {
    // No position, or 0 times a mask that is not finite.
    weight[0] = __int_as_float(0x7fffffff);
    place = 0;
  } else {
    place = is_zero;
  }
  weights = make_float4(weight[0], weight[1], weight[2], weight[3]);
}

/// Finds the samples of a phase, for the block's pixels.
template <class T, int pixels>
__device__ void find_samples(const Call& call, const Phase& phase, std::int64_t first_pixel, float4* weights,
                             Place* places) {
  const Windows& windows = call.windows;
  const Sampler<T, float> sampler(windows, call.operands.offset, call.operands.mask);
  const int pixel = static_cast<int>(threadIdx.x) % pixels;
  if (first_pixel + pixel >= windows.images * windows.pixels()) {
    for (int tap = static_cast<int>(threadIdx.x) / pixels; tap < phase.taps; tap += threads / pixels) {
      weights[tap * pixels + pixel] = float4{};
      places[tap * pixels + pixel] = is_zero;
    }
    return;
  }
  const Pixel at = locate(windows, first_pixel + pixel);
  // Several at a time: what is read for them comes from far away.
  constexpr int batch = 5;
  for (int first = static_cast<int>(threadIdx.x) / pixels; first < phase.taps; first += batch * threads / pixels) {
    Position<float> position[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int tap = min(first + i * threads / pixels, phase.taps - 1);
      const std::uint32_t k = call.kernel_width.quotient(phase.first_tap + tap);
      const std::uint32_t l = phase.first_tap + tap - k * call.kernel_width.value();
      position[i] = sampler.position(at.image, at.y, at.x, phase.deformable_group, k, l);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int tap = first + i * threads / pixels;
      if (tap >= phase.taps) break;
      write_sample<T>(call.operands, sampler.sample(position[i]), weights[tap * pixels + pixel],
                      places[tap * pixels + pixel]);
    }
  }
}

constexpr std::int64_t no_target = INT64_MIN;

/// Adds up the sums of all warpgroups, of this block and of the others of its cluster, that share the inner axis, for
/// channels [begin, end) of the tile: in this block's memory, in that of its first warpgroup.
template <int rows, int pixels>
__device__ __forceinline__ void join_sums(float* sums, SharedAddress address, int begin, int end, int block,
                                          int blocks) {
  constexpr int stride = sums_stride(pixels), shares = shares_of(pixels), packs = pixels / 4;
  const auto add = [](float4& sum, const float4& other) {
    sum.x += other.x;
    sum.y += other.y;
    sum.z += other.z;
    sum.w += other.w;
  };
#pragma unroll 4
  for (int i = begin * packs + static_cast<int>(threadIdx.x); i < end * packs; i += threads) {
    const int at = i / packs * stride + i % packs * 4;
    float4 sum = *reinterpret_cast<const float4*>(sums + at);
    if constexpr (shares > 1) add(sum, *reinterpret_cast<const float4*>(sums + rows * stride + at));
#pragma unroll
    for (int k = 1; k < most_splits; ++k) {
      if (k == blocks) break;
#pragma unroll
      for (int share = 0; share < shares; ++share) {
        add(sum, blas::sm90::read_of_block(address + 4 * (share * rows * stride + at), (block + k) % blocks));
      }
    }
    *reinterpret_cast<float4*>(sums + at) = sum;
  }
}

/// Writes the sums of this thread's pixel, channels [begin, end) of the tile, to `out`, where the tile's first one
/// lies.
template <int pixels, class T>
__device__ __forceinline__ void write_sums(T* out, std::int64_t stride, const float* biases, const float* sums,
                                           int begin, int end) {
  constexpr int together = threads / pixels;
  const int first = begin + static_cast<int>(threadIdx.x) / pixels;
  sums += first * sums_stride(pixels) + static_cast<int>(threadIdx.x) % pixels;
  out += first * stride;
#pragma unroll 8
  for (int channel = first; channel < end; channel += together) {
    *out = static_cast<T>(biases[channel] + *sums);
    out += together * stride;
    sums += together * sums_stride(pixels);
  }
}

/// Where a block's pixels lie in out, and the biases of its output channels.
template <class T, int rows, int pixels>
__device__ void prepare_output(const Call& call, const BlockTile& tile, std::int64_t* targets, float* biases) {
  const int thread = threadIdx.x;
  if (thread < pixels) {
    targets[thread] = no_target;
    if (tile.first_pixel + thread < call.windows.images * call.windows.pixels()) {
      const Pixel at = locate(call.windows, tile.first_pixel + thread);
      const Tensor4& out = call.operands.out;
      targets[thread] = at.image * out.stride[0] + at.y * out.stride[2] + at.x * out.stride[3];
    }
  }
  if (thread < rows) {
    const auto* const bias = static_cast<const T*>(call.operands.bias);
    biases[thread] = bias == nullptr || thread >= tile.channels
                         ? 0.0f
                         : static_cast<float>(bias[(tile.first_out_channel + thread) * call.operands.bias_stride]);
  }
}

/// Makes the columns of one step after the other, for a thread of a warpgroup, in registers. While those of a step are
/// made, what the next one takes of x is on its way.
template <class T, Operand operand, int pixels>
class ColumnMaker {
 public:
  /// The tables of samples begin so far into shared memory.
  __device__ __forceinline__ ColumnMaker(const FusedOperands& operands, SharedAddress weights, SharedAddress places)
      : operands_(operands),
        weights_(weights),
        places_(places),
        pixel_(threadIdx.x % (2 * pixels) / 32 * 16 + threadIdx.x % 32 / 4),
        is_odd_(pixel_ % 2) {}

  /// Begins with a tap of a phase and the chunk of x that begins there.
  __device__ __forceinline__ void start(const char* x, int tap, int taps) {
    x_ = x + threadIdx.x % 4 * 16;
    tap_ = tap;
    taps_ = taps;
    wrap(tap_);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      place_[row] = read_place(row, tap_);
      load(row, 0);
      load(row, 1);
    }
  }

  /// Makes the columns of the step, and loads for the one so many steps further.
  __device__ __forceinline__ void make(RowsInRegisters<operand>& columns, int further) {
    int next_tap = tap_ + further;
    wrap(next_tap);
    const Place next[2] = {read_place(0, next_tap), read_place(1, next_tap)};
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float4 weights = blas::sm90::read_float4(weights_ + (tap_ * pixels + pixel_ + 8 * row) * 16);
      const bool counts = (place_[row] & is_zero) == 0;
      place_[row] = next[row];
      std::uint32_t words[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        loads_[row][half].blend(weights, words[half]);
        // The registers are free again.
        load(row, half);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t own = counts ? words[0][i] : 0, other = counts ? words[1][i] : 0;
        words[0][i] = is_odd_ != 0 ? other : own;
        words[1][i] = is_odd_ != 0 ? own : other;
      }
      place_words(words[0], row, 0, columns);
      place_words(words[1], row, 1, columns);
    }
    tap_ = next_tap;
  }

 private:
  /// Taps beyond the last one of the phase, by no more than there are steps between this thread's, are those of the
  /// next chunks.
  __device__ __forceinline__ void wrap(int& tap) {
#pragma unroll
    for (int i = 0; i < shares_of(pixels); ++i) {
      const bool is_beyond = tap >= taps_;
      tap -= is_beyond ? taps_ : 0;
      x_ += is_beyond ? chunk_bytes : 0;
    }
  }

  __device__ __forceinline__ Place read_place(int row, int tap) const {
    return blas::sm90::read_word(places_ + (tap * pixels + pixel_ + 8 * row) * 4);
  }

  /// Of each half of a chunk a thread takes 16 bytes. Those with odd pixels take the other half first, so that what
  /// eight lanes read at once lies in all banks of the cache.
  __device__ __forceinline__ void load(int row, int half) {
    const Place place = place_[row];
    const Place right = place & steps_right ? static_cast<Place>(operands_.x_pixel * 16) : 0;
    const Place down = place & steps_down ? static_cast<Place>(operands_.x_row * 16) : 0;
    const Place at = place & ~Place{15};
    const char* const from = x_ + (half ^ is_odd_) * 64;
    const Place offset[corners] = {at, at + right, at + down, at + down + right};
#pragma unroll
    for (int k = 0; k < corners; ++k) {
      loads_[row][half].corner[k] = *reinterpret_cast<const uint4*>(from + offset[k]);
    }
  }

  const FusedOperands& operands_;
  SharedAddress weights_, places_;
  int pixel_;  ///< four lanes share this one and the eighth after it
  int is_odd_;
  const char* x_ = nullptr;
  int tap_ = 0, taps_ = 1;
  Place place_[2];  ///< of what is loaded
  Vector<T> loads_[2][2];
};

/// out = bias + weight · columns for a tile of pixels and output channels. A warpgroup makes the columns of a step of
/// its pixels in registers, where they are one operand of the product. While one warpgroup makes columns, the other one
/// multiplies.
template <class T, Operand operand, int rows, int pixels>
__global__ __launch_bounds__(threads, 1) void convolve(const __grid_constant__ Call call) {
  constexpr int stage_bytes = Tile<operand>::bytes(rows);
  constexpr int shares = shares_of(pixels);
  extern __shared__ __align__(1024) char shared[];
  const SharedLayout layout(stage_bytes, rows, pixels, call.phase_taps);
  auto* const sample_weights = reinterpret_cast<float4*>(shared + layout.weights);
  auto* const places = reinterpret_cast<Place*>(shared + layout.places);
  auto* const targets = reinterpret_cast<std::int64_t*>(shared + layout.targets);
  auto* const biases = reinterpret_cast<float*>(shared + layout.biases);
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const int thread = threadIdx.x;
  const BlockTile tile(call, rows, pixels);

  // The i-th step of this block uses stage i % stages, for the i / stages-th time.
  const auto full = [&](unsigned i) { return blas::sm90::Barrier(memory + layout.barriers + i % stages * 16); };
  const auto empty = [&](unsigned i) { return blas::sm90::Barrier(memory + layout.barriers + i % stages * 16 + 8); };
  const auto copy_weight = [&](unsigned i) {
    const std::int64_t at = blockIdx.y * static_cast<std::int64_t>(call.steps) + tile.first_step + i;
    full(i).arrive_with_copy(memory + i % stages * stage_bytes,
                             static_cast<const char*>(call.operands.packed_weight) + at * stage_bytes, stage_bytes);
  };
  if (thread == 0) {
    for (int i = 0; i < stages; ++i) {
      full(i).make(1);
      empty(i).make(warpgroups / shares);
    }
    blas::sm90::fence_barriers();
    blas::sm90::wait_for_kernel_before();
    for (int i = 0; i < min(tile.steps, stages); ++i) copy_weight(i);
  }
  prepare_output<T, rows, pixels>(call, tile, targets, biases);

  blas::sm90::TileProduct<operand, rows> product;
  ColumnMaker<T, operand, pixels> maker(call.operands, memory + layout.weights, memory + layout.places);
  const int share = thread / 128 % shares;
  for (int begin = 0; begin < tile.steps;) {
    const Phase phase(call, tile, begin);
    __syncthreads();
    find_samples<T, pixels>(call, phase, tile.first_pixel, sample_weights, places);
    __syncthreads();
    blas::sm90::wait_for_kernel_before();

    const int own_begin = begin + (share + shares - begin % shares) % shares;
    begin = phase.end;
    if (own_begin >= phase.end) continue;
    maker.start(static_cast<const char*>(call.operands.x) +
                    (static_cast<std::int64_t>(tile.group) * call.group_chunks + phase.chunk) * chunk_bytes,
                phase.tap + own_begin - phase.begin, phase.taps);
    for (int i = own_begin; i < phase.end; i += shares) {
      RowsInRegisters<operand> columns;
      // After the last step the same is loaded again, for nothing.
      maker.make(columns, i + shares < phase.end ? shares : 0);
      const unsigned step = i;
      full(step).wait(step / stages % 2);
      product.add(columns, memory + step % stages * stage_bytes);
      if (thread % 128 == 0) empty(step).arrive();
      // Where warpgroups use a tile together, the other one is hardly more than a step behind.
      constexpr int behind = shares == 1 ? 1 : 0;
      const bool refills = shares == 1 ? thread == 0 : thread % 128 == 0;
      if (refills && i >= behind && i - behind + stages < tile.steps) {
        const unsigned over = i - behind;
        empty(over).wait(over / stages % 2);
        copy_weight(over + stages);
      }
    }
  }
  product.finish();

  // No warpgroup needs the weight any more.
  __syncthreads();
  constexpr int stride = sums_stride(pixels);
  float* const sums = reinterpret_cast<float*>(shared);
  float* const own_sums = sums + (shares == 1 ? thread / 128 * 64 : share * rows * stride);
  product.for_pairs([&](int pixel, int channel, float2 pair) {
    own_sums[channel * stride + pixel] = pair.x;
    own_sums[(channel + 1) * stride + pixel] = pair.y;
  });
  // Each block of a cluster writes some of the channels.
  const int begin = rows / call.splits * tile.split, end = min(tile.channels, begin + rows / call.splits);
  if (call.splits > 1) {
    blas::sm90::synchronize_cluster();
  } else {
    __syncthreads();
  }
  if (shares > 1 || call.splits > 1) {
    join_sums<rows, pixels>(sums, memory, begin, end, tile.split, call.splits);
    __syncthreads();
  }
  const std::int64_t target = targets[thread % pixels];
  if (target != no_target) {
    const std::int64_t channel_stride = call.operands.out.stride[1];
    write_sums<pixels>(static_cast<T*>(call.operands.out.data) + tile.first_out_channel * channel_stride + target,
                       channel_stride, biases, sums, begin, end);
  }
  // The others may still be reading this block's sums.
  if (call.splits > 1) blas::sm90::synchronize_cluster();
}

// --- launches ----------------------------------------------------------------------------------------------

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) fail("portops::deform_conv2d: ", what, " failed: ", cudaGetErrorString(status));
}

/// How kernels are launched: each may start, and wait, while the one before it still runs.
struct Launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};

  Launch(dim3 grid, unsigned block) {
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = dim3(block);
    config.attrs = attributes;
    config.numAttrs = 1;
  }
  /// Of a convolution.
  Launch(const FusedPlan& plan, unsigned groups)
      : Launch(dim3(static_cast<unsigned>(plan.pixel_tiles), groups * static_cast<unsigned>(plan.row_tiles),
                    static_cast<unsigned>(plan.splits)),
               threads) {
    config.dynamicSmemBytes = plan.shared_bytes();
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {1, 1, static_cast<unsigned>(plan.splits)};
    if (plan.splits > 1) config.numAttrs = 2;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
};

/// Calls action(kernel) with the one that the plan is for.
template <class T, Operand operand, class Action>
auto with_kernel(const FusedPlan& plan, const Action& action) {
  if constexpr (operand != Operand::f32) {
    if (plan.rows == 256) {
      return plan.pixels == 64 ? action(convolve<T, operand, 256, 64>) : action(convolve<T, operand, 256, 128>);
    }
  }
  if (plan.rows == 128) {
    return plan.pixels == 64 ? action(convolve<T, operand, 128, 64>) : action(convolve<T, operand, 128, 128>);
  }
  return action(convolve<T, operand, 64, 128>);
}

/// As much as any call of the kernel needs, so that calls of several host threads do not get in each other's way.
template <class Kernel>
void allow_shared_memory(Kernel* kernel, FusedPlan plan) {
  plan.phase_taps = most_phase_taps;
  check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(plan.shared_bytes())),
      "cudaFuncSetAttribute");
}

template <class T, Operand operand>
void run(cudaStream_t stream, const Call& call, const FusedPlan& plan) {
  const auto of_tap = static_cast<std::uint32_t>(plan.group_chunks * Tile<operand>::parts);
  const auto rows = static_cast<std::uint32_t>(plan.row_tiles * plan.rows);
  const auto taps = static_cast<std::uint32_t>(call.windows.taps());
  const WeightParts parts{Divisor(taps), Divisor(of_tap), Divisor(rows),
                          static_cast<std::uint32_t>(call.windows.groups) * rows * of_tap * taps};
  constexpr unsigned block = 256;
  Launch pack(dim3((parts.all + block - 1) / block), block);
  pack.config.stream = stream;
  check(cudaLaunchKernelEx(&pack.config, pack_weight<T, operand>, call, parts, plan.rows),
        "the launch of the packing of the weight");
  with_kernel<T, operand>(plan, [&](auto* kernel) {
    allow_shared_memory(kernel, plan);
    Launch launch(plan, static_cast<unsigned>(call.windows.groups));
    launch.config.stream = stream;
    check(cudaLaunchKernelEx(&launch.config, kernel, call), "the launch of the convolution");
  });
}

/// Calls action<T, operand>() with those of the plan.
template <class Action>
auto with_operand(const FusedPlan& plan, const Action& action) {
  switch (plan.type) {
    case ElementType::f16: return action.template operator()<f16, Operand::f16>();
    case ElementType::bf16: return action.template operator()<bf16, Operand::bf16>();
    default: break;
  }
  if (plan.tf32) return action.template operator()<float, Operand::tf32>();
  return action.template operator()<float, Operand::f32>();
}

}  // namespace

std::size_t FusedPlan::weight_bytes(const Windows& windows) const {
  return static_cast<std::size_t>(windows.groups) * row_tiles * steps * tile_bytes(operand_of(*this), rows);
}

std::size_t FusedPlan::shared_bytes() const {
  return static_cast<std::size_t>(SharedLayout(tile_bytes(operand_of(*this), rows), rows, pixels, phase_taps).bytes);
}

void deform_conv2d_sm90(void* stream, const Windows& windows, const FusedPlan& plan, const FusedOperands& operands) {
  const Call call{
      .windows = windows,
      .operands = operands,
      .splits = plan.splits,
      .run_chunks = plan.run_chunks,
      .group_chunks = plan.group_chunks,
      .deformable_chunks = static_cast<int>(windows.deformable_channels() / windows.channel_run()) * plan.run_chunks,
      .phase_taps = plan.phase_taps,
      .steps = plan.steps,
      .row_tiles = plan.row_tiles,
      .kernel_width = Divisor(static_cast<std::uint32_t>(windows.kernel_width))};
  with_operand(plan,
               [&]<class T, Operand operand>() { run<T, operand>(static_cast<cudaStream_t>(stream), call, plan); });
}

int clusters_at_once(const FusedPlan& plan) {
  return with_operand(plan, [&]<class T, Operand operand>() {
    return with_kernel<T, operand>(plan, [&](auto* kernel) {
      FusedPlan one = plan;
      one.pixel_tiles = one.row_tiles = 1;
      const Launch launch(one, 1);
      int count = 0;
      allow_shared_memory(kernel, plan);
      check(cudaOccupancyMaxActiveClusters(&count, kernel, &launch.config), "cudaOccupancyMaxActiveClusters");
      return count;
    });
  });
}

}  // namespace portops::impl
