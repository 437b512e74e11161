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
using fused_sm90::in_whole_swizzles;
using fused_sm90::unit_bytes;
using Plan = PatchProductsPlan;

constexpr const char* label = "portops::conv2d_grad::weight_grad[patches]";

/// Three warpgroups multiply, three taps each. Of the fourth one a warp copies, and the others split x into terms.
constexpr int multiplying = TapTriples::most, consumers = multiplying * 128, threads = consumers + 128;
constexpr int splitters = 96;
constexpr int columns = TapTriples::taps * Plan::channels;  ///< of a product
constexpr int patch_pixels = Plan::side * Plan::side;
constexpr int instruction_pixels = 16, instructions = patch_pixels / instruction_pixels;  ///< of a patch
constexpr int instruction_rows = instruction_pixels / Plan::side;
constexpr int x_line = Plan::channels * 4;     ///< bytes of a pixel of x where it is split
constexpr int term_line = Plan::channels * 2;  ///< of one in products
constexpr int box_line = 128;                  ///< of a pixel of out_grad in a box
constexpr int box_bytes = patch_pixels * box_line;

/// What a block has in shared memory: stages of x, as it is copied and, where it is split, its terms, and of out_grad;
/// and barriers. All are swizzled by where they lie.
struct Layout {
  int region;   ///< pixels of x
  int x_bytes;  ///< of one as it is copied
  int terms_at, term_bytes, grad_at, stage_bytes;
  int barriers_at, split_barriers_at, bytes;

  __host__ __device__ explicit Layout(const Plan& plan)
      : region(plan.region_width * plan.region_height),
        x_bytes(plan.terms == 1 ? term_line : x_line),
        terms_at(plan.terms == 1 ? 0 : in_whole_swizzles(region * x_bytes)),
        term_bytes(in_whole_swizzles(region * term_line)),
        grad_at(terms_at + plan.terms * term_bytes),
        stage_bytes(grad_at + Plan::outs * plan.element_bytes() * patch_pixels),
        barriers_at(plan.stages * stage_bytes),
        split_barriers_at(barriers_at + plan.stages * 16),
        bytes(split_barriers_at + plan.stages * 8) {}
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
  int out, channel;  ///< the first ones
  int share;

  __device__ explicit Tile(const Plan& plan)
      : out(static_cast<int>(blockIdx.x) / plan.channel_tiles * Plan::outs),
        channel(static_cast<int>(blockIdx.x) % plan.channel_tiles * Plan::channels),
        share(static_cast<int>(blockIdx.y)) {}
};

/// Calls action(number) for the patches of a block.
template <class Action>
__device__ __forceinline__ void for_patches(const Arguments& arguments, const Tile& tile, const Action& action) {
  for (int i = tile.share; i < arguments.patches; i += arguments.plan.shares) action(i);
}

/// By one thread: x and out_grad of each patch.
template <int terms>
__device__ void copy_patches(const Arguments& arguments, const Maps& maps, const Layout& layout, const Tile& tile,
                             SharedAddress memory, blas::sm90::Ring ring) {
  constexpr int boxes = terms == 1 ? 1 : 2, box_outs = Plan::outs / boxes;
  const Plan& plan = arguments.plan;
  const Windows& windows = arguments.windows;
  const int bytes = layout.region * layout.x_bytes + boxes * box_bytes;
  // Where the patches of an image that end where it does begin to be theirs alone.
  const int last_y = (plan.down - 1) * Plan::side, last_x = (plan.across - 1) * Plan::side;
  for_patches(arguments, tile, [&](int number) {
    const Patch patch(arguments, number);
    // The first time, the phase before is over.
    ring.empty().wait(ring.round ^ 1);
    const SharedAddress stage = memory + ring.stage * layout.stage_bytes;
    const blas::sm90::Barrier full = ring.full();
    full.announce(bytes);
    fused_sm90::copy_box(maps.x, full, stage, tile.channel, patch.x - static_cast<int>(windows.left),
                         patch.y - static_cast<int>(windows.top), patch.image);
#pragma unroll
    for (int box = 0; box < boxes; ++box) {
      fused_sm90::copy_box(maps.out_grad[patch.is_last_row][patch.is_last_column], full,
                           stage + layout.grad_at + box * box_bytes, tile.out + box * box_outs,
                           patch.x - (patch.is_last_column ? last_x : 0), patch.y - (patch.is_last_row ? last_y : 0),
                           patch.image);
    }
    ring.advance();
  });
}

