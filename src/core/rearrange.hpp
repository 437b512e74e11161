// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/launch.hpp"
#include "core/rearrange_blocks.hpp"
#include "core/rearrange_tiles.hpp"
#include "core/rearrangement.hpp"

namespace portops::impl {

/// Enqueues to(b, r, y, x) = from(b, r, y, x) from elements of type From into those of type To, rounded once where the
/// types differ.
template <Backend B, class From, class To>
void rearrange(const Context& ctx, const std::string& label, const Rearrangement& what) {
  if (what.size() == 0) return;
  if constexpr (B == Backend::cuda) {
    using Blocks = RearrangeBlocks<B, From, To>;
    if (Blocks::suits(what)) return launch_by_teams<B>(ctx, label, Blocks(what));
  }
  launch_by_teams<B>(ctx, label, RearrangeTiles<B, From, To>(what));
}

}  // namespace portops::impl
