// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"
#include "core/loop/loop.hpp"
#include "core/map/map_labels.hpp"

namespace portops::impl {

/// The launches of full_like on one backend for one element type.
template <Backend B, class T>
struct FullLikeKernels {
  /// Operands: any number → out, which is `fill_value`, rounded.
  static void fill_rounded(const Context& ctx, const MapLabels& labels, const Loop& loop, const float* fill_value);
};

}  // namespace portops::impl
