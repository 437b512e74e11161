// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/types/levels.hpp"
#include "ops/sequence/pieces.hpp"
#include "ops/sequence/step_layout.hpp"

#include <functional>
#include <string_view>

// Plans that are worked out from levels once and kept with them. What makes one names it: no two plans have one number.

namespace portops::impl {

enum class PlanKind : std::int64_t {
  joined,
  spread,
  first_rows,
  last_rows,
  expand,
  expand_grad,
  reverse,
  pad,
  unpad,
  lengths,
  concat
};

/// The sequences of a level in pieces that suit kernels that join their rows.
std::shared_ptr<const PiecePlan> joined_pieces(const Levels& levels, const StepColumns& columns, int level = -1);
/// The same for kernels that only write them.
std::shared_ptr<const PiecePlan> spread_pieces(const Levels& levels, const StepColumns& columns, int level = -1);

/// Moves that `make` gives, kept with the levels under a kind and the numbers that it depends on besides.
std::shared_ptr<const MovePlan> moves_of(const Levels& levels, PlanKind kind, std::vector<std::int64_t> numbers,
                                         const std::function<std::vector<Move>()>& make);

/// Enqueues the moves of a plan, and nothing where it has none.
void enqueue_moves(const Context& ctx, const char* op, const MovePlan& plan, const StepTensor& from,
                   const StepTensor& to, double fill = 0.0);

/// The extents with axis 0 replaced.
Extents with_rows(const Extents& extents, std::int64_t rows);

}  // namespace portops::impl
