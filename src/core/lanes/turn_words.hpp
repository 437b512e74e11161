// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/pack.hpp"

#include <cstdint>
#include <cstring>

// Squares of words that a host turns in its vector registers: what lies along one axis in `from` lies along the other
// one in `to`.

namespace portops::impl::host {

/// The side of the square that turn() takes.
template <class Word>
inline constexpr int turned_side = sizeof(Word) == 8 ? 4 : 8;

/// to[i · to_line + j] = from[j · from_line + i] for i, j < turned_side.
template <class Word>
void turn(Word* to, std::int64_t to_line, const Word* from, std::int64_t from_line) {
  constexpr int side = turned_side<Word>;
#if defined(__AVX2__) && !defined(__CUDA_ARCH__)
  if constexpr (sizeof(Word) == 2) {
    __m128i a[8], b[8];
    for (int j = 0; j < 8; ++j) a[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j * from_line));
    for (int j = 0; j < 4; ++j) {
      b[2 * j] = _mm_unpacklo_epi16(a[2 * j], a[2 * j + 1]);
      b[2 * j + 1] = _mm_unpackhi_epi16(a[2 * j], a[2 * j + 1]);
    }
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 2; ++k) {
        a[4 * j + 2 * k] = _mm_unpacklo_epi32(b[4 * j + k], b[4 * j + 2 + k]);
        a[4 * j + 2 * k + 1] = _mm_unpackhi_epi32(b[4 * j + k], b[4 * j + 2 + k]);
      }
    }
    for (int i = 0; i < 4; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i * to_line), _mm_unpacklo_epi64(a[i], a[4 + i]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (2 * i + 1) * to_line), _mm_unpackhi_epi64(a[i], a[4 + i]));
    }
  } else if constexpr (sizeof(Word) == 4) {
    // Lines j and j + 4 share a register from the beginning: no permutation over its middle is needed.
    __m256i a[8], b[8];
    for (int j = 0; j < 4; ++j) {
      for (int half = 0; half < 2; ++half) {
        const auto* const low = reinterpret_cast<const __m128i*>(from + j * from_line + 4 * half);
        const auto* const high = reinterpret_cast<const __m128i*>(from + (j + 4) * from_line + 4 * half);
        a[4 * half + j] =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)), _mm_loadu_si128(high), 1);
      }
    }
    for (int half = 0; half < 2; ++half) {
      __m256i *const in = a + 4 * half, *const out = b + 4 * half;
      out[0] = _mm256_unpacklo_epi32(in[0], in[1]);
      out[1] = _mm256_unpackhi_epi32(in[0], in[1]);
      out[2] = _mm256_unpacklo_epi32(in[2], in[3]);
      out[3] = _mm256_unpackhi_epi32(in[2], in[3]);
      in[0] = _mm256_unpacklo_epi64(out[0], out[2]);
      in[1] = _mm256_unpackhi_epi64(out[0], out[2]);
      in[2] = _mm256_unpacklo_epi64(out[1], out[3]);
      in[3] = _mm256_unpackhi_epi64(out[1], out[3]);
    }
    for (int i = 0; i < 8; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * to_line), a[i]);
  } else {
    __m256i a[4];
    for (int j = 0; j < 2; ++j) {
      for (int half = 0; half < 2; ++half) {
        const auto* const low = reinterpret_cast<const __m128i*>(from + j * from_line + 2 * half);
        const auto* const high = reinterpret_cast<const __m128i*>(from + (j + 2) * from_line + 2 * half);
        a[2 * half + j] =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)), _mm_loadu_si128(high), 1);
      }
    }
    for (int half = 0; half < 2; ++half) {
      auto* const line = to + 2 * half * to_line;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(line), _mm256_unpacklo_epi64(a[2 * half], a[2 * half + 1]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(line + to_line),
                          _mm256_unpackhi_epi64(a[2 * half], a[2 * half + 1]));
    }
  }
#else
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) to[i * to_line + j] = from[j * from_line + i];
  }
#endif
  static_assert(side * sizeof(Word) >= 16);
}

/// The tile that turn_tile() takes at most: so many lines of so many neighbours.
inline constexpr int turned_tile = 64;

/// The same for `lines` lines of `to` with `count` neighbours each. What is read goes through memory of the tile's own,
/// and what is written past the caches if `streaming`: lines that lie at large powers of two would drive each other out
/// of a cache before they are complete. Streamed lines begin at multiples of 32 bytes.
template <class Word>
void turn_tile(Word* to, std::int64_t to_line, const Word* from, std::int64_t from_line, int lines, int count,
               bool streaming) {
  constexpr int side = turned_side<Word>, pack = 64 / sizeof(Word);
  // Lines of it begin in different banks.
  constexpr int line_words = turned_tile + 32 / static_cast<int>(sizeof(Word));
  alignas(64) Word words[turned_tile * line_words];
  for (int at = 0; at < count; ++at) {
    const Word* const source = from + at * from_line;
    if (lines == turned_tile) {
      std::memcpy(words + at * line_words, source, turned_tile * sizeof(Word));
    } else {
      for (int line = 0; line < lines; ++line) words[at * line_words + line] = source[line];
    }
  }
  const int whole_lines = lines / side * side, whole_count = count / pack * pack;
  for (int line = 0; line < whole_lines; line += side) {
    for (int first = 0; first < whole_count; first += pack) {
      const Word* const source = words + first * line_words + line;
      Word* const target = to + line * to_line + first;
      if (!streaming) {
        for (int at = 0; at < pack; at += side) turn(target + at, to_line, source + at * line_words, line_words);
        continue;
      }
      alignas(64) Word turned[side][pack];
      for (int at = 0; at < pack; at += side) turn(turned[0] + at, pack, source + at * line_words, line_words);
      for (int i = 0; i < side; ++i) stream(target + i * to_line, turned[i]);
    }
  }
  for (int line = 0; line < lines; ++line) {
    for (int at = line < whole_lines ? whole_count : 0; at < count; ++at) {
      to[line * to_line + at] = words[at * line_words + line];
    }
  }
}

}  // namespace portops::impl::host
