// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "ops/sparse_rows/sparse_rows.hpp"

#include <span>
#include <string_view>
#include <vector>

// What the optimizers' updates by sparse gradients share.

namespace portops::impl {

/// The gradient of a table: values of some of its rows. `count` is given where these are merged.
struct SparseGradient {
  const TensorRef& rows;
  const TensorRef& values;
  const TensorRef& count;
};

/// A tensor of the table's extents that is updated: the table itself, or what an optimizer keeps for it.
struct UpdatedTensor {
  const TensorRef& before;
  const TensorRef& after;
};

/// A checked update.
struct SparseUpdate {
  SparseRows sparse;          ///< operands: values, then the tensors after the update
  std::vector<Loop> copies;   ///< of tensors that are not updated in place
  bool in_any_order = false;  ///< whether rows are added by AddRows, which needs no memory
};

/// Of a call that is as the schema says. The table, called param, is the first of the tensors. Throws Error where the
/// gradient does not fit it.
SparseUpdate make_sparse_update(std::string_view op, const Context& ctx, const SparseGradient& gradient,
                                std::span<const UpdatedTensor> tensors);

/// The bytes of workspace of a checked update.
std::size_t sparse_update_workspace(const Context& ctx, const SparseUpdate& update);

}  // namespace portops::impl
