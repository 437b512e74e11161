// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/pieces.hpp"

#include "core/check/check.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>

namespace portops::impl {
namespace {

/// The most rows of a move: enough that finding a team costs little beside it.
constexpr std::int64_t most_move_rows = 256;

/// A piece is long if it has more rows than this, and more than so many times the mean.
constexpr std::int64_t least_long_rows = 128;
constexpr std::int64_t long_times_mean = 4;

template <class Entry>
std::int64_t mean(std::span<const Entry> entries) {
  std::int64_t rows = 0;
  for (const Entry& entry : entries) rows += entry.rows;
  return entries.empty() ? 0 : ceil_div(rows, static_cast<std::int64_t>(entries.size()));
}

}  // namespace

PiecePlan make_pieces(std::span<const Sequence> sequences, std::int64_t most_rows, PieceOrder order) {
  PiecePlan plan;
  std::vector<Piece> pieces;
  std::vector<Piece> joins;
  std::vector<Piece> cut;
  pieces.reserve(sequences.size());
  std::int64_t partials = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto [begin, stride, length] = sequences[s];
    const auto sequence = static_cast<std::int64_t>(s);
    const std::int64_t count = std::max<std::int64_t>(ceil_div(length, most_rows), 1);
    if (partials + count > INT32_MAX) fail("portops::Levels: more than ", INT32_MAX, " pieces of long sequences");
    const std::int64_t each = ceil_div(length, count);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = std::min(k * each, length);
      pieces.push_back({.first = begin + at * stride,
                        .stride = stride,
                        .sequence = sequence,
                        .begin = begin,
                        .length = length,
                        .rows = static_cast<std::int32_t>(std::min(each, length - at)),
                        .partial = count == 1 ? -1 : static_cast<std::int32_t>(partials + k)});
    }
    if (count == 1) continue;
    plan.cut_rows += length;
    for (std::int64_t k = 0; k < count; ++k) {
      cut.push_back(pieces[pieces.size() - static_cast<std::size_t>(count - k)]);
      cut.back().partial = static_cast<std::int32_t>(joins.size());
    }
    joins.push_back({.first = partials,
                     .stride = 1,
                     .sequence = sequence,
                     .begin = begin,
                     .length = length,
                     .rows = static_cast<std::int32_t>(count),
                     .partial = -1});
    partials += count;
  }
  if (order == PieceOrder::longest_first) {
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.rows > b.rows; });
  }
  const std::span<const Piece> all(pieces);
  plan.partials = partials;
  plan.mean_rows = mean(all);
  plan.mean_join = mean(std::span<const Piece>(joins));
  if (order == PieceOrder::longest_first) {
    const std::int64_t limit = std::max(least_long_rows, long_times_mean * plan.mean_rows);
    plan.long_pieces =
        std::partition_point(all.begin(), all.end(), [&](const Piece& p) { return p.rows > limit; }) - all.begin();
  }
  const auto long_pieces = static_cast<std::size_t>(plan.long_pieces);
  plan.mean_long_rows = mean(all.first(long_pieces));
  plan.mean_other_rows = mean(all.subspan(long_pieces));
  plan.pieces = Table(std::move(pieces));
  plan.joins = Table(std::move(joins));
  plan.cut = Table(std::move(cut));
  return plan;
}

PiecePlan make_pieces(const std::vector<std::int64_t>& offsets, std::int64_t most_rows, PieceOrder order) {
  std::vector<Sequence> sequences;
  sequences.reserve(offsets.size());
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    sequences.push_back({offsets[i - 1], 1, offsets[i] - offsets[i - 1]});
  }
  return make_pieces(sequences, most_rows, order);
}

MovePlan make_moves(std::span<const Move> moves) {
  std::vector<Move> cut;
  cut.reserve(moves.size());
  for (const Move& move : moves) {
    for (std::int64_t at = 0; at < move.rows; at += most_move_rows) {
      Move next = move;
      next.from += at * move.stride;
      next.to += at;
      next.rows = std::min(most_move_rows, move.rows - at);
      cut.push_back(next);
    }
  }
  MovePlan plan;
  plan.mean_rows = mean(std::span<const Move>(cut));
  plan.moves = Table(std::move(cut));
  return plan;
}

}  // namespace portops::impl
