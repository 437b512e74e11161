// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blas/gemm_paths.hpp"
#include "blas/panels.hpp"
#include "core/exec/spaces.hpp"
#include "core/lanes/tile_shape.hpp"

#include <algorithm>

// A matrix product for hosts.

namespace portops::blas {

/// op(b) of a product as it is multiplied: slices of the inner axis, which are panels of columns, the last one filled
/// up. It packs a panel of a slice an item.
template <class T>
struct PackColumns {
  using A = impl::Arithmetic<T>;
  using Sizes = Blocks<A>;
  static constexpr int blocks = 0;

  Product product;
  A* packed = nullptr;

  std::int64_t panels() const { return impl::ceil_div(product.columns, std::int64_t{Sizes::panel_columns}); }
  std::int64_t items() const { return impl::ceil_div(product.inner, std::int64_t{Sizes::depth}) * panels(); }
  std::size_t bytes() const {
    return static_cast<std::size_t>(product.inner * panels() * Sizes::panel_columns) * sizeof(A);
  }
  int depth(std::int64_t k) const { return static_cast<int>(std::min<std::int64_t>(Sizes::depth, product.inner - k)); }
  /// The elements from k on, in the first slice that has them, of columns from one on that begins a panel.
  std::int64_t offset(std::int64_t k, std::int64_t column) const {
    return k * panels() * Sizes::panel_columns + column * depth(k);
  }
  /// Packs them, so many columns of a slice, of a product of the batch.
  void pack(A* to, std::int64_t number, std::int64_t k, std::int64_t column, int columns) const {
    const bool turned = product.b_transpose == Transpose::yes;
    const std::int64_t at = turned ? column * product.b_stride + k : k * product.b_stride + column;
    pack_panels<Sizes::panel_columns>(to, static_cast<const T*>(product.b) + number * product.batch.b_stride + at,
                                      product.b_stride, turned, columns, depth(k));
  }

  void operator()(std::int64_t item) const {
    const std::int64_t k = item / panels() * Sizes::depth, column = item % panels() * Sizes::panel_columns;
    pack(packed + offset(k, column), 0, k, column,
         static_cast<int>(std::min<std::int64_t>(Sizes::panel_columns, product.columns - column)));
  }
};

/// c = alpha · op(a) · op(b) + beta · c + bias, a team of one thread taking a tile of c at a time.
template <Backend B, class T, class C = T>
class Multiply {
 public:
  using A = impl::Arithmetic<T>;
  using Sizes = Blocks<A>;
  using Policy = Kokkos::TeamPolicy<impl::SpaceOf<B>, Kokkos::Schedule<Kokkos::Dynamic>>;
  using Team = typename Policy::member_type;

  /// Tiles become smaller where there would be fewer than threads. `packed_b` is b as PackColumns leaves it, or null.
  Multiply(const Product& product, const A* packed_b, int threads)
      : p_(product),
        a_(static_cast<const T*>(p_.a)),
        b_{product},
        packed_b_(packed_b),
        c_(static_cast<C*>(p_.c)),
        bias_(static_cast<const C*>(p_.bias)) {
    while (tiles() < threads && tile_columns_ > Sizes::panel_columns) tile_columns_ /= 2;
    while (tiles() < threads && tile_rows_ > Sizes::panel_rows) tile_rows_ /= 2;
  }

  std::int64_t tiles() const { return p_.batch.count * tiles_down() * tiles_across(); }

  int scratch_bytes() const {
    constexpr int panels = (Sizes::tile_rows + Sizes::tile_columns) * Sizes::depth;
    const std::int64_t slices = (p_.inner + Sizes::depth - 1) / Sizes::depth;
    return (panels + static_cast<int>(TileSums<A>::elements(tile_size, slices))) * static_cast<int>(sizeof(A));
  }

  void operator()(const Team& team) const {
    auto* scratch = static_cast<A*>(team.team_scratch(1).get_shmem_aligned(scratch_bytes(), alignment));
    for (std::int64_t tile = team.league_rank(); tile < tiles(); tile += team.league_size()) {
      const std::int64_t row_of_tiles = tile / tiles_across();
      write_tile(row_of_tiles / tiles_down(), row_of_tiles % tiles_down() * tile_rows_,
                 tile % tiles_across() * tile_columns_, scratch);
    }
  }

