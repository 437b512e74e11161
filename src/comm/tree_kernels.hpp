// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

#include <cstdint>

namespace portops::impl {

/// The nodes that the processes have of one stretch of elements, and what they are added up to.
struct TreeNodes {
  const void* nodes;  ///< node n of process p, `count` elements, begins at element (n · size + p) · count
  void* out;          ///< `count` elements; may be those of the first node
  std::int64_t count;
  std::int64_t items;  ///< of the tree
  int size;            ///< processes, each with its share_of(items)
  double factor;       ///< out is the sum times this
};

/// The launches of sums over processes on one backend for one element type. Defined in tree_kernels_impl.hpp and
/// compiled once for each pair.
template <Backend B, class T>
struct TreeKernels {
  /// Every node is rounded to T.
  static void add(const Context& ctx, const TreeNodes& nodes);
  /// x[i] is multiplied by the factor, for i < count.
  static void scale(const Context& ctx, T* x, std::int64_t count, double factor);
  /// out[i] = 0, for i < count.
  static void clear(const Context& ctx, T* out, std::int64_t count);
  /// As MarkRefused says, whatever T is.
  static void mark_refused(const Context& ctx, const std::int64_t* count, std::int64_t* last_row);
};

}  // namespace portops::impl
