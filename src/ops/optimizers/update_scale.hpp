// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"
#include "core/types/macros.hpp"
#include "ops/optimizers/optimizer_kernels.hpp"

#include <Kokkos_Core.hpp>

namespace portops::impl {

/// The one item of update_loss_scale.
template <class T>
class UpdateScale {
 public:
  static constexpr int blocks = 0;

  explicit UpdateScale(const ScaleUpdate& its)
      : its_(its),
        growth_factor_(static_cast<A>(its.growth_factor)),
        backoff_factor_(static_cast<A>(its.backoff_factor)),
        largest_(static_cast<A>(its.largest)) {}

  static std::int64_t items() { return 1; }
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    std::int64_t bad = 0;
    PORTOPS_NO_UNROLL
    for (int i = 0; i < its_.lists; ++i) bad += *its_.nonfinite[i];
    // Outputs may be where the inputs are: these are read before.
    const T unrounded = *static_cast<const T*>(its_.scale);
    const A scale = static_cast<A>(unrounded);
    const std::int64_t good_steps = *its_.good_steps + 1;
    if (its_.grad_scale != nullptr) *static_cast<T*>(its_.grad_scale) = unrounded;
    if (its_.skip != nullptr) *its_.skip = bad;
    const bool grows = good_steps >= its_.growth_interval;
    *its_.good_steps_out = bad != 0 || grows ? 0 : good_steps;
    *static_cast<T*>(its_.scale_out) = bad != 0 ? static_cast<T>(backed_off(scale))
                                       : grows  ? static_cast<T>(grown(scale))
                                                : unrounded;
  }

 private:
  using A = Arithmetic<T>;

  /// Smaller ones are lost in f16, and gradients that are Inf or NaN with this one always are.
  KOKKOS_FORCEINLINE_FUNCTION A backed_off(A scale) const {
    constexpr A least = 0x1p-24F;
    const A next = scale * backoff_factor_;
    return next > least ? next : least;
  }
  KOKKOS_FORCEINLINE_FUNCTION A grown(A scale) const {
    const A next = scale * growth_factor_;
    return next < largest_ ? next : largest_;
  }

  ScaleUpdate its_;
  A growth_factor_, backoff_factor_, largest_;
};

}  // namespace portops::impl
