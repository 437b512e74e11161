// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copies.hpp"
#include "core/copy/rearrange.hpp"
#include "core/copy/zeros.hpp"
#include "core/exec/cuda/kernel_order.hpp"

#include <cstdint>
#include <utility>

namespace portops::impl {

/// Copies and zeros in one kernel of a GPU, which takes little longer than one of them: each has warps of its own.
template <class From, class To>
class CopyTogether {
 public:
  static constexpr int blocks = 0;

  /// Whether there is more than one, and all together cost no more than the launches saved.
  static bool suits(const Copies& copies) {
    constexpr std::int64_t most = std::int64_t{1} << 19;
    std::int64_t cost = Zeros<Backend::cuda>{nullptr, copies.zeros().bytes}.items();
    for (const Rearrangement& what : copies.copies()) {
      if (!RearrangeFew<From, To>::suits(what, most)) return false;
      cost += RearrangeFew<From, To>(what).cost();
    }
    return copies.count() > 1 && cost <= most;
  }

  explicit CopyTogether(const Copies& copies) : CopyTogether(copies, std::make_index_sequence<Copies::most>()) {}

  std::int64_t items() const { return end_[Copies::most]; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    let_next_kernel_start();
    const auto index = static_cast<std::uint32_t>(item);
    // Unrolled, so that the numbers of each are operands of its instructions, as in a kernel of its own.
    PORTOPS_UNROLL
    for (int i = 0; i < Copies::most; ++i) {
      const std::uint32_t begin = i == 0 ? 0 : end_[i - 1];
      if (index >= begin && index - begin < items_[i]) return copy_[i].move(index - begin);
    }
    const std::uint32_t begin = end_[Copies::most - 1];
    if (index >= begin && index - begin < items_[Copies::most]) zeros_(index - begin);
  }

 private:
  template <std::size_t... i>
  CopyTogether(const Copies& copies, std::index_sequence<i...>)
      : copy_{RearrangeFew<From, To>(i < copies.copies().size() ? copies.copies()[i] : Rearrangement{})...},
        zeros_{static_cast<std::byte*>(copies.zeros().data), copies.zeros().bytes} {
    constexpr std::int64_t warp = 32;
    std::int64_t end = 0;
    for (std::size_t k = 0; k <= Copies::most; ++k) {
      const bool is_zeros = k == Copies::most;
      const std::int64_t items = is_zeros ? zeros_.items() : k < copies.copies().size() ? copy_[k].items() : 0;
      end += ceil_div(items, warp) * warp;
      items_[k] = static_cast<std::uint32_t>(items);
      end_[k] = static_cast<std::uint32_t>(end);
    }
  }

  RearrangeFew<From, To> copy_[Copies::most];
  Zeros<Backend::cuda> zeros_;
  // Of each copy and, last, of the zeros: items, and the first one behind its own warps.
  std::uint32_t items_[Copies::most + 1], end_[Copies::most + 1];
};

/// Enqueues the copies, from elements of type From into those of type To, each rounded once where the types differ, and
/// the zeros.
template <Backend B, class From, class To>
void copy_together(const Context& ctx, const std::string& label, const Copies& copies) {
  if constexpr (B == Backend::cuda) {
    using Together = CopyTogether<From, To>;
    if (Together::suits(copies)) return launch_by_items<B>(ctx, label, Together(copies));
  }
  for (const Rearrangement& what : copies.copies()) rearrange<B, From, To>(ctx, label, what);
  if (copies.zeros().bytes > 0) zero<B>(ctx, label, copies.zeros().data, copies.zeros().bytes);
}

}  // namespace portops::impl
