// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/mark_refused.hpp"
#include "comm/share.hpp"
#include "comm/tree.hpp"
#include "comm/tree_kernels.hpp"
#include "core/exec/launch.hpp"
#include "core/lanes/pack.hpp"

namespace portops::impl {

template <class T>
struct AddTree {
  const T* nodes;
  T* out;
  std::int64_t count;
  std::int64_t items;
  int size;
  Arithmetic<T> factor;

  KOKKOS_FUNCTION static T sum(T a, T b) {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) + static_cast<Arithmetic<T>>(b));
  }

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    T waiting[most_tree_levels];  // of each level the node whose other half is still to come
    for (int process = 0; process < size; ++process) {
      const comm::Range share = comm::share_of(items, process, size);
      const T* node = nodes + process * count + i;
      for (std::int64_t at = share.first, end = at + share.count; at < end; node += size * count) {
        int level = tree_level(at, end);
        const std::int64_t next = at + (std::int64_t{1} << level);
        T total = *node;
        for (; ((at >> level) & 1) != 0; ++level) total = sum(waiting[level], total);
        waiting[level] = total;
        at = next;
      }
    }
    int level = 0;
    while (((items >> level) & 1) == 0) ++level;
    T total = waiting[level];
    for (++level; items >> level != 0; ++level) {
      if (((items >> level) & 1) != 0) total = sum(waiting[level], total);
    }
    out[i] = factor == 1 ? total : static_cast<T>(static_cast<Arithmetic<T>>(total) * factor);
  }
};

template <class T>
struct ScaleElements {
  T* x;
  Arithmetic<T> factor;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(static_cast<Arithmetic<T>>(x[i]) * factor);
  }
};

template <class T>
struct ClearElements {
  T* out;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out[i] = static_cast<T>(0.0F); }
};

// Bound by what comes over the wire, not by memory: nothing that is worth packs.
template <Backend B, class T>
void TreeKernels<B, T>::add(const Context& ctx, const TreeNodes& its) {
  static const std::string label = "portops::comm::all_reduce[tree]";
  launch_items<B, 0>(ctx, label,
                     AddTree<T>{static_cast<const T*>(its.nodes), static_cast<T*>(its.out), its.count, its.items,
                                its.size, static_cast<Arithmetic<T>>(its.factor)},
                     its.count);
}

template <Backend B, class T>
void TreeKernels<B, T>::scale(const Context& ctx, T* x, std::int64_t count, double factor) {
  static const std::string label = "portops::comm::all_reduce[scale]";
  launch_items<B, 0>(ctx, label, ScaleElements<T>{x, static_cast<Arithmetic<T>>(factor)}, count);
}

template <Backend B, class T>
void TreeKernels<B, T>::clear(const Context& ctx, T* out, std::int64_t count) {
  static const std::string label = "portops::comm::GradientSum[zeros]";
  launch_items<B, 0>(ctx, label, ClearElements<T>{out}, count);
}

template <Backend B, class T>
void TreeKernels<B, T>::mark_refused(const Context& ctx, const std::int64_t* count, std::int64_t* last_row) {
  static const std::string label = "portops::comm::GradientSum[refused]";
  impl::mark_refused<B>(ctx, label, count, last_row);
}

}  // namespace portops::impl
