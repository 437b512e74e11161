// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// How GPU kernels over a ReducePlan read and write neighbouring columns, with few instructions around each access.

namespace portops::impl {

/// Tells the compiler that an address is one of the device's memory, which it may have forgotten on the way.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* in_device_memory(T* address) {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isGlobal(address));
#endif
  return address;
}

/// The same address, at which the compiler stops asking how it came about: it then finds the addresses near it by one
/// instruction each, instead of once more from the operand's base.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* pinned(T* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(address));
#endif
  return in_device_memory(address);
}

/// N neighbouring elements as they are in memory, in whole registers: compilers would take 16-bit elements apart where
/// a word may or may not be read.
template <class T, int N>
class alignas(N * sizeof(T)) Word {
 public:
  Word() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit Word(T all) {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) set(i, all);
  }

  KOKKOS_FORCEINLINE_FUNCTION T operator[](int i) const {
    return Kokkos::bit_cast<T>(static_cast<Bits>(unit_[i / per_unit] >> shift(i)));
  }
  KOKKOS_FORCEINLINE_FUNCTION void set(int i, T value) {
    const auto bits = static_cast<Unit>(Kokkos::bit_cast<Bits>(value));
    Unit& unit = unit_[i / per_unit];
    if constexpr (per_unit == 1) {
      unit = bits;
    } else {
      unit = static_cast<Unit>((unit & ~(Unit{0xffff} << shift(i))) | (bits << shift(i)));
    }
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  using Unit = std::conditional_t<sizeof(T) == 2 && N >= 2, std::uint32_t, Bits>;
  static constexpr int per_unit = static_cast<int>(sizeof(Unit) / sizeof(T));

  KOKKOS_FORCEINLINE_FUNCTION static int shift(int i) { return i % per_unit * 16; }

  template <class E, int count>
  friend KOKKOS_FUNCTION void forget_numbers(Word<E, count>& word);

  Unit unit_[N / per_unit] = {};
};

/// The same elements, of which the compiler no longer knows what it has made of them: where their numbers are needed
/// again it converts them once more, instead of keeping twice as many registers.
template <class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void forget_numbers([[maybe_unused]] Word<T, N>& word) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(word.unit_[0]) == 4);
  PORTOPS_UNROLL
  for (auto& unit : word.unit_) asm volatile("" : "+r"(unit));
#endif
}

/// How a pack of columns is taken: at once, or, where they are no neighbours in memory or not aligned, one by one and
/// up to the widest pack.
template <int N, bool at_once>
struct ColumnAccess {
  static constexpr int width = N;
  /// How many packs to load together, where `most` would be right for whole ones: single columns take the registers of
  /// the widest pack.
  PORTOPS_FUNCTION static constexpr int batch(int most) { return at_once || N == 1 || most < 2 ? most : 2; }

  /// Reads the first `count` columns; at once, `count` is N.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void load(Word<T, N>& word, const T* from, std::int64_t stride, int count) {
    if constexpr (at_once) {
      word = *reinterpret_cast<const Word<T, N>*>(in_device_memory(from));
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) {
        if (i < count) word.set(i, from[i * stride]);
      }
    }
  }

  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void store(T* to, const Word<T, N>& word, std::int64_t stride, int count) {
    if constexpr (at_once) {
      *reinterpret_cast<Word<T, N>*>(in_device_memory(to)) = word;
    } else {
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) {
        if (i < count) to[i * stride] = word[i];
      }
    }
  }

  /// The columns of a pack, of which there are `pack`.
  KOKKOS_FORCEINLINE_FUNCTION static int count(int pack) { return at_once ? N : pack; }
  /// Where column `column` lies.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T* at(T* row, int column, std::int64_t stride) {
    return at_once ? row + column : row + column * stride;
  }
};

/// Calls action(ColumnAccess) with what suits packs of `pack` columns, of at most `widest`.
template <int widest, class Action>
KOKKOS_FORCEINLINE_FUNCTION void with_access(int pack, bool at_once, const Action& action) {
  if (!at_once) return action(ColumnAccess<widest, false>());
  if (pack == widest) return action(ColumnAccess<widest, true>());
  if constexpr (widest >= 4) {
    if (pack == widest / 2) return action(ColumnAccess<widest / 2, true>());
  }
  if constexpr (widest >= 8) {
    if (pack == widest / 4) return action(ColumnAccess<widest / 4, true>());
  }
  if constexpr (widest >= 2) action(ColumnAccess<1, true>());
}

}  // namespace portops::impl
