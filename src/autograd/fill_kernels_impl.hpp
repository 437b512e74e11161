// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/fill_kernels.hpp"
#include "core/exec/launch.hpp"

namespace portops::impl {

template <class T>
struct Fill {
  T* out;
  T number;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { out[i] = number; }
};

// Seeds of one element, and zeros for parts of a list that nobody used: nothing that is worth packs.
template <Backend B, class T>
void FillKernels<B, T>::fill(const Context& ctx, T* out, std::int64_t count, T number) {
  static const std::string label = "portops::autograd::fill";
  launch_items<B, 0>(ctx, label, Fill<T>{out, number}, count);
}

}  // namespace portops::impl
