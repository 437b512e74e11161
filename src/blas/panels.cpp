// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/panels.hpp"

// Compiled once, and with other flags than the files that use it: see CMakeLists.txt.

namespace portops::blas {

namespace {

/// A panel of columns, row by row.
template <class A>
struct PanelRows {
  const A* data;
  const A* operator()(int k) const { return data + k * Blocks<A>::panel_columns; }
  PanelRows from(int k) const { return {(*this)(k)}; }
};

template <class A>
struct RowsAtPlaces {
  const A* data;
  const std::int32_t* place;
  const A* operator()(int k) const { return data + place[k]; }
  RowsAtPlaces from(int k) const { return {data, place + k}; }
};

/// sums = or += the product of so many columns of a and rows of b, rows of sums `stride` apart. The loops over
/// registers have fixed bounds and no other way in or out than whole vectors: so compilers keep them in registers.
template <int rows, int vectors, class A, class B>
inline void multiply_chain(A* sums, std::int64_t stride, const A* a, const B& b, int depth, bool first) {
  using Sizes = Blocks<A>;
  using Vector = typename Sizes::Vector;
  Vector sum[rows][vectors];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) sum[i][j] = Vector{};
  }
  for (int k = 0; k < depth; ++k) {
    const A* const from = b(k);
    Vector x[vectors];
    for (int j = 0; j < vectors; ++j) std::memcpy(&x[j], from + j * Sizes::lanes, sizeof(Vector));
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < vectors; ++j) sum[i][j] += a[i] * x[j];
    }
    a += Sizes::panel_rows;
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) {
      A* to = sums + i * stride + j * Sizes::lanes;
      Vector before{};
      if (!first) std::memcpy(&before, to, sizeof(Vector));
      before += sum[i][j];
      std::memcpy(to, &before, sizeof(Vector));
    }
  }
}

/// The same by chains.
template <int rows, int vectors, class A, class B>
inline void multiply_by_chains(A* sums, std::int64_t stride, const A* a, const B& b, int depth, bool first) {
  using Sizes = Blocks<A>;
  if (depth <= Sizes::chain) return multiply_chain<rows, vectors>(sums, stride, a, b, depth, first);
  alignas(Sizes::vector_bytes) A slice_sums[Sizes::panel_rows * Sizes::panel_columns];
  const int chains = (depth + Sizes::chain - 1) / Sizes::chain, chain = (depth + chains - 1) / chains;
  for (int k = 0; k < depth; k += chain) {
    multiply_chain<rows, vectors>(slice_sums, Sizes::panel_columns, a + k * Sizes::panel_rows, b.from(k),
                                  std::min(depth - k, chain), k == 0);
  }
  for (int i = 0; i < rows; ++i) {
    A* const to = sums + i * stride;
    const A* const from = slice_sums + i * Sizes::panel_columns;
    for (int j = 0; j < vectors * Sizes::lanes; ++j) to[j] = first ? from[j] : to[j] + from[j];
  }
}

/// Some rows fewer than a panel has, where that many are left.
template <int vectors, class A, class B>
inline void multiply_some_rows(A* sums, std::int64_t stride, const A* a, int rows, const B& b, int depth, bool first) {
  constexpr int third = Blocks<A>::panel_rows / 3;
  if (rows > 2 * third) return multiply_by_chains<3 * third, vectors>(sums, stride, a, b, depth, first);
  if (rows > third) return multiply_by_chains<2 * third, vectors>(sums, stride, a, b, depth, first);
  multiply_by_chains<third, vectors>(sums, stride, a, b, depth, first);
}

template <int vectors, class A>
inline void multiply_vectors(A* sums, const A* a, std::int64_t a_stride, const PlacedRows<A>& b, int depth,
                             bool first) {
  using Sizes = Blocks<A>;
  using Vector = typename Sizes::Vector;
  for (int begin = 0; begin < depth; begin += Sizes::chain) {
    Vector sum[vectors];
    for (int j = 0; j < vectors; ++j) sum[j] = Vector{};
    const int end = std::min(begin + Sizes::chain, depth);
    for (int k = begin; k < end; ++k) {
      for (int j = 0; j < vectors; ++j) {
        Vector x, y;
        std::memcpy(&x, a + k * a_stride + j * Sizes::lanes, sizeof(Vector));
        std::memcpy(&y, b.data + b.place[k] + j * Sizes::lanes, sizeof(Vector));
        sum[j] += x * y;
      }
    }
    for (int j = 0; j < vectors; ++j) {
      Vector before{};
      if (!first || begin > 0) std::memcpy(&before, sums + j * Sizes::lanes, sizeof(Vector));
      before += sum[j];
      std::memcpy(sums + j * Sizes::lanes, &before, sizeof(Vector));
    }
  }
}

}  // namespace

template <class A>
void multiply_panels(A* sums, const A* a, const A* b, int depth, bool first) {
  using Sizes = Blocks<A>;
  multiply_by_chains<Sizes::panel_rows, Sizes::vectors>(sums, Sizes::tile_columns, a, PanelRows<A>{b}, depth, first);
}

template <class A>
void multiply_placed(A* sums, std::int64_t stride, const A* a, int rows, const PlacedRows<A>& b, int columns, int depth,
                     bool first) {
  static_assert(Blocks<A>::vectors == 2);
  const RowsAtPlaces<A> at{b.data, b.place};
  if (columns > Blocks<A>::lanes) return multiply_some_rows<2>(sums, stride, a, rows, at, depth, first);
  multiply_some_rows<1>(sums, stride, a, rows, at, depth, first);
}

template <class A>
void multiply_lanes(A* sums, const A* a, std::int64_t a_stride, const PlacedRows<A>& b, int lanes, int depth,
                    bool first) {
  constexpr int vector = Blocks<A>::lanes;
  if (lanes > 3 * vector) return multiply_vectors<4>(sums, a, a_stride, b, depth, first);
  if (lanes > 2 * vector) return multiply_vectors<3>(sums, a, a_stride, b, depth, first);
  if (lanes > vector) return multiply_vectors<2>(sums, a, a_stride, b, depth, first);
  multiply_vectors<1>(sums, a, a_stride, b, depth, first);
}

template void multiply_panels(float* sums, const float* a, const float* b, int depth, bool first);
template void multiply_panels(double* sums, const double* a, const double* b, int depth, bool first);
template void multiply_placed(float* sums, std::int64_t stride, const float* a, int rows, const PlacedRows<float>& b,
                              int columns, int depth, bool first);
template void multiply_placed(double* sums, std::int64_t stride, const double* a, int rows, const PlacedRows<double>& b,
                              int columns, int depth, bool first);
template void multiply_lanes(float* sums, const float* a, std::int64_t a_stride, const PlacedRows<float>& b, int lanes,
                             int depth, bool first);
template void multiply_lanes(double* sums, const double* a, std::int64_t a_stride, const PlacedRows<double>& b,
                             int lanes, int depth, bool first);

}  // namespace portops::blas
