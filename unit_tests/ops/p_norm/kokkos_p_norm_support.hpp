// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/kokkos_support.hpp"

#include <portops/ops/p_norm.hpp>

#include <limits>
#include <vector>

// What the tests of p_norm on Views share.

namespace portops::test {

using Host = Kokkos::HostSpace;

inline constexpr double inf = std::numeric_limits<double>::infinity();

inline PNormParams along(std::int64_t axis, double porder) {
  PNormParams params;
  params.porder = porder;
  params.axis.assign(1, axis);
  return params;
}

inline PNormParams along_all(double porder) {
  PNormParams params;
  params.porder = porder;
  params.asvector = true;
  return params;
}

/// A number for each element, in the order of memory.
template <class View>
void fill(const View& view, int salt) {
  const auto values = Kokkos::create_mirror(Host(), view);
  for (std::size_t i = 0; i < values.span(); ++i) values.data()[i] = pattern(static_cast<std::int64_t>(i), salt);
  Kokkos::deep_copy(view, values);
}

template <class View>
auto on_host(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Host(), view);
}

/// Adds the elements of a View to others.
template <class View>
void append(std::vector<float>& values, const View& view) {
  const auto host = on_host(view);
  values.insert(values.end(), host.data(), host.data() + host.span());
}

inline double sign_of(double x) { return x < 0.0 ? -1.0 : x > 0.0 ? 1.0 : 0.0; }

}  // namespace portops::test
