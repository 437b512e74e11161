// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/check/check.hpp"
#include "core/loop/loop.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

#include <span>
#include <string_view>
#include <vector>

// What the optimizers' updates by sparse gradients share: arguments and their checks.

namespace portops::impl {

/// The gradient of a table: values of some of its rows. `count` is given where these are merged.
struct SparseGradient {
  const TensorRef& rows;
  const TensorRef& values;
  const TensorRef& count;
};

/// A tensor of the table's extents that is updated: the table itself, or what an optimizer keeps for it.
struct UpdatedTensor {
  Named before;
  Named after;
};

/// A checked update.
struct SparseUpdate {
  SparseRows sparse;         ///< operands: values, then the tensors after the update
  std::vector<Loop> copies;  ///< of tensors that are not updated in place
};

/// The table is the first of the tensors. Throws Error where the arguments do not fit.
SparseUpdate check_sparse_update(std::string_view op, const Context& ctx, const SparseGradient& gradient,
                                 std::span<const UpdatedTensor> tensors);

/// The bytes of workspace of a checked update.
std::size_t sparse_update_workspace(const Context& ctx, const SparseUpdate& update);

}  // namespace portops::impl
