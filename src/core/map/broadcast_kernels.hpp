// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "core/map/map_labels.hpp"

namespace portops::impl {

/// out = value, which is broadcast to it, on one backend for one element type.
template <Backend B, class T>
struct BroadcastKernels {
  /// Operands: value → out.
  static void copy(const Context& ctx, const MapLabels& labels, const Loop& loop);
};

}  // namespace portops::impl