/// The barrier for that x of a stage is split.
__device__ __forceinline__ blas::sm90::Barrier split_barrier(const Layout& layout, SharedAddress memory, int stage) {
  return blas::sm90::Barrier(memory + layout.split_barriers_at + 8 * stage);
}

/// By the splitters: the terms of x of each patch, four channels of some pixels at a time.
template <int terms>
__device__ void split_patches(const Arguments& arguments, const Layout& layout, const Tile& tile, SharedAddress memory,
                              blas::sm90::Ring ring) {
  constexpr int parts = Plan::channels / 4, pixels = splitters / parts, together = 3;
  const int thread = static_cast<int>(threadIdx.x) - consumers - 32, part = thread % parts;
  for_patches(arguments, tile, [&](int) {
    ring.full().wait(ring.round);
    const SharedAddress x = memory + ring.stage * layout.stage_bytes;
    for (int first = thread / parts; first < layout.region; first += together * pixels) {
      float4 four[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int pixel = first + i * pixels;
        if (pixel >= layout.region) break;
        four[i] = blas::sm90::read_float4(x + pixel * x_line + (part ^ pixel % 8) * unit_bytes);
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int pixel = first + i * pixels;
        if (pixel >= layout.region) break;
        std::uint32_t pairs[2][terms];
        blas::sm90::split_pair(four[i].x, four[i].y, pairs[0]);
        blas::sm90::split_pair(four[i].z, four[i].w, pairs[1]);
        const SharedAddress to = x + layout.terms_at + pixel * term_line + (part / 2 ^ pixel / 2 % 4) * unit_bytes +
                                 part % 2 * (unit_bytes / 2);
#pragma unroll
        for (int term = 0; term < terms; ++term) {
          blas::sm90::write_words(to + term * layout.term_bytes, pairs[0][term], pairs[1][term]);
        }
      }
    }
    blas::sm90::fence_products();
    __syncwarp();
    if (thread % 32 == 0) split_barrier(layout, memory, ring.stage).arrive();
    ring.advance();
  });
}

/// How many instructions' words a thread has at once.
template <int terms>
constexpr int instructions_at_once = terms == 1 ? 2 : 1;

/// The words of out_grad that a thread has of some instructions: pairs of pixels of two output channels.
template <int terms>
struct OutGradWords {
  std::uint32_t of[instructions_at_once<terms>][terms][4] = {};

  /// Has them in their registers here: before instructions that take them, and behind a wait for these. The compiler
  /// does not know that registers are still read after the instructions that take them.
  __device__ __forceinline__ void keep() {
#pragma unroll
    for (auto& instruction : of) {
#pragma unroll
      for (auto& words : instruction) {
#pragma unroll
        for (std::uint32_t& word : words) asm volatile("" : "+r"(word)::"memory");
      }
    }
  }
};

