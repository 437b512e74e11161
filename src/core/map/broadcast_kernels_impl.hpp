// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/map/broadcast_kernels.hpp"
#include "core/map/map.hpp"

#include <array>

namespace portops::impl {

struct Broadcast {
  static constexpr int inputs = 1;
  static constexpr int outputs = 1;
  static constexpr bool sums = false;
  /// Of a number for each channel of planes a walk stores one pack again and again.
  static constexpr std::array inputs_in_packs{InputSet{}, InputSet{0}};

  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const A (&in)[inputs], A (&out)[outputs]) const {
    out[0] = in[0];
  }
};

template <Backend B, class T>
void BroadcastKernels<B, T>::copy(const Context& ctx, const MapLabels& labels, const Loop& loop) {
  map<B, T>(ctx, labels, Broadcast(), loop);
}

}  // namespace portops::impl
