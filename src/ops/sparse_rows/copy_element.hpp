// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// out = in, for core/map.
struct CopyElement {
  static constexpr int inputs = 1;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;

  template <class A>
  KOKKOS_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0];
  }
};

}  // namespace portops::impl