/// Reads out_grad, turned, and adds up the pixels of each of this thread's two channels, lane / 4 and the eighth after
/// it of a warp's 16.
template <class T, int terms>
class OutGrad {
 public:
  __device__ OutGrad(const Layout& layout, bool is_summed) : at_(layout.grad_at), is_summed_(is_summed) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
    if constexpr (terms == 1) {
      // The pixels of four matrices of 8 by 8: of two units of channels, then the same eight pixels further.
      const int pixel = lane / 16 * 8 + lane % 8, unit = 2 * warp + lane / 8 % 2;
      at_ += pixel * box_line + ((unit ^ pixel % 8) * unit_bytes);
    } else {
      const int channel = warp * 16 + lane / 4, pixel = lane % 4 * 2;
      at_ += channel / 32 * box_bytes + pixel * box_line + ((channel % 32 / 4 ^ pixel) * unit_bytes) + channel % 4 * 4;
    }
  }

  /// Those of the k-th instruction of a patch.
  __device__ __forceinline__ void read(SharedAddress stage, int k, std::uint32_t (&words)[terms][4]) {
    const SharedAddress from = stage + at_ + k * instruction_pixels * box_line;
    if constexpr (terms == 1) {
      blas::sm90::read_matrices<true>(from, words[0]);
      if (is_summed_) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          T pair[2];
          memcpy(pair, &words[0][i], sizeof(pair));
          of_patch_[i % 2] += static_cast<float>(pair[0]) + static_cast<float>(pair[1]);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // The eighth channel after it lies two units further, the next pixel a line, with its last bit the other way.
        const SharedAddress place = (from ^ i % 2 * 2 * unit_bytes) + i / 2 * 8 * box_line;
        const float first = blas::sm90::read_float(place);
        const float second = blas::sm90::read_float((place ^ unit_bytes) + box_line);
        std::uint32_t pair[terms];
        blas::sm90::split_pair(first, second, pair);
#pragma unroll
        for (int term = 0; term < terms; ++term) words[term][i] = pair[term];
        if (is_summed_) of_patch_[i % 2] += first + second;
      }
    }
  }
  /// Behind the words of a patch.
  __device__ __forceinline__ void end_patch() {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      sums_[i] += of_patch_[i];
      of_patch_[i] = 0;
    }
  }

  /// Leaves the sums of a block's share.
  __device__ void leave(const Arguments& arguments, const Tile& tile) const {
    if (!is_summed_) return;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32 % 4;
    const auto outs = static_cast<int>(arguments.windows.out_channels);
    float* const part = arguments.parts.bias_sums(arguments.windows, arguments.plan.shares) + tile.share * outs;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float sum = sums_[i];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const int out = tile.out + warp * 16 + 8 * i + lane / 4;
      if (lane % 4 == 0 && out < outs) part[out] = sum;
    }
  }

 private:
  int at_;  ///< in a stage
  bool is_summed_;
  float of_patch_[2] = {}, sums_[2] = {};
};

/// The sums of a warpgroup's three taps, one behind the other.
template <Precision precision>
class TripleSums {
 public:
  static constexpr int terms = blas::sm90::terms_of<precision>;

  __device__ TripleSums(const Arguments& arguments, const Layout& layout)
      : pitch_(arguments.plan.region_width), term_bytes_(layout.term_bytes) {
    const TapTriples& triples = arguments.plan.triples;
    // Where there are fewer, the last one once more, which is dropped.
    const int line = min(static_cast<int>(threadIdx.x) / 128 * triples.triple_lines, triples.last_line);
    x_ = layout.terms_at + line * term_line >> 4;
    // Of three taps, whose lines are pixels: turned. Each eight lines begin a row of the region behind those before.
    constexpr std::uint32_t swizzle_of_64_bytes = 2;
    shape_ = static_cast<std::uint32_t>(pitch_ * term_line >> 4) | swizzle_of_64_bytes << 30;
    tap_bytes_ = static_cast<std::uint32_t>(triples.tap_lines * term_line >> 4) << 16;
  }

  /// Adds the products of a patch, whose last ones may be underway still. Calls is_free() when those of the patch
  /// before are over.
  template <class Grads, class IsFree>
  __device__ __forceinline__ void add(SharedAddress stage, Grads& out_grad, const IsFree& is_free) {
    constexpr int at_once = instructions_at_once<terms>;
    const std::uint32_t x = blas::sm90::uniform(x_ + (stage >> 4));
#pragma unroll
    for (int step = 0; step < instructions / at_once; ++step) {
      OutGradWords<terms>& words = words_[step % 2];
#pragma unroll
      for (int i = 0; i < at_once; ++i) out_grad.read(stage, step * at_once + i, words.of[i]);
      words.keep();
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      words_[(step + 1) % 2].keep();
      if (step == 0) {
        collect();
        is_free();
      }
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int i = 0; i < at_once; ++i) enqueue(words.of[i], x, step * at_once + i);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    out_grad.end_patch();
  }

