// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/barriers_sm90.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// The tile product of fused kernels on GPUs of compute capability 9.0: what a team of threads multiplies out of shared
// memory. For files compiled for sm_90a alone.

namespace portops::blas::sm90 {

/// How numbers enter a product. The sums are f32.
enum class Precision : std::uint8_t {
  f16,
  bf16,
  tf32,   ///< f32 brought to 11 significant bits
  f32,    ///< f32 as the sum of three bf16 terms, of which the products that matter are taken: the error of f32
  f32_16  ///< f32 as the sum of two: 16 significant bits
};

/// The bf16 terms that a number enters as; 1 where it enters rounded or as it is.
template <Precision precision>
inline constexpr int terms_of = precision == Precision::f32      ? 3
                                : precision == Precision::f32_16 ? 2
                                                                 : 1;
template <Precision precision>
inline constexpr bool is_split = terms_of<precision> > 1;

/// How a tile of an operand lies in shared memory: row by row, `channels` numbers of the inner axis in each, the terms
/// one behind the other. The 16-byte units of a row are swizzled so that neither a row nor a column of units meets the
/// same banks. A tile begins at a multiple of 1024 bytes.
template <Precision precision>
struct Tile {
  static constexpr int terms = terms_of<precision>;
  static constexpr int row_bytes = is_split<precision> ? 64 : 128;
  static constexpr int units = row_bytes / 16;
  static constexpr int channels = precision == Precision::f16 || precision == Precision::bf16 ? 64 : 32;
  static constexpr int instructions = row_bytes / 32;  ///< that a row takes

  __host__ __device__ static constexpr int bytes(int rows) { return rows * row_bytes * terms; }
  /// Where a unit of a row of a term lies.
  __host__ __device__ static constexpr int offset(int row, int unit) {
    return row * row_bytes + ((unit ^ (is_split<precision> ? (row >> 1) & 3 : row & 7)) << 4);
  }
};

/// A tile of bf16 terms whose rows are neighbours in memory instead of its inner axis: turned. 64 lines (rows, when
/// not turned) of all 32 positions along the inner axis, then the next 64; as long as a Tile of as many lines.
struct TurnedTile {
  static constexpr int row_bytes = 128;
  static constexpr int bytes_of_lines = Tile<Precision::f32>::channels * row_bytes;

