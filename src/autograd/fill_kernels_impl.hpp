// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/fill_kernels.hpp"
#include "autograd/mark_refused.hpp"
#include "core/exec/launch.hpp"

namespace portops::impl {

template <class T>
struct Fill {
  T* out;
  T number;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out[i] = number; }
};

struct LimitRows {
  std::int64_t* rows;
  std::int64_t most;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (rows[i] > most) rows[i] = most;
  }
};

// Seeds of one element, and zeros for parts of a list that nobody used: nothing that is worth packs.
template <Backend B, class T>
void FillKernels<B, T>::fill(const Context& ctx, T* out, std::int64_t count, T number) {
  static const std::string label = "portops::autograd::fill[items]";
  launch_items<B, 0>(ctx, label, Fill<T>{out, number}, count);
}

template <Backend B, class T>
void FillKernels<B, T>::limit_rows(const Context& ctx, std::int64_t* rows, std::int64_t count, std::int64_t most) {
  static const std::string label = "portops::autograd::limit_rows[items]";
  launch_items<B, 0>(ctx, label, LimitRows{rows, most}, count);
}

template <Backend B, class T>
void FillKernels<B, T>::mark_refused(const Context& ctx, const std::int64_t* count, std::int64_t* last_row) {
  static const std::string label = "portops::autograd::mark_refused[items]";
  impl::mark_refused<B>(ctx, label, count, last_row);
}

}  // namespace portops::impl