  /// Waits for the last products.
  __device__ __forceinline__ void finish() {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    collect();
#pragma unroll
    for (float& sum : sums_) asm volatile("" : "+f"(sum)::"memory");
  }

  /// Leaves those of a block's share.
  __device__ void leave(const Arguments& arguments, const Tile& tile) const {
    const Windows& w = arguments.windows;
    const TapTriples& triples = arguments.plan.triples;
    const auto outs = static_cast<int>(w.out_channels), channels = static_cast<int>(w.channels);
    const auto taps = static_cast<int>(w.taps());
    float* const part = arguments.parts.sums + std::int64_t{tile.share} * outs * taps * channels;
    const int triple = static_cast<int>(threadIdx.x) / 128;
    if (triple >= triples.count) return;
    // Those before it are another triple's.
    const int own_tap = triple * triples.triple, first_tap = min(own_tap, triples.last_tap);
    blas::sm90::for_rows_of_sums<columns>(sums_, [&](int row, int column, const auto& pair_at) {
      const int out = tile.out + row;
      if (out >= outs) return;
#pragma unroll
      for (int i = 0; i < columns / 8; ++i) {
        constexpr int pairs = Plan::channels / 8;
        const int tap = first_tap + i / pairs * triples.tap;
        const int channel = tile.channel + column + 8 * (i % pairs);
        if (tap >= own_tap && channel < channels) {
          // Channels are whole units.
          *reinterpret_cast<float2*>(part + (std::int64_t{out} * taps + tap) * channels + channel) = pair_at(i);
        }
      }
    });
  }

 private:
  /// Enqueues the products of the k-th instruction's pixels.
  __device__ __forceinline__ void enqueue(const std::uint32_t (&words)[terms][4], std::uint32_t x, int k) {
    const auto of_term = [&](int term) {
      const auto further = static_cast<std::uint32_t>(term * term_bytes_ + k * instruction_rows * pitch_ * term_line);
      return std::uint64_t{shape_} << 32 | (x + (further >> 4) | tap_bytes_);
    };
    if constexpr (terms == 1) {
      blas::sm90::multiply_32_bytes<precision, columns, true>(sums_, words[0], of_term(0), 1);
    } else {
      // Small products come first.
#pragma unroll
      for (int small = terms - 1; small >= 0; --small) {
#pragma unroll
        for (int term = 0; term <= small; ++term) {
          const bool is_first = k == 0 && small == terms - 1 && term == 0;
          blas::sm90::multiply_32_bytes<Precision::bf16, columns, true>(recent_, words[term], of_term(small - term),
                                                                        is_first ? 0 : 1);
        }
      }
    }
  }

  /// Behind a wait for the products of a patch. Tensor cores truncate their sums: of terms they hold those of a patch
  /// only, which are then added with rounding.
  __device__ __forceinline__ void collect() {
    if constexpr (terms > 1) {
#pragma unroll
      for (int i = 0; i < columns / 2; ++i) {
        // Not before they are there, of which the compiler knows nothing.
        asm volatile("" : "+f"(recent_[i])::"memory");
        sums_[i] += recent_[i];
      }
    }
  }

  int pitch_, term_bytes_;
  // Of a descriptor: where x begins in a stage, the bytes from a tap to the next, and the upper half.
  std::uint32_t x_, tap_bytes_, shape_;
  OutGradWords<terms> words_[2];  ///< of products that are underway, and of the next ones
  float sums_[columns / 2] = {};
  float recent_[terms == 1 ? 1 : columns / 2] = {};
};

