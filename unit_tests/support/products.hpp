// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <portops/core/config.hpp>
#include <portops/core/context.hpp>

#include <string>
#include <type_traits>
#include <vector>

// The ways in which products are computed: that of Kokkos Kernels a build may be without.

namespace portops::test {

#if defined(PORTOPS_HAS_KOKKOS_KERNELS)
inline constexpr bool has_kokkos_kernels = true;
#else
inline constexpr bool has_kokkos_kernels = false;
#endif

inline Context with_kokkos_kernels(const Context& ctx) { return Context(ctx).products(Products::kokkos_kernels); }

/// The contexts whose products go different ways: the context itself, in deterministic mode, portops' own products, in
/// tf32, and those of Kokkos Kernels.
inline std::vector<Context> contexts_of_products(const Context& ctx) {
  std::vector<Context> all{ctx, Context(ctx).deterministic(true), Context(ctx).products(Products::own),
                           Context(ctx).math(Math::tf32)};
  if (has_kokkos_kernels) all.push_back(with_kokkos_kernels(ctx));
  return all;
}

template <class T>
bool has_products_of(const Context& ctx) {
  return sizeof(T) > 2 || ctx.products() != Products::kokkos_kernels;
}

/// Whether products may leave operands 11 significant bits.
template <class T>
bool may_round_operands(const Context& ctx) {
  return std::is_same_v<T, float> && ctx.backend() == Backend::cuda && ctx.math() == Math::tf32 &&
         ctx.products() != Products::kokkos_kernels;
}

/// Whether the context asks for tf32 where that changes nothing.
template <class T>
bool asks_in_vain(const Context& ctx) {
  return ctx.math() == Math::tf32 && !may_round_operands<T>(ctx);
}

/// What rounding to them takes away of a product of two at most: 2^-10 of each, where bits are cut off.
inline constexpr double cut_to_tf32 = 0x1p-9;

/// Numbers of which such products take away the most: of 13 bits all but the first where they round to the nearest, and
/// all where they cut off.
inline constexpr double lost_to_tf32[] = {1.0 + 0x1p-11 - 0x1p-23, 1.0 + 0x1p-10 - 0x1p-23};

inline std::string describe(const Context& ctx) {
  return "products " + std::string(name_of(ctx.products())) + (ctx.deterministic() ? ", deterministic" : "") +
         (ctx.math() == Math::tf32 ? ", tf32" : "");
}

}  // namespace portops::test
