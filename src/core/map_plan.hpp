// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/context.hpp"
#include "core/loop.hpp"

#include <vector>

// How a loop is cut into the work of teams and threads. Decided here, on the host, from the extents alone (never from
// the number of threads), so that sums have the same bits on every run. Nothing here knows Kokkos.

namespace portops::impl {

/// Sizes that suit a backend. A team works on tiles of rows and columns; in it, `lanes` threads side by side share a
/// row, each with `packs` packs of `pack` elements, and `slots` rows are under way at once.
struct TileShape {
  int pack;
  int packs;
  int most_lanes;
  int most_threads;

  constexpr int columns() const { return pack * packs * most_lanes; }
};

constexpr TileShape tile_shape(Backend backend, ElementType type) {
  if (backend != Backend::cuda) return {.pack = 64, .packs = 16, .most_lanes = 1, .most_threads = 1};
  const int pack = 16 / static_cast<int>(size_of(type));
  return {.pack = pack, .packs = pack > 4 ? 1 : 2, .most_lanes = 32, .most_threads = 256};
}

/// Bytes to which packs are aligned: a GPU's widest access, a host's streaming store.
constexpr int pack_alignment(Backend backend) { return backend == Backend::cuda ? 16 : 32; }

// --- the flat form: outputs contiguous
// ---------------------------------------------------------------------------------

/// How element i of an operand is found.
enum class FlatAccess : std::uint8_t {
  none,        ///< a number; an output that is not wanted
  single,      ///< at data, for every i
  packs,       ///< at data + i, aligned to packs after `head` elements
  neighbours,  ///< at data + i
  gathered     ///< by the position of i along the loop's axes
};  // in this order: `packs` and what comes before it is the fast path

/// A loop whose outputs are all contiguous, in the order of its axes: a range of elements, cut into packs.
struct FlatPlan {
  std::int64_t size = 0;
  int head = 0;            ///< elements before the first output is aligned to packs
  bool streaming = false;  ///< outputs are too large to stay in a host's caches
  bool packs_only = true;  ///< no operand is read or written otherwise than by packs, or is a single value
  int rank = 0;            ///< of the loop, for gathered inputs
  std::array<std::int64_t, max_rank> extent{};
  struct Operand {
    std::byte* data = nullptr;
    double number = 0.0;
    FlatAccess access = FlatAccess::none;
    std::array<std::int64_t, max_rank> stride{};
  };
  std::array<Operand, max_operands> operand{};
};

/// Whether the loop suits the flat form: nothing is summed, all outputs are contiguous, and so are the inputs, or else
/// rows are too short for tiles or (on a GPU) not aligned to packs.
bool is_flat(const Loop& loop, Backend backend);
FlatPlan make_flat_plan(const Loop& loop, Backend backend);

// --- the tiled form: everything else ---------------------------------------------------------------------------------

/// How the kernel reads an input or writes an output.
enum class Access : std::uint8_t {
  none,      ///< a number; an output that is not wanted
  row,       ///< one element a row
  packs,     ///< neighbouring columns are neighbours in memory, and packs are aligned
  elements,  ///< one by one
  staged,    ///< an input that is the same for all rows of a tile: read once a tile, into team scratch
};

/// Where an output's results go. `elements`: one a column and row, straight to the tensor. The others are sums; each
/// gives an array of results [outer][i][j], where i is a row or, for outputs summed over rows, a block of rows, and j a
/// column or a block of columns.
enum class Sum : std::uint8_t { elements, none, rows, columns, both };

/// The axes of the loop, cut in three: the last one gives the columns of a tile, some give its rows, and the outer ones
/// tell the tiles apart. A loop over contiguous memory may be folded instead: cut into rows of a convenient length,
/// the last of which may be shorter.
struct TilePlan {
  std::int64_t columns = 1;  ///< length of a row
  std::int64_t rows = 1;     ///< rows for each outer index
  std::int64_t size = 1;     ///< columns of all rows together: less than rows · columns where the last row is shorter
  int outer_rank = 0;
  int row_rank = 0;
  std::array<std::int64_t, max_rank> extent{};  ///< of the outer axes, then of the row axes

  struct Operand {
    std::byte* data = nullptr;
    double number = 0.0;
    std::int64_t column_stride = 0;
    std::array<std::int64_t, max_rank> stride{};  ///< along the outer axes, then the row axes
    std::int64_t period = 0;                      ///< of a folded operand: its element is column modulo period
    Access access = Access::none;
    Sum sum = Sum::elements;
    bool direct = true;           ///< the results are final: they are written to the tensor itself
    std::int64_t partial_at = 0;  ///< else: where in the workspace they are kept, counted in elements
  };
  std::array<Operand, max_operands> operand{};

  int lanes = 1;  ///< a power of two
  int slots = 1;  ///< a power of two
  int tile_columns = 1;
  int tile_rows = 1;
  std::int64_t column_blocks = 1;
  std::int64_t row_blocks = 1;
  std::int64_t outer = 1;
  int staged = 0;          ///< operands with Access::staged
  bool sums_rows = false;  ///< some output is summed over the rows of a tile
  bool streaming = false;  ///< outputs are too large to stay in a host's caches
  /// The rows are one axis and hold whole packs only, and every operand is read and written by packs, or is the same
  /// for a row or for all rows.
  bool lean = false;
  std::int64_t partials = 0;  ///< elements of workspace

  std::int64_t tiles() const { return outer * row_blocks * column_blocks; }
};

TilePlan make_tile_plan(const Loop& loop, Backend backend);

/// out = Σ partial: what is left to do of a sum whose tiles have each written their share. Axes run from the fastest of
/// the partial array to the slowest. A long sum is done in two steps: first in `parts` chunks, whose sums are partial
/// sums again.
struct SumPlan {
  int kept_rank = 0;
  int summed_rank = 0;
  std::int64_t kept = 1;
  std::int64_t summed = 1;
  std::int64_t kept_extent[max_rank + 2] = {};
  std::int64_t kept_stride[max_rank + 2] = {};  ///< in the partial array
  std::int64_t out_stride[max_rank + 2] = {};
  std::int64_t summed_extent[max_rank + 2] = {};
  std::int64_t summed_stride[max_rank + 2] = {};
  bool kept_is_fastest = false;  ///< neighbours in the partial array belong to different results
  std::int64_t parts = 1;
  std::int64_t chunk = 0;  ///< terms of a part; the last part may have fewer
  std::int64_t partial_at = 0;
  std::byte* out = nullptr;         ///< the tensor, or, of a first step,
  std::int64_t out_partial_at = 0;  ///< the array [part][kept] in the workspace
};

/// The sums of a loop without elements: zeros, where an output has elements.
std::vector<SumPlan> make_empty_sum_plans(const Loop& loop);

/// The sums that remain after the tiles of `plan`, in the order in which they must run.
std::vector<SumPlan> make_sum_plans(const Loop& loop, const TilePlan& plan);

/// Elements of workspace that the tiles and the sums need together.
std::int64_t partial_elements(const TilePlan& plan, std::span<const SumPlan> sums);

/// Bytes of workspace that the loop needs on a backend.
std::size_t map_workspace(const Loop& loop, Backend backend);

}  // namespace portops::impl