  /// Where eight lines from `line` on, a multiple of 8, lie in a term.
  __host__ __device__ static constexpr int offset(int line, int inner) {
    return line / 64 * bytes_of_lines + inner * row_bytes + ((line % 64 / 8 ^ inner % 8) << 4);
  }
};

// --- numbers -----------------------------------------------------------------------------------------------

/// Two numbers as bf16, the first one in the lower half.
__device__ __forceinline__ std::uint32_t bf16_pair(float first, float second) {
  std::uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}

__device__ __forceinline__ std::uint32_t f16_pair(float first, float second) {
  std::uint32_t bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}

__device__ __forceinline__ float first_of_bf16_pair(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float second_of_bf16_pair(std::uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

/// Pairs of bf16 that add up to the two numbers, the largest first: each takes 8 bits of what the last one left.
template <int terms>
__device__ __forceinline__ void split_pair(float first, float second, std::uint32_t (&term)[terms]) {
#pragma unroll
  for (std::uint32_t& pair : term) {
    pair = bf16_pair(first, second);
    first -= first_of_bf16_pair(pair);
    second -= second_of_bf16_pair(pair);
  }
}

/// A number that is rounded when the 13 bits that products in tf32 ignore are cut off: to the nearest, those in the
/// middle away from 0. NaN and infinity stay what they are. The instruction for it takes four on this architecture.
__device__ __forceinline__ std::uint32_t tf32_bits(float number) {
  const std::uint32_t bits = __float_as_uint(number);
  return fabsf(number) < INFINITY ? bits + 0x1000 : bits;
}

/// Times this, a number is brought to tf32 by what products cut off, in one instruction instead of tf32_bits()' three:
/// it is off by 0.7 units of the last bit that is left at most (rounding: 0.5), by 0.31 as a root of the mean square
/// (0.29), and on average by nothing. Numbers of 11 bits stay what they are, NaN and infinity too.
constexpr float tf32_factor = 1.0f + 0.6931472f / 2048;

// --- products ----------------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PORTOPS_SUMS_8(i)                                                                                 \
  "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), "+f"(sum[i + 5]), \
      "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define PORTOPS_SUMS_16(i) PORTOPS_SUMS_8(i), PORTOPS_SUMS_8(i + 8)
#define PORTOPS_SUMS_32(i) PORTOPS_SUMS_16(i), PORTOPS_SUMS_16(i + 16)
#define PORTOPS_SUMS_64(i) PORTOPS_SUMS_32(i), PORTOPS_SUMS_32(i + 32)
#define PORTOPS_NAMES_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define PORTOPS_NAMES_32 PORTOPS_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define PORTOPS_NAMES_48 PORTOPS_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define PORTOPS_NAMES_64                                                                                  \
  PORTOPS_NAMES_32                                                                                        \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56," \
  "%57,%58,%59,%60,%61,%62,%63"
#define PORTOPS_NAMES_96                                                                                  \
  PORTOPS_NAMES_64                                                                                        \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88," \
  "%89,%90,%91,%92,%93,%94,%95"
#define PORTOPS_NAMES_128                                                                                 \
  PORTOPS_NAMES_64                                                                                        \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88," \
  "%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,"   \
  "%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
/// a in registers: its four words, the descriptor of b and the flag have the numbers that follow the sums.
#define PORTOPS_PRODUCT(shape, end, names, n0, n1, n2, n3, tile, flag, ...)                                    \
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #flag ", 0;\nwgmma.mma_async.sync.aligned.m64" shape \
               " {" names "}, {%" #n0 ",%" #n1 ",%" #n2 ",%" #n3 "}, %" #tile ", adds, 1, 1" end ";\n}"        \
               : __VA_ARGS__                                                                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds))
#define PORTOPS_PRODUCT_OF_COLUMNS(form, end)                                                              \
  if constexpr (columns == 256) {                                                                          \
    PORTOPS_PRODUCT("n256" form, end, PORTOPS_NAMES_128, 128, 129, 130, 131, 132, 133, PORTOPS_SUMS_64(0), \
                    PORTOPS_SUMS_64(64));                                                                  \
  } else if constexpr (columns == 192) {                                                                   \
    PORTOPS_PRODUCT("n192" form, end, PORTOPS_NAMES_96, 96, 97, 98, 99, 100, 101, PORTOPS_SUMS_64(0),      \
                    PORTOPS_SUMS_32(64));                                                                  \
  } else if constexpr (columns == 128) {                                                                   \
    PORTOPS_PRODUCT("n128" form, end, PORTOPS_NAMES_64, 64, 65, 66, 67, 68, 69, PORTOPS_SUMS_64(0));       \
  } else if constexpr (columns == 96) {                                                                    \
    PORTOPS_PRODUCT("n96" form, end, PORTOPS_NAMES_48, 48, 49, 50, 51, 52, 53, PORTOPS_SUMS_32(0),         \
                    PORTOPS_SUMS_16(32));                                                                  \
  } else if constexpr (columns == 64) {                                                                    \
    PORTOPS_PRODUCT("n64" form, end, PORTOPS_NAMES_32, 32, 33, 34, 35, 36, 37, PORTOPS_SUMS_32(0));        \
  } else {                                                                                                 \
    PORTOPS_PRODUCT("n32" form, end, PORTOPS_NAMES_16, 16, 17, 18, 19, 20, 21, PORTOPS_SUMS_16(0));        \
  }
#endif

/// Enqueues one instruction: sum = or += 64 rows of a times `columns` rows of b, over 32 bytes of the inner axis. Of a,
/// a thread holds the words lane % 4 and lane % 4 + 4 of two rows, that of lane / 4 and the eighth after it: word 0 of
/// the first, of the second, word 1 of the first, of the second. Only 16-bit numbers can be turned.
template <Precision precision, int columns, bool b_turned>
__device__ __forceinline__ void multiply_32_bytes([[maybe_unused]] float (&sum)[columns / 2],
                                                  [[maybe_unused]] const std::uint32_t (&a)[4],
                                                  [[maybe_unused]] std::uint64_t b, [[maybe_unused]] int adds) {
  static_assert(columns == 32 || columns == 64 || columns == 96 || columns == 128 || columns == 192 || columns == 256);
  static_assert(!b_turned || precision == Precision::f16 || precision == Precision::bf16);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (precision == Precision::f16 && b_turned) {
    PORTOPS_PRODUCT_OF_COLUMNS("k16.f32.f16.f16", ", 1")
  } else if constexpr (precision == Precision::f16) {
    PORTOPS_PRODUCT_OF_COLUMNS("k16.f32.f16.f16", ", 0")
  } else if constexpr (precision == Precision::tf32) {
    PORTOPS_PRODUCT_OF_COLUMNS("k8.f32.tf32.tf32", "")
  } else if constexpr (b_turned) {
    PORTOPS_PRODUCT_OF_COLUMNS("k16.f32.bf16.bf16", ", 1")
  } else {
    PORTOPS_PRODUCT_OF_COLUMNS("k16.f32.bf16.bf16", ", 0")
  }
#endif
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/// a in shared memory, too: its descriptor, that of b, the flag and whether they are turned have the numbers that
/// follow the sums.
#define PORTOPS_TILE_PRODUCT(shape, names, n_a, n_b, flag, n_turned_a, n_turned_b, ...)                        \
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #flag ", 0;\nwgmma.mma_async.sync.aligned.m64" shape \
               " {" names "}, %" #n_a ", %" #n_b ", adds, 1, 1, %" #n_turned_a ", %" #n_turned_b ";\n}"        \
               : __VA_ARGS__                                                                                   \
               : "l"(a), "l"(b), "r"(adds), "n"(a_turned ? 1 : 0), "n"(b_turned ? 1 : 0))
#define PORTOPS_TILE_PRODUCT_OF_COLUMNS(form)                                                                          \
  if constexpr (columns == 256) {                                                                                      \
    PORTOPS_TILE_PRODUCT("n256" form, PORTOPS_NAMES_128, 128, 129, 130, 131, 132, PORTOPS_SUMS_64(0),                  \
                         PORTOPS_SUMS_64(64));                                                                         \
  } else if constexpr (columns == 192) {                                                                               \
    PORTOPS_TILE_PRODUCT("n192" form, PORTOPS_NAMES_96, 96, 97, 98, 99, 100, PORTOPS_SUMS_64(0), PORTOPS_SUMS_32(64)); \
  } else if constexpr (columns == 128) {                                                                               \
    PORTOPS_TILE_PRODUCT("n128" form, PORTOPS_NAMES_64, 64, 65, 66, 67, 68, PORTOPS_SUMS_64(0));                       \
  } else if constexpr (columns == 64) {                                                                                \
    PORTOPS_TILE_PRODUCT("n64" form, PORTOPS_NAMES_32, 32, 33, 34, 35, 36, PORTOPS_SUMS_32(0));                        \
  } else {                                                                                                             \
    PORTOPS_TILE_PRODUCT("n32" form, PORTOPS_NAMES_16, 16, 17, 18, 19, 20, PORTOPS_SUMS_16(0));                        \
  }
#endif

/// The same of 16-bit numbers in shared memory, either of them turned.
template <Precision precision, int columns, bool a_turned, bool b_turned>
__device__ __forceinline__ void multiply_32_bytes([[maybe_unused]] float (&sum)[columns / 2],
                                                  [[maybe_unused]] std::uint64_t a, [[maybe_unused]] std::uint64_t b,
                                                  [[maybe_unused]] int adds) {
  static_assert(columns == 32 || columns == 64 || columns == 128 || columns == 192 || columns == 256);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (precision == Precision::f16) {
    PORTOPS_TILE_PRODUCT_OF_COLUMNS("k16.f32.f16.f16")
  } else {
    PORTOPS_TILE_PRODUCT_OF_COLUMNS("k16.f32.bf16.bf16")
  }
#endif
}

#undef PORTOPS_TILE_PRODUCT_OF_COLUMNS
#undef PORTOPS_TILE_PRODUCT
#undef PORTOPS_PRODUCT_OF_COLUMNS
#undef PORTOPS_PRODUCT
#undef PORTOPS_NAMES_128
#undef PORTOPS_NAMES_96
#undef PORTOPS_NAMES_64
#undef PORTOPS_NAMES_48
#undef PORTOPS_NAMES_32
#undef PORTOPS_NAMES_16
#undef PORTOPS_SUMS_64
#undef PORTOPS_SUMS_32
#undef PORTOPS_SUMS_16
#undef PORTOPS_SUMS_8

/// The descriptor of a tile, to which instruction_offset() is added. Where it is turned, the next 64 lines lie so many
/// bytes behind the first ones.
template <Precision precision, bool turned = false, int bytes_of_64_lines = TurnedTile::bytes_of_lines>
__device__ __forceinline__ std::uint64_t describe(SharedAddress tile) {
  constexpr int row_bytes = turned ? TurnedTile::row_bytes : Tile<precision>::row_bytes;
  constexpr std::uint64_t bytes_of_8_rows = 8 * row_bytes;
  constexpr std::uint64_t bytes_of_lines = turned ? bytes_of_64_lines : 16;
  constexpr std::uint64_t swizzle = row_bytes == 128 ? 1 : 2;
  return static_cast<std::uint64_t>(tile >> 4 & 0x3fff) | bytes_of_lines >> 4 << 16 | bytes_of_8_rows >> 4 << 32 |
         swizzle << 62;
}

/// That of a tile whose rows have 32, 64 or 128 bytes, swizzled as the engine for tensor copies swizzles boxes of so
/// many: by where they lie, so that it may begin at any row. Each eight rows begin `pitch` rows behind those before.
__device__ __forceinline__ std::uint64_t describe_rows(SharedAddress tile, int row_bytes, int pitch) {
  const std::uint64_t swizzle = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
  return static_cast<std::uint64_t>(tile >> 4 & 0x3fff) | std::uint64_t{1} << 16 |
         static_cast<std::uint64_t>(pitch * row_bytes >> 4) << 32 | swizzle << 62;
}

/// A number, or a descriptor, that is the same for all threads of a warp, said so that the compiler knows it: it then
/// keeps what is added for each instruction in registers of the warp, where instructions want it.
__device__ __forceinline__ std::uint32_t uniform(std::uint32_t number) { return __shfl_sync(0xffffffffu, number, 0); }
__device__ __forceinline__ std::uint64_t uniform(std::uint64_t descriptor) {
  return descriptor >> 32 << 32 | uniform(static_cast<std::uint32_t>(descriptor));
}

/// That of what the k-th instruction takes of a term, which lies so many bytes from the tile's beginning.
template <Precision precision, bool turned = false>
__device__ constexpr std::uint64_t instruction_offset(int term_bytes, int k) {
  return static_cast<std::uint64_t>(term_bytes + k * (turned ? 16 * TurnedTile::row_bytes : 32)) >> 4;
}

/// The 64 rows of a product in registers: the words that each instruction takes, of each term.
template <Precision precision>
struct RowsInRegisters {
  std::uint32_t words[Tile<precision>::terms][Tile<precision>::instructions][4];

