// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas/panels.hpp"

#include <type_traits>
#include <utility>

// Compiled once, and with other flags than the files that use it: see CMakeLists.txt.

namespace portops::blas {

namespace {

/// Calls action(0), action(1), …, without a loop: what a loop runs over lies in memory for some compilers, where
/// registers would do.
template <int count, class Action>
inline void for_all(const Action& action) {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (action(std::integral_constant<int, i>()), ...);
  }(std::make_integer_sequence<int, count>());
}

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

/// sums = or += the product of so many columns of a and rows of b, rows of sums `stride` apart. Sums go
/// in and out as whole vectors alone, so that compilers keep them in registers.
template <int rows, int vectors, class A, class B>
inline void multiply_chain(A* sums, std::int64_t stride, const A* a, const B& b, int depth, bool first) {
  using Sizes = Blocks<A>;
  using Vector = typename Sizes::Vector;
  Vector sum[rows][vectors];
  const auto for_sums = [](const auto& action) {
    for_all<rows>([&](auto i) { for_all<vectors>([&](auto j) { action(i, j); }); });
  };
  const Vector zeros{};  // not in the lambda: nvcc takes that for one of a GPU's, and fails at the constant
  for_sums([&](auto i, auto j) { sum[i][j] = zeros; });
  for (int k = 0; k < depth; ++k, a += Sizes::panel_rows) {
    const A* const from = b(k);
    Vector x[vectors];
    for_all<vectors>([&](auto j) { std::memcpy(&x[j], from + j * Sizes::lanes, sizeof(Vector)); });
    for_sums([&](auto i, auto j) { sum[i][j] += a[i] * x[j]; });
  }
  if (!first) {
    for_sums([&](auto i, auto j) {
      Vector before;
      std::memcpy(&before, sums + i * stride + j * Sizes::lanes, sizeof(Vector));
      sum[i][j] += before;
    });
  }
  for_sums([&](auto i, auto j) { std::memcpy(sums + i * stride + j * Sizes::lanes, &sum[i][j], sizeof(Vector)); });
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

/// As multiply_points of so many points, from number `begin` on, in one chain from element k on. Of `ahead`, a vector
/// of each row of a panel is asked for.
template <int points, int vectors, class A>
inline void multiply_point_chain(A* sums, std::int64_t stride, const Points<A>& all, int begin, const A* panel,
                                 const A* ahead, int k, int end, bool first) {
  using Sizes = Blocks<A>;
  using Vector = typename Sizes::Vector;
  const A* x[points];
  A* to[points];
  Vector sum[points][vectors];
  const auto for_sums = [](const auto& action) {
    for_all<points>([&](auto p) { for_all<vectors>([&](auto j) { action(p, j); }); });
  };
  for_all<points>([&](auto p) { x[p] = all.data + all.point[begin + p]; });
  const Vector zeros{};
  for_sums([&](auto p, auto j) { sum[p][j] = zeros; });
  for (; k < end; ++k) {
    const std::int64_t at = all.place[k];
    const std::int64_t row_place = std::int64_t{all.row[k]} * (vectors * Sizes::lanes);
    const A* const row = panel + row_place;
    __builtin_prefetch(ahead + row_place, 0, 2);
    Vector weight[vectors];
    for_all<vectors>([&](auto j) { std::memcpy(&weight[j], row + j * Sizes::lanes, sizeof(Vector)); });
    for_sums([&](auto p, auto j) { sum[p][j] += x[p][at] * weight[j]; });
  }
  for_all<points>([&](auto p) { to[p] = sums + all.sum[begin + p] * stride; });
  if (!first) {
    for_sums([&](auto p, auto j) {
      Vector before;
      std::memcpy(&before, to[p] + j * Sizes::lanes, sizeof(Vector));
      sum[p][j] += before;
    });
  }
  for_sums([&](auto p, auto j) { std::memcpy(to[p] + j * Sizes::lanes, &sum[p][j], sizeof(Vector)); });
}

/// The same, with as many points as there are.
template <int points, int vectors, class A>
inline void multiply_some_points(A* sums, std::int64_t stride, const Points<A>& all, int begin, int count,
                                 const A* panel, const A* ahead, int k, int end, bool first) {
  if constexpr (points > 1) {
    if (count < points) {
      return multiply_some_points<points - 1, vectors>(sums, stride, all, begin, count, panel, ahead, k, end, first);
    }
  }
  multiply_point_chain<points, vectors>(sums, stride, all, begin, panel, ahead, k, end, first);
}

/// multiply_points with as many vectors as there are.
template <int vectors, class A>
inline void multiply_point_vectors(A* sums, std::int64_t stride, const Points<A>& points, const VectorPanel<A>& panel,
                                   int depth, bool first) {
  using Sizes = Blocks<A>;
  if constexpr (vectors > 1) {
    if (panel.vectors < vectors) {
      return multiply_point_vectors<vectors - 1>(sums, stride, points, panel, depth, first);
    }
  }
  const int chains = (depth + Sizes::chain - 1) / Sizes::chain, chain = (depth + chains - 1) / chains;
  const int blocks = (points.count + Sizes::points - 1) / Sizes::points;
  for (int k = 0; k < depth; k += chain) {
    for (int block = 0; block < blocks; ++block) {
      // As even as they can be: few sums would wait for each other.
      const int begin = block * points.count / blocks, end = (block + 1) * points.count / blocks;
      // While these are multiplied, the next panel is on its way into the second-level cache.
      const bool asks = panel.next != nullptr && block < vectors;
      const A* const ahead = asks ? panel.next + block * Sizes::lanes : panel.data;
      multiply_some_points<Sizes::points, vectors>(sums, stride, points, begin, end - begin, panel.data, ahead, k,
                                                   std::min(depth, k + chain), first && k == 0);
    }
  }
}

/// The sums of so many points of as many vectors each.
template <int vectors, int points, class A>
inline void multiply_lane_vectors(A* sums, std::int64_t sums_stride, const LaneRows<A>& rows, const PlacedRows<A>& at,
                                  std::int64_t step, int depth, const A* start) {
  using Sizes = Blocks<A>;
  using Vector = typename Sizes::Vector;
  const auto for_sums = [](const auto& action) {
    for_all<points>([&](auto p) { for_all<vectors>([&](auto j) { action(p, j); }); });
  };
  for (int begin = 0; begin < depth; begin += Sizes::chain) {
    const bool starts = start != nullptr && begin == 0;
    Vector sum[points][vectors], before[vectors] = {};
    if (starts) for_all<vectors>([&](auto j) { std::memcpy(&before[j], start + j * Sizes::lanes, sizeof(Vector)); });
    for_sums([&](auto p, auto j) { sum[p][j] = before[j]; });
    const int end = std::min(begin + Sizes::chain, depth);
    for (int k = begin; k < end; ++k) {
      Vector row[vectors];
      for_all<vectors>(
          [&](auto j) { std::memcpy(&row[j], rows.data + k * rows.stride + j * Sizes::lanes, sizeof(Vector)); });
      const A* const from = at.data + at.place[k];
      for_sums([&](auto p, auto j) {
        Vector point;
        std::memcpy(&point, from + p * step + j * Sizes::lanes, sizeof(Vector));
        sum[p][j] += row[j] * point;
      });
    }
    // What is written behind the lanes of a point is overwritten by the next one.
    if (!starts) {
      for_sums([&](auto p, auto j) {
        Vector own;
        std::memcpy(&own, sums + p * sums_stride + j * Sizes::lanes, sizeof(Vector));
        sum[p][j] += own;
      });
    }
    for_sums(
        [&](auto p, auto j) { std::memcpy(sums + p * sums_stride + j * Sizes::lanes, &sum[p][j], sizeof(Vector)); });
  }
}

/// The same of any number of points, so many at once.
template <int vectors, int points, class A>
inline void multiply_lane_points(A* sums, std::int64_t sums_stride, const LaneRows<A>& rows, LanePoints<A> of,
                                 int depth, const A* start) {
  for (; of.count >= points; of.count -= points) {
    multiply_lane_vectors<vectors, points>(sums, sums_stride, rows, of.first, of.step, depth, start);
    sums += points * sums_stride;
    of.first.data += points * of.step;
  }
  if constexpr (points > 1) multiply_lane_points<vectors, points - 1>(sums, sums_stride, rows, of, depth, start);
}

}  // namespace

template <class A>
void multiply_panels(A* sums, const A* a, int rows, const A* b, int depth, bool first) {
  using Sizes = Blocks<A>;
  multiply_some_rows<Sizes::vectors>(sums, Sizes::tile_columns, a, rows, PanelRows<A>{b}, depth, first);
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
void multiply_points(A* sums, std::int64_t stride, const Points<A>& points, const VectorPanel<A>& panel, int depth,
                     bool first) {
  multiply_point_vectors<Blocks<A>::point_vectors>(sums, stride, points, panel, depth, first);
}

template <class A>
void multiply_lanes(A* sums, std::int64_t sums_stride, const LaneRows<A>& rows, const LanePoints<A>& points, int lanes,
                    int depth, const A* start) {
  // As many sums at once as registers hold beside a vector of each row.
#if defined(__AVX512F__)
  constexpr int most = 16;
#else
  constexpr int most = 8;
#endif
  constexpr int vector = Blocks<A>::lanes;
  const auto multiply = [&]<int vectors>() {
    multiply_lane_points<vectors, most / (vectors == 1 ? 2 : vectors)>(sums, sums_stride, rows, points, depth, start);
  };
  if (lanes > 3 * vector) return multiply.template operator()<4>();
  if (lanes > 2 * vector) return multiply.template operator()<3>();
  if (lanes > vector) return multiply.template operator()<2>();
  multiply.template operator()<1>();
}

template void multiply_panels(float* sums, const float* a, int rows, const float* b, int depth, bool first);
template void multiply_panels(double* sums, const double* a, int rows, const double* b, int depth, bool first);
template void multiply_placed(float* sums, std::int64_t stride, const float* a, int rows, const PlacedRows<float>& b,
                              int columns, int depth, bool first);
template void multiply_placed(double* sums, std::int64_t stride, const double* a, int rows, const PlacedRows<double>& b,
                              int columns, int depth, bool first);
template void multiply_points(float* sums, std::int64_t stride, const Points<float>& points,
                              const VectorPanel<float>& panel, int depth, bool first);
template void multiply_points(double* sums, std::int64_t stride, const Points<double>& points,
                              const VectorPanel<double>& panel, int depth, bool first);
template void multiply_lanes(float* sums, std::int64_t sums_stride, const LaneRows<float>& rows,
                             const LanePoints<float>& points, int lanes, int depth, const float* start);
template void multiply_lanes(double* sums, std::int64_t sums_stride, const LaneRows<double>& rows,
                             const LanePoints<double>& points, int lanes, int depth, const double* start);

}  // namespace portops::blas