template <class T, Precision precision>
__global__ __launch_bounds__(threads, 1) void multiply(const __grid_constant__ Arguments arguments,
                                                       const __grid_constant__ Maps maps) {
  constexpr int terms = blas::sm90::terms_of<precision>;
  extern __shared__ __align__(1024) char shared[];
  const SharedAddress memory = blas::sm90::kept_shared_address(shared);
  const Layout layout(arguments.plan);
  const Tile tile(arguments.plan);
  const int thread = static_cast<int>(threadIdx.x);
  blas::sm90::Ring ring{memory + layout.barriers_at, arguments.plan.stages};
  if (thread == 0) {
    for (int i = 0; i < arguments.plan.stages; ++i) split_barrier(layout, memory, i).make(splitters / 32);
    ring.make(1, consumers / 32);
  }
  __syncthreads();
  // Of all 65536.
  constexpr int consumer_registers = 152, helper_registers = 56;
  if (thread < consumers) {
    blas::sm90::take_registers<consumer_registers>();
    TripleSums<precision> sums(arguments, layout);
    OutGrad<T, terms> out_grad(layout, thread < 128 && tile.channel == 0 && arguments.parts.bias_grad != nullptr);
    for_patches(arguments, tile, [&](int number) {
      ring.full().wait(ring.round);
      if constexpr (terms > 1) split_barrier(layout, memory, ring.stage).wait(ring.round);
      sums.add(memory + ring.stage * layout.stage_bytes, out_grad, [&] {
        if (thread % 32 == 0 && number != tile.share) ring.empty_before().arrive();
      });
      ring.advance();
    });
    sums.finish();
    sums.leave(arguments, tile);
    return out_grad.leave(arguments, tile);
  }
  blas::sm90::leave_registers<helper_registers>();
  if (thread < consumers + 32) {
    if (thread == consumers) copy_patches<terms>(arguments, maps, layout, tile, memory, ring);
  } else if constexpr (terms > 1) {
    split_patches<terms>(arguments, layout, tile, memory, ring);
  }
}

