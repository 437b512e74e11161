// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/device_copies.hpp"

#include <cstdint>
#include <span>
#include <vector>

// What kernels over ragged tensors are cut into. Work is cut by rows, not by sequences: a sequence of a million rows
// among short ones is as many pieces as its rows need. All is worked out on the host, which knows the offsets.

namespace portops::impl {

/// Rows of one sequence that are taken together. Aligned for a GPU's widest access.
struct alignas(16) Piece {
  std::int64_t first;     ///< row
  std::int64_t stride;    ///< from one row to the next
  std::int64_t sequence;  ///< the sequence's row in a tensor with one row a sequence
  std::int64_t begin;     ///< the sequence's first row
  std::int64_t length;    ///< the sequence's rows
  std::int32_t rows;
  std::int32_t partial;  ///< its row among partial results; −1 where it is the whole sequence
};

/// A sequence as it lies in a tensor of rows.
struct Sequence {
  std::int64_t begin;
  std::int64_t stride;
  std::int64_t length;
};

/// All sequences in pieces, every row in one of them; a sequence without rows is a piece without rows.
struct PiecePlan {
  Table<Piece> pieces;
  Table<Piece> joins;  ///< of the sequences that are several pieces: their rows among the partial results
  Table<Piece> cut;    ///< their pieces; `partial` is the number of the sequence among the joins
  std::int64_t cut_rows = 0;
  std::int64_t partials = 0;
  std::int64_t mean_rows = 0;  ///< of a piece, rounded up
  std::int64_t mean_join = 0;
  /// Where the longest pieces come first: those that are much longer than the mean, and the mean rows of both kinds.
  std::int64_t long_pieces = 0;
  std::int64_t mean_long_rows = 0;
  std::int64_t mean_other_rows = 0;

  bool is_in_graph() const { return pieces.is_in_graph(); }
};

/// The order in which pieces are taken. The longest first: then the last ones to be done are short.
enum class PieceOrder : std::uint8_t { as_they_lie, longest_first };

PiecePlan make_pieces(std::span<const Sequence> sequences, std::int64_t most_rows, PieceOrder order);
/// The same for sequences that lie one behind the other.
PiecePlan make_pieces(const std::vector<std::int64_t>& offsets, std::int64_t most_rows, PieceOrder order);

/// Rows that are copied, or filled, together. A row of a tensor has two numbers where rows are two axes: [outer, row].
struct alignas(16) Move {
  std::int64_t from_outer;  ///< −1: the rows are filled
  std::int64_t from;
  std::int64_t to_outer;
  std::int64_t to;
  std::int64_t stride;  ///< of the rows that are copied: 1 or −1
  std::int64_t rows;
};

struct MovePlan {
  Table<Move> moves;
  std::int64_t mean_rows = 0;  ///< of a move, rounded up

  bool is_in_graph() const { return moves.is_in_graph(); }
};

/// Cuts long moves; drops those without rows.
MovePlan make_moves(std::span<const Move> moves);

}  // namespace portops::impl
