// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/exec/memory_layout.hpp"
#include "ops/sequence/pieces.hpp"
#include "ops/sequence/step_layout.hpp"

#include <string>

// The kernels that the operators on ragged tensors share.

namespace portops::impl {

/// What a value that belongs to a whole sequence is divided by.
enum class StepScale : std::uint8_t { none, length, sqrt_length };

/// One row from the rows of each sequence.
struct StepPool {
  const PiecePlan& plan;
  const StepColumns& columns;
  StepStrides x;
  StepStrides out;
  StepStrides index;  ///< std::int64_t; without data where it is not wanted
  StepScale scale = StepScale::none;
  double pad_value = 0.0;  ///< the result of a sequence without rows; its index is −1
};

/// The temporary memory of a pool: the partial results of long sequences.
struct StepPartials {
  std::size_t index_at = 0;  ///< bytes from the results to their indices
  std::size_t bytes = 0;
};

inline StepPartials step_partials(const StepPool& pool, ElementType type) {
  const std::int64_t count = pool.plan.partials * pool.columns.columns;
  MemoryLayout layout;
  layout.add_bytes(static_cast<std::size_t>(count) * (type == ElementType::f64 ? 8 : 4));
  const std::size_t index_at = layout.add<std::int64_t>(pool.index.data != nullptr ? count : 0);
  return {index_at, layout.bytes()};
}

/// Its bytes.
inline std::size_t step_pool_workspace(const StepPool& pool, ElementType type) {
  return step_partials(pool, type).bytes;
}

/// Which rows of a sequence get its value; the others get 0.
enum class StepChoice : std::uint8_t { all, first, last, index };

/// To the rows of each sequence from one row.
struct StepSpread {
  const PiecePlan& plan;
  const StepColumns& columns;
  StepStrides from;
  StepStrides index;  ///< std::int64_t; read for StepChoice::index
  StepStrides to;
  StepScale scale = StepScale::none;
  StepChoice choice = StepChoice::all;
};

/// Rows from other rows, or from a number.
struct StepMove {
  const MovePlan& plan;
  const StepColumns& columns;
  StepStrides from;
  StepStrides to;
  double fill = 0.0;
};

/// Their launches on one backend for one element type. `op` is an operator's name, for the labels.
template <Backend B, class T>
struct StepKernels {
  static void sum(const Context& ctx, const std::string& op, const StepPool& pool);
  /// The first of the largest; a NaN counts as larger than everything.
  static void max(const Context& ctx, const std::string& op, const StepPool& pool);
  static void spread(const Context& ctx, const std::string& op, const StepSpread& spread);
  static void move(const Context& ctx, const std::string& op, const StepMove& move);
  /// Numbers to a tensor of one axis of std::int64_t.
  static void write(const Context& ctx, const std::string& op, const Table<std::int64_t>& numbers,
                    const StepStrides& to);
};

}  // namespace portops::impl