/// Lines of so many bytes of channels, of a box of pixels.
CUtensorMap map_of(const void* data, ElementType type, int line_bytes, const std::int64_t (&extents)[4],
                   const PixelStrides& strides, int width, int height) {
  const auto number = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t sizes[] = {number(extents[0]), number(extents[1]), number(extents[2]), number(extents[3])};
  // An axis of one position, whose stride may be any, has that of the one inside of it.
  const std::int64_t pixel = extents[1] > 1 ? strides.x : 1, row = extents[2] > 1 ? strides.y : pixel;
  const std::int64_t image = extents[3] > 1 ? strides.image : row;
  const cuuint64_t bytes[] = {number(pixel * unit_bytes), number(row * unit_bytes), number(image * unit_bytes)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(line_bytes) / static_cast<cuuint32_t>(size_of(type)),
                            static_cast<cuuint32_t>(width), static_cast<cuuint32_t>(height), 1};
  const cuuint32_t every[] = {1, 1, 1, 1};
  const CUtensorMapSwizzle swizzle = line_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  CUtensorMap map;
  fused_sm90::check_map(
      fused_sm90::tiled_encode()(&map, fused_sm90::map_type(type), 4, const_cast<void*>(data), sizes, bytes, box, every,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled");
  return map;
}

Maps maps_of(const Windows& windows, const Plan& plan, const PatchProductsOperands& operands, ElementType type) {
  Maps maps;
  maps.x =
      map_of(operands.x, type, Layout(plan).x_bytes, {windows.channels, windows.width, windows.height, windows.images},
             operands.x_strides, plan.region_width, plan.region_height);
  for (const int last_row : {0, 1}) {
    for (const int last_column : {0, 1}) {
      const std::int64_t y = last_row * (plan.down - 1) * Plan::side, x = last_column * (plan.across - 1) * Plan::side;
      const PixelStrides& strides = operands.out_grad_strides;
      const auto* const first =
          static_cast<const std::byte*>(operands.out_grad) + (y * strides.y + x * strides.x) * unit_bytes;
      maps.out_grad[last_row][last_column] = map_of(
          first, type, box_line, {windows.out_channels, windows.out_width - x, windows.out_height - y, windows.images},
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
  const dim3 grid(static_cast<unsigned>(plan.tiles()), static_cast<unsigned>(plan.shares));
  kernel<<<grid, threads, static_cast<std::size_t>(bytes), stream>>>(
      arguments, maps_of(windows, plan, operands, ElementTypeOf<T>::value));
  check_cuda(cudaGetLastError(), label, "cudaLaunchKernel");
  enqueue_sums_of_parts<T>(stream, label, windows, operands.parts, plan.shares);
}

}  // namespace

TapTriples::TapTriples(const Windows& windows, int region_width) {
  const auto width = static_cast<int>(windows.kernel_width), height = static_cast<int>(windows.kernel_height);
  const auto right = static_cast<int>(windows.dilation_x);
  const int below = static_cast<int>(windows.dilation_y) * region_width;
  constexpr int least = 2;
  if (width == taps && height >= least && height <= most) {
    count = height;
    triple = width;
    tap_lines = right;
    triple_lines = below;
  } else if (height == taps && width == least) {
    count = width;
    tap = width;
    tap_lines = below;
    triple_lines = right;
  } else if (std::min(width, height) == 1 && width * height >= least * taps && width * height <= most * taps) {
    count = (width * height + taps - 1) / taps;
    triple = taps;
    tap_lines = width > 1 ? right : below;
    triple_lines = taps * tap_lines;
    last_tap = width * height - taps;
    last_line = last_tap * tap_lines;
    return;
  }
  last_tap = (count - 1) * triple;
  last_line = (count - 1) * triple_lines;
}

std::optional<PatchProductsPlan> plan_patch_products(const Windows& windows, int terms, int multiprocessors) {
  constexpr std::int64_t most_box = 256;
  const std::int64_t width = Plan::side + (windows.kernel_width - 1) * windows.dilation_x;
  const std::int64_t height = Plan::side + (windows.kernel_height - 1) * windows.dilation_y;
  if (windows.groups != 1 || windows.stride_x != 1 || windows.stride_y != 1 || windows.out_width < Plan::side ||
      windows.out_height < Plan::side || width > most_box || height > most_box ||
      fused_sm90::tiled_encode() == nullptr) {
    return std::nullopt;
  }
  Plan plan{.terms = terms};
  plan.region_width = static_cast<int>(width);
  plan.region_height = static_cast<int>(height);
  plan.triples = TapTriples(windows, plan.region_width);
  if (plan.triples.count == 0) return std::nullopt;
  plan.across = static_cast<int>(ceil_div(windows.out_width, Plan::side));
  plan.down = static_cast<int>(ceil_div(windows.out_height, Plan::side));
  const std::int64_t out_tiles = ceil_div(windows.out_channels, Plan::outs);
  const std::int64_t channel_tiles = ceil_div(windows.channels, Plan::channels);
  const std::int64_t patches = windows.images * plan.across * plan.down;
  constexpr int most_stages = 6;
  for (plan.stages = most_stages; plan.stages > 1 && Layout(plan).bytes > fused_sm90::most_shared_bytes;) --plan.stages;
  // Of a share: few take less than adding up its sums, and sums of many lose what is added to them.
  constexpr std::int64_t least_patches = 4, most_patches = 256, most_shares = 65535;
  if (plan.stages < 2 || 2 * out_tiles * channel_tiles > multiprocessors || patches >= INT32_MAX) return std::nullopt;
  plan.out_tiles = static_cast<int>(out_tiles);
  plan.channel_tiles = static_cast<int>(channel_tiles);
  const std::int64_t at_once = multiprocessors / plan.tiles();
  const std::int64_t shares = at_once * ceil_div(patches, at_once * most_patches);
  if (patches < least_patches * shares || shares > most_shares) return std::nullopt;
  plan.shares = static_cast<int>(shares);
  return plan;
}

void multiply_patches(void* stream, ElementType type, const Windows& windows, const PatchProductsPlan& plan,
                      const PatchProductsOperands& operands) {
  auto* const to = static_cast<cudaStream_t>(stream);
  if (type == ElementType::f16) return launch<f16, Precision::f16>(to, windows, plan, operands);
  if (type == ElementType::bf16) return launch<bf16, Precision::bf16>(to, windows, plan, operands);
  if (plan.terms == 2) return launch<float, Precision::f32_16>(to, windows, plan, operands);
  launch<float, Precision::f32>(to, windows, plan, operands);
}

}  // namespace portops::impl
