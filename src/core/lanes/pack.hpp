// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/types/backend.hpp"
#include "core/types/element_type.hpp"
#include "core/types/macros.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX__) && !defined(__CUDA_ARCH__)
#include <immintrin.h>
#endif

// Packs: a few neighbouring elements that are read, converted, computed and written together. On a GPU a pack is what
// one thread moves in one 16-byte access; on a host it is an array that the compiler's vector loops run over.

namespace portops::impl {

/// The type that elements of type T are computed in.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Neighbouring elements as they are in memory.
template <class T, int N>
struct alignas(N * sizeof(T) % 64 == 0 ? 64 : 16) Pack {
  T element[N];
};

namespace host {

#if defined(__F16C__) && defined(__AVX2__) && !defined(__CUDA_ARCH__)
inline void convert(float* to, const f16* from) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

inline void convert(f16* to, const float* from) {
  const __m256 values = _mm256_loadu_ps(from);
  const __m128i bits = _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT);
  // The instruction keeps the payload of a NaN; every backend gives 0x7fff.
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  const __m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_blendv_epi8(bits, _mm_set1_epi16(0x7fff), nan16));
}
inline constexpr int f16_conversion_width = 8;
#else
inline void convert(float* to, const f16* from) { *to = *from; }
inline void convert(f16* to, const float* from) { *to = f16(*from); }
inline constexpr int f16_conversion_width = 1;
#endif

template <class T, int N>
void convert(Arithmetic<T> (&values)[N], const T* from, int count) {
  if constexpr (std::is_same_v<T, f16>) {
    int i = 0;
    for (; i + f16_conversion_width <= count; i += f16_conversion_width) convert(values + i, from + i);
    for (; i < count; ++i) values[i] = from[i];
  } else {
    for (int i = 0; i < count; ++i) values[i] = static_cast<Arithmetic<T>>(from[i]);
  }
}

/// Rounds each of the first `count` values once.
template <class T, int N>
void round(T* to, const Arithmetic<T> (&values)[N], int count) {
  if constexpr (std::is_same_v<T, f16>) {
    int i = 0;
    for (; i + f16_conversion_width <= count; i += f16_conversion_width) convert(to + i, values + i);
    for (; i < count; ++i) to[i] = f16(values[i]);
  } else {
    for (int i = 0; i < count; ++i) to[i] = static_cast<T>(values[i]);
  }
}

/// Writes past the caches, where what is written will not be read again soon: an ordinary store would first read the
/// line from memory. Needs `to` aligned to 32 bytes; end_of_streaming() orders the stores before what follows.
template <class T, int N>
void stream(T* to, const T (&elements)[N]) {
#if defined(__AVX__) && !defined(__CUDA_ARCH__)
  static_assert(N * sizeof(T) % 32 == 0);
  auto* target = reinterpret_cast<__m256i*>(to);
  const auto* source = reinterpret_cast<const __m256i*>(elements);
  for (std::size_t i = 0; i < N * sizeof(T) / 32; ++i) _mm256_stream_si256(target + i, _mm256_loadu_si256(source + i));
#else
  std::memcpy(to, elements, sizeof(elements));
#endif
}

inline void end_of_streaming() {
#if defined(__AVX__) && !defined(__CUDA_ARCH__)
  _mm_sfence();
#endif
}

template <class T, int N>
void store_rounded(T* to, const T (&elements)[N], bool streaming) {
  if (streaming && reinterpret_cast<std::uintptr_t>(to) % 32 == 0) {
    stream(to, elements);
  } else {
    std::memcpy(to, elements, sizeof(elements));
  }
}

template <class T, int N>
void store(T* to, const Arithmetic<T> (&values)[N], bool streaming) {
  if constexpr (std::is_same_v<T, Arithmetic<T>>) {
    store_rounded(to, values, streaming);
  } else {
    alignas(64) T elements[N];
    round<T, N>(elements, values, N);
    store_rounded(to, elements, streaming);
  }
}

}  // namespace host

/// Reads a whole pack of neighbours. For a GPU `from` must be aligned to 16 bytes.
template <Backend B, class T, int N>
KOKKOS_INLINE_FUNCTION Pack<T, N> read_pack(const T* from) {
  if constexpr (B == Backend::cuda) {
    static_assert(sizeof(Pack<T, N>) == 16, "a GPU's widest access");
    return *reinterpret_cast<const Pack<T, N>*>(from);
  } else {
    Pack<T, N> result;
    std::memcpy(result.element, from, N * sizeof(T));
    return result;
  }
}

