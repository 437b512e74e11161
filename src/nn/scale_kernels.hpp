// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/context.hpp"

#include <cstdint>
#include <type_traits>

namespace portops::impl {

/// The type of sums.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// How a scale of the loss follows what the gradients came to. All lies in the backend's memory.
struct ScaleUpdate {
  const std::int64_t* counts;  ///< of Infs and NaNs, of lists of gradients
  int lists;
  float* scale;
  float* grad_scale;         ///< out: the scale that the gradients have
  std::int64_t* skip;        ///< out: the sum of counts
  std::int64_t* good_steps;  ///< since the scale was changed
  float growth_factor;
  float backoff_factor;
  std::int64_t growth_interval;
  float largest;
};

/// The launches of an optimizer beside the operators' on one backend for one element type. Defined in
/// scale_kernels_impl.hpp and compiled once for each pair.
template <Backend B, class T>
struct ScaleKernels {
  static void set(const Context& ctx, SumOf<T>* out, SumOf<T> number);
  /// out[i] = scale, for i < count.
  static void spread(const Context& ctx, const float* scale, T* out, std::int64_t count);
  /// Whatever T is.
  static void follow(const Context& ctx, const ScaleUpdate& update);
};

}  // namespace portops::impl
