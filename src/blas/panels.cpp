// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/panels.hpp"

// Compiled once, and with other flags than the files that use it: see CMakeLists.txt.

namespace portops::blas {

namespace {

/// sums = or += the product of so many columns of a and rows of b, rows of sums `stride` apart. The loops over
/// registers have fixed bounds and no other way in or out than whole vectors: so compilers keep them in registers.
template <class A>
inline void multiply_chain(A* sums, int stride, const A* a, const A* b, int depth, bool first) {
  using Sizes = Blocks<A>;
  using Vector = typename Sizes::Vector;
  Vector sum[Sizes::panel_rows][Sizes::vectors];
  for (int i = 0; i < Sizes::panel_rows; ++i) {
    for (int j = 0; j < Sizes::vectors; ++j) sum[i][j] = Vector{};
  }
  for (int k = 0; k < depth; ++k) {
    Vector x[Sizes::vectors];
    for (int j = 0; j < Sizes::vectors; ++j) std::memcpy(&x[j], b + j * Sizes::lanes, sizeof(Vector));
    for (int i = 0; i < Sizes::panel_rows; ++i) {
      for (int j = 0; j < Sizes::vectors; ++j) sum[i][j] += a[i] * x[j];
    }
    a += Sizes::panel_rows;
    b += Sizes::panel_columns;
  }
  for (int i = 0; i < Sizes::panel_rows; ++i) {
    for (int j = 0; j < Sizes::vectors; ++j) {
      A* to = sums + i * stride + j * Sizes::lanes;
      Vector before{};
      if (!first) std::memcpy(&before, to, sizeof(Vector));
      before += sum[i][j];
      std::memcpy(to, &before, sizeof(Vector));
    }
  }
}

}  // namespace

template <class A>
void multiply_panels(A* sums, const A* a, const A* b, int depth, bool first) {
  using Sizes = Blocks<A>;
  if (depth <= Sizes::chain) return multiply_chain(sums, Sizes::tile_columns, a, b, depth, first);
  alignas(Sizes::vector_bytes) A slice_sums[Sizes::panel_rows * Sizes::panel_columns];
  for (int k = 0; k < depth; k += Sizes::chain) {
    multiply_chain(slice_sums, Sizes::panel_columns, a + k * Sizes::panel_rows, b + k * Sizes::panel_columns,
                   std::min(depth - k, Sizes::chain), k == 0);
  }
  for (int i = 0; i < Sizes::panel_rows; ++i) {
    A* const to = sums + i * Sizes::tile_columns;
    const A* const from = slice_sums + i * Sizes::panel_columns;
    for (int j = 0; j < Sizes::panel_columns; ++j) to[j] = first ? from[j] : to[j] + from[j];
  }
}

template void multiply_panels(float* sums, const float* a, const float* b, int depth, bool first);
template void multiply_panels(double* sums, const double* a, const double* b, int depth, bool first);

}  // namespace portops::blas