  /// Has the words complete here. The compiler would make some of them between the instructions that take them, and
  /// these would then wait for each other.
  __device__ __forceinline__ void complete() {
#pragma unroll
    for (auto& term : words) {
#pragma unroll
      for (auto& instruction : term) {
#pragma unroll
        for (std::uint32_t& word : instruction) asm volatile("" : "+r"(word)::"memory");
      }
    }
  }
};

/// Calls action(row, column, pair_at) for the two rows of this thread's sums of a warpgroup's 64, which are pairs of
/// neighbours: pair_at(i) is that of `column` + 8 * i, for i < columns / 8.
template <int columns, class Action>
__device__ __forceinline__ void for_rows_of_sums(const float (&sums)[columns / 2], const Action& action) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    action(warp * 16 + half * 8 + lane / 4, lane % 4 * 2,
           [&](int i) { return make_float2(sums[4 * i + 2 * half], sums[4 * i + 2 * half + 1]); });
  }
}

/// Calls action(i, pack) for the sums of this thread, four at a time, which it may change: a pair of each of its rows.
template <int columns, class Action>
__device__ __forceinline__ void for_packs_of_sums(float (&all)[columns / 2], const Action& action) {
#pragma unroll
  for (int i = 0; i < columns / 8; ++i) {
    float* const sums = all + 4 * i;
    float4 pack = make_float4(sums[0], sums[1], sums[2], sums[3]);
    action(i, pack);
    sums[0] = pack.x;
    sums[1] = pack.y;
    sums[2] = pack.z;
    sums[3] = pack.w;
  }
}