  static constexpr int alignment = 64;

 private:
  static constexpr int tile_size = Sizes::tile_rows * Sizes::tile_columns;

  std::int64_t tiles_down() const { return (p_.rows + tile_rows_ - 1) / tile_rows_; }
  std::int64_t tiles_across() const { return (p_.columns + tile_columns_ - 1) / tile_columns_; }

  void write_tile(std::int64_t product, std::int64_t row, std::int64_t column, A* scratch) const {
    A* const a_panels = scratch;
    A* const own_b_panels = a_panels + Sizes::tile_rows * Sizes::depth;
    const int rows = static_cast<int>(std::min<std::int64_t>(tile_rows_, p_.rows - row));
    TileSums<A> tile(own_b_panels + Sizes::tile_columns * Sizes::depth, tile_size, rows * Sizes::tile_columns);
    const int columns = static_cast<int>(std::min<std::int64_t>(tile_columns_, p_.columns - column));
    const bool a_turned = p_.a_transpose == Transpose::yes;
    for (std::int64_t k = 0; k < p_.inner; k += Sizes::depth) {
      const int depth = static_cast<int>(std::min<std::int64_t>(Sizes::depth, p_.inner - k));
      const T* a = a_ + product * p_.batch.a_stride + (a_turned ? k * p_.a_stride + row : row * p_.a_stride + k);
      pack_panels<Sizes::panel_rows>(a_panels, a, p_.a_stride, !a_turned, rows, depth);
      if (packed_b_ == nullptr) b_.pack(own_b_panels, product, k, column, columns);
      const A* const b_panels = packed_b_ == nullptr ? own_b_panels : packed_b_ + b_.offset(k, column);
      // A panel of columns stays in the first-level cache while all rows pass by.
      tile.add_slice([&](A* sums, bool first) {
        for (int j = 0; j < columns; j += Sizes::panel_columns) {
          for (int i = 0; i < rows; i += Sizes::panel_rows) {
            multiply_panels(sums + i * Sizes::tile_columns + j, a_panels + i * depth, rows - i, b_panels + j * depth,
                            depth, first);
          }
        }
      });
    }
    A* const sums = tile.finish();
    for (int i = 0; i < rows; ++i) {
      write_row(c_ + product * p_.batch.c_stride + (row + i) * p_.c_stride + column, sums + i * Sizes::tile_columns,
                bias_ == nullptr ? nullptr : bias_ + column * p_.bias_stride, columns);
    }
  }

  /// Rounds once, also where c or the bias joins in.
  void write_row(C* c, A* sums, const C* bias, int columns) const {
    const auto alpha = static_cast<A>(p_.alpha);
    const auto beta = static_cast<A>(p_.beta);
    for (int j = 0; j < columns; ++j) sums[j] *= alpha;
    if (p_.beta != 0.0) {
      A before[Sizes::tile_columns];
      convert_run(before, c, columns);
      for (int j = 0; j < columns; ++j) sums[j] += beta * before[j];
    }
    if (bias != nullptr) {
      for (int j = 0; j < columns; ++j) sums[j] += static_cast<A>(bias[j * p_.bias_stride]);
    }
    convert_run(c, sums, columns);
  }

  Product p_;
  const T* a_;
  PackColumns<T> b_;
  const A* packed_b_;
  C* c_;
  const C* bias_;
  int tile_rows_ = Sizes::tile_rows;
  int tile_columns_ = Sizes::tile_columns;
};

/// c = beta · c.
template <class T>
struct Scale {
  using A = impl::Arithmetic<T>;
  T* c;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;
  std::int64_t batch_stride;  ///< from one matrix of a batch to the next
  A beta;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = index / columns;
    T& element = c[row / rows * batch_stride + row % rows * stride + index % columns];
    element = beta == A(0) ? static_cast<T>(A(0)) : static_cast<T>(beta * static_cast<A>(element));
  }
};

}  // namespace portops::blas
