// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/rearrange_blocks.hpp"
#include "core/copy/rearrange_few.hpp"
#include "core/copy/rearrange_few_host.hpp"
#include "core/copy/rearrange_host.hpp"
#include "core/copy/rearrange_lines.hpp"
#include "core/copy/rearrange_run.hpp"
#include "core/copy/rearrange_short_rows.hpp"
#include "core/copy/rearrange_tiles.hpp"
#include "core/copy/rearrangement.hpp"
#include "core/exec/launch.hpp"

namespace portops::impl {

/// The unsigned integer of an element's size.
template <class T>
using WordOf =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

/// Enqueues to(b, r, y, x) = from(b, r, y, x) from elements of type From into those of type To, rounded once where the
/// types differ.
template <Backend B, class From, class To>
void rearrange(const Context& ctx, const std::string& label, const Rearrangement& what) {
  if (what.size() == 0) return;
  if constexpr (B == Backend::cuda) {
    if (RearrangeFew<From, To>::suits(what)) return launch_by_items<B>(ctx, label, RearrangeFew<From, To>(what));
    if constexpr (!std::is_same_v<From, To>) {
      using Run = RearrangeRun<From, To>;
      if (Run::suits(what)) return launch_by_items<B>(ctx, label, Run(what));
    }
    constexpr bool are_halves = sizeof(From) == 2 && sizeof(To) == 2;
    constexpr int side = are_halves ? 8 : 4;  // 16 bytes where both types allow it
    using Blocks = RearrangeBlocks<B, From, To, side, side>;
    if (Blocks::suits(what)) return launch_by_teams<B>(ctx, label, Blocks(what));
    if constexpr (are_halves) {
      using NarrowBlocks = RearrangeBlocks<B, From, To, 2, side>;
      if (NarrowBlocks::suits(what)) return launch_by_teams<B>(ctx, label, NarrowBlocks(what));
    }
    using ShortRows = RearrangeShortRows<B, From, To>;
    if (ShortRows::suits(what)) return launch_by_teams<B>(ctx, label, ShortRows(what));
    using Lines = RearrangeLines<From, To>;
    if (Lines::suits(what)) return launch_by_teams<B>(ctx, label, Lines(what));
  } else if constexpr (std::is_same_v<From, To>) {
    using Few = RearrangeFewHost<WordOf<To>>;
    if (Few::suits(what)) return launch_by_items<B>(ctx, label, Few(what));
    using Host = RearrangeHost<WordOf<To>>;
    if (Host::suits(what)) return launch_by_items<B>(ctx, label, Host(what));
  }
  launch_by_teams<B>(ctx, label, RearrangeTiles<B, From, To>(what));
}

}  // namespace portops::impl