/// The sums of 64 rows by `columns`, for a warpgroup, of products of two tiles of 16-bit numbers.
template <int columns>
class TileSums {
 public:
  /// Enqueues the product of rows of 128 bytes, or of as much of them as so many instructions take.
  template <Precision precision, bool b_turned, int instructions = Tile<precision>::instructions>
  __device__ __forceinline__ void add(std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < instructions; ++k) {
      multiply_32_bytes<precision, columns, false, b_turned>(sums_, a + instruction_offset<precision>(0, k),
                                                             b + instruction_offset<precision, b_turned>(0, k), 1);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  /// Returns when no more than `underway` products are not over.
  template <int underway>
  __device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(underway) : "memory");
  }
  /// Waits for the last product.
  __device__ __forceinline__ void finish() {
    wait<0>();
#pragma unroll
    for (float& sum : sums_) asm volatile("" : "+f"(sum)::"memory");
  }
  template <class Action>
  __device__ __forceinline__ void for_rows(const Action& action) const {
    for_rows_of_sums<columns>(sums_, action);
  }
  template <class Action>
  __device__ __forceinline__ void for_packs(const Action& action) {
    for_packs_of_sums<columns>(sums_, action);
  }

 private:
  float sums_[columns / 2] = {};
};

/// The product of 64 rows and a tile of `columns` rows, for a warpgroup: sums += a · transpose(b).
template <Precision precision, int columns>
class TileProduct {
 public:
  using Layout = Tile<precision>;