/// Reads the first `count` elements of a pack, each `stride` from the last. On a GPU the others become 0.
template <Backend B, class T, int N>
KOKKOS_INLINE_FUNCTION void read_elements(Pack<T, N>& pack, const T* from, std::int64_t stride, int count) {
  if constexpr (B == Backend::cuda) {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) pack.element[i] = i < count ? from[i * stride] : T(0.0f);
  } else {
    for (int i = 0; i < count && i < N; ++i) pack.element[i] = from[i * stride];
  }
}

/// The first `count` elements of a pack as numbers; on a GPU, all.
template <Backend B, class T, int N>
KOKKOS_INLINE_FUNCTION void convert_pack(Arithmetic<T> (&values)[N], const Pack<T, N>& pack,
                                         [[maybe_unused]] int count) {
  if constexpr (B == Backend::cuda) {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) values[i] = static_cast<Arithmetic<T>>(pack.element[i]);
  } else {
    KOKKOS_IF_ON_HOST((host::convert<T, N>(values, pack.element, count);))
  }
}

/// Reads a pack of numbers from memory that is aligned to 16 bytes, such as team scratch.
template <Backend B, class A, int N>
KOKKOS_INLINE_FUNCTION void copy_pack(A (&values)[N], const A* from) {
  if constexpr (B == Backend::cuda) {
    constexpr int width = 16 / sizeof(A);
    PORTOPS_UNROLL
    for (int i = 0; i < N; i += width) {
      const auto part = *reinterpret_cast<const Pack<A, width>*>(from + i);
      PORTOPS_UNROLL
      for (int j = 0; j < width; ++j) values[i + j] = part.element[j];
    }
  } else {
    for (int i = 0; i < N; ++i) values[i] = from[i];
  }
}

/// Writes a whole pack of neighbours, each element rounded once. For a GPU `to` must be aligned to 16 bytes.
template <Backend B, class T, int N>
KOKKOS_INLINE_FUNCTION void store_pack(T* to, const Arithmetic<T> (&values)[N], [[maybe_unused]] bool streaming) {
  if constexpr (B == Backend::cuda) {
    Pack<T, N> result;
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) result.element[i] = static_cast<T>(values[i]);
    *reinterpret_cast<Pack<T, N>*>(to) = result;
  } else {
    KOKKOS_IF_ON_HOST((host::store<T, N>(to, values, streaming);))
  }
}

/// The same of a GPU by one instruction, whatever lies between the numbers' computations: nvcc takes such a store apart
/// where one of them branches, as a division does, and each sector of memory is then written several times.
template <class T, int N>
KOKKOS_FORCEINLINE_FUNCTION void store_pack_at_once(T* to, const Arithmetic<T> (&values)[N]) {
#if defined(__CUDA_ARCH__)
  Pack<T, N> rounded;
  PORTOPS_UNROLL
  for (int i = 0; i < N; ++i) rounded.element[i] = static_cast<T>(values[i]);
  const auto words = Kokkos::bit_cast<uint4>(rounded);
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(words.x),
               "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
#else
  store_pack<Backend::cuda, T, N>(to, values, false);
#endif
}

/// Writes the first `count` elements of a pack, each `stride` from the last.
template <Backend B, class T, int N>
KOKKOS_INLINE_FUNCTION void store_elements(T* to, const Arithmetic<T> (&values)[N], std::int64_t stride, int count) {
  if constexpr (B == Backend::cuda) {
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) {
      if (i < count) to[i * stride] = static_cast<T>(values[i]);
    }
  } else {
    for (int i = 0; i < count && i < N; ++i) to[i * stride] = static_cast<T>(values[i]);
  }
}

/// Calls an operator's function for element i of its operands' packs.
template <int N, class F, class A>
KOKKOS_INLINE_FUNCTION void apply(const F& f, const A (&in)[F::inputs][N], A (&out)[F::outputs][N], int i) {
  A x[F::inputs];
  A y[F::outputs];
  PORTOPS_UNROLL
  for (int k = 0; k < F::inputs; ++k) x[k] = in[k][i];
  f(x, y);
  PORTOPS_UNROLL
  for (int k = 0; k < F::outputs; ++k) out[k][i] = y[k];
}

/// Called where a host thread has written its share with streaming stores.
template <Backend B>
KOKKOS_INLINE_FUNCTION void end_of_streaming() {
  if constexpr (B != Backend::cuda) {
    KOKKOS_IF_ON_HOST((host::end_of_streaming();))
  }
}

}  // namespace portops::impl