  /// The columns that are multiplied at once: of f32, whose latest products have registers of their own, not so many.
  static constexpr int part_columns = is_split<precision> && columns > 128 ? 64 : columns;
  static constexpr int parts = columns / part_columns;

  /// Adds a product of rows in registers and a tile, which may be turned, and waits until it is over: the compiler does
  /// not know that registers are still read after the instructions that take them, and would use them for something
  /// else. Calls enqueued() when nothing is left to be enqueued, while the product is underway; where that computes
  /// anything, complete() of the rows must follow, which keeps them until then. `whole`: else the second half of
  /// each row is passed over.
  template <bool b_turned, bool whole = true, class Enqueued>
  __device__ __forceinline__ void add(RowsInRegisters<precision>& a, SharedAddress b, const Enqueued& enqueued) {
    static_assert(parts == 1 || !b_turned);
    constexpr Precision terms = is_split<precision> ? Precision::bf16 : precision;
    a.complete();
    // Instructions of few columns are over before the descriptor of the next one would be ready.
    const std::uint64_t described = describe<precision, b_turned>(b);
    const std::uint64_t tile = part_columns <= 64 ? uniform(described) : described;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      enqueue<whole>(part, [&](auto& sums, int a_term, int b_term, int k, int adds) {
        const int offset = (part * part_columns + b_term * columns) * Layout::row_bytes;
        multiply_32_bytes<terms, part_columns, b_turned>(
            sums, a.words[a_term][k], tile + instruction_offset<precision, b_turned>(offset, k), adds);
      });
      if (part > 0) collect<1>(part - 1);
    }
    enqueued();
    if constexpr (parts == 1) {
      wait<0>();
    } else {
      collect<0>(parts - 1);
    }
  }

  /// Returns when no more than `underway` products are not over.
  template <int underway>
  __device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(underway) : "memory");
    if constexpr (is_split<precision>) {
      if (pending_ == most_pending) collect<0>(0);
    }
  }

  /// Waits for the last product.
  __device__ __forceinline__ void finish() {
    if constexpr (!is_split<precision>) {
      wait<0>();
    } else if constexpr (parts == 1) {
      collect<0>(0);
    }
  }

  template <class Action>
  __device__ __forceinline__ void for_rows(const Action& action) const {
    for_rows_of_sums<columns>(sums_, action);
  }

  template <class Action>
  __device__ __forceinline__ void for_packs(const Action& action) {
    for_packs_of_sums<columns>(sums_, action);
  }

 private:
  /// Calls instruction(sums, term of a, term of b, k, whether it adds) for each of a product's part, or for those of
  /// the first half of each row.
  template <bool whole, class Instruction>
  __device__ __forceinline__ void enqueue([[maybe_unused]] int part, const Instruction& instruction) {
    constexpr int instructions = whole ? Layout::instructions : Layout::instructions / 2;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    if constexpr (is_split<precision>) {
      // Small products come first.
#pragma unroll
      for (int small = Layout::terms - 1; small >= 0; --small) {
#pragma unroll
        for (int term = 0; term <= small; ++term) {
#pragma unroll
          for (int k = 0; k < instructions; ++k) {
            const bool is_first = small == Layout::terms - 1 && term == 0 && k == 0;
            instruction(recent_[part % buffers], term, small - term, k, !is_first ? 1 : parts == 1 ? pending_ : 0);
          }
        }
      }
      ++pending_;
    } else {
#pragma unroll
      for (int k = 0; k < instructions; ++k) instruction(sums_, 0, 0, k, 1);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }

  /// Tensor cores truncate their sums: they hold those of a few products only, which are then added with rounding. In
  /// parts those of one, while the next part is multiplied.
  static constexpr int most_pending = 4;
  static constexpr int buffers = parts == 1 ? 1 : 2;

  /// Adds those of a part when no more than `underway` parts are not over.
  template <int underway>
  __device__ __forceinline__ void collect(int part) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(underway) : "memory");
#pragma unroll
    for (int i = 0; i < part_columns / 2; ++i) {
      // Not before they are there, of which the compiler knows nothing.
      asm volatile("" : "+f"(recent_[part % buffers][i])::"memory");
      if (parts > 1 || pending_ > 0) sums_[part * (part_columns / 2) + i] += recent_[part % buffers][i];
    }
    pending_ = 0;
  }

  float sums_[columns / 2] = {};
  float recent_[buffers][is_split<precision> ? part_columns / 2 : 1];
  int pending_ = 0;  ///< products in `recent_`, where they are not in parts
};

}  // namespace portops::blas::sm90
