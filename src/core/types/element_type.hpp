// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portops/core/macros.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace portops {

/// The element types of tensors. f16 is IEEE 754 binary16; bf16 has the exponent of binary32 and 8 significant bits.
/// i64, std::int64_t, is that of indices: what computes takes the other four.
enum class ElementType : std::uint8_t { f64, f32, f16, bf16, i64 };

namespace impl {

// The four conversions below round to nearest even, keep subnormals, turn what is too large into Inf and every NaN
// into the quiet NaN 0x7fff: bit for bit what the conversion instructions of CUDA devices give.
PORTOPS_FUNCTION std::uint16_t f16_from_float(float value);
PORTOPS_FUNCTION float float_from_f16(std::uint16_t bits);
PORTOPS_FUNCTION std::uint16_t bf16_from_float(float value);
PORTOPS_FUNCTION float float_from_bf16(std::uint16_t bits);

/// Rounds to odd: rounding the result once more, to a type of at most 22 significant bits, is the same as rounding
/// `value` to that type directly.
PORTOPS_FUNCTION float float_rounded_to_odd(double value);

}  // namespace impl

/// A 16-bit binary16 number on every backend. A storage type: arithmetic is done in float.
struct f16 {
  std::uint16_t bits;

  f16() = default;
  PORTOPS_FUNCTION explicit f16(float value) : bits(impl::f16_from_float(value)) {}
  /// Rounds once, not by way of float.
  PORTOPS_FUNCTION explicit f16(double value) : bits(impl::f16_from_float(impl::float_rounded_to_odd(value))) {}
  PORTOPS_FUNCTION operator float() const { return impl::float_from_f16(bits); }  // NOLINT: exact, so implicit
};

/// A 16-bit bfloat16 number on every backend. A storage type: arithmetic is done in float.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  PORTOPS_FUNCTION explicit bf16(float value) : bits(impl::bf16_from_float(value)) {}
  /// Rounds once, not by way of float.
  PORTOPS_FUNCTION explicit bf16(double value) : bits(impl::bf16_from_float(impl::float_rounded_to_odd(value))) {}
  PORTOPS_FUNCTION operator float() const { return impl::float_from_bf16(bits); }  // NOLINT: exact, so implicit
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

/// Bytes of one element.
constexpr std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64: return 8;
    case ElementType::f32: return 4;
    case ElementType::f16:
    case ElementType::bf16: break;
  }
  return 2;
}

/// "f64", "f32", "f16", "bf16" or "i64".
constexpr std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return "f64";
    case ElementType::f32: return "f32";
    case ElementType::f16: return "f16";
    case ElementType::bf16: return "bf16";
    case ElementType::i64: return "i64";
  }
  return "?";
}

/// The element types that this library computes with: those it was compiled for.
PORTOPS_EXPORT std::vector<ElementType> enabled_element_types();

/// Maps a C++ type to its ElementType; undefined for every other type. Specialise it for a 16-bit type of your own
/// that has the same bits, such as `__half`.
template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<double> {
  static constexpr ElementType value = ElementType::f64;
};
template <>
struct ElementTypeOf<float> {
  static constexpr ElementType value = ElementType::f32;
};
template <>
struct ElementTypeOf<f16> {
  static constexpr ElementType value = ElementType::f16;
};
template <>
struct ElementTypeOf<bf16> {
  static constexpr ElementType value = ElementType::bf16;
};

template <>
struct ElementTypeOf<std::int64_t> {
  static constexpr ElementType value = ElementType::i64;
};

/// A type whose arrays portops can read.
template <class T>
concept Element = sizeof(T) == size_of(ElementTypeOf<T>::value);

namespace impl {

PORTOPS_FUNCTION std::uint16_t f16_from_float(float value) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#else
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;                                      // NaN
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00);  // from 65520 on, Inf
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is a multiple of 2^-24, the spacing of floats in [0.5, 1): the addition does the rounding.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  magnitude +=
      0xc8000000u + 0xfffu + ((magnitude >> 13) & 1u);  // exponent bias 127 -> 15, then half an ulp, ties to even
  return static_cast<std::uint16_t>(sign | (magnitude >> 13));
#endif
}

PORTOPS_FUNCTION float float_from_f16(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(bits));
#else
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  // Reading the exponent with bias 127 instead of 15 makes the number 2^112 too small, subnormal or not.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
#endif
}

PORTOPS_FUNCTION std::uint16_t bf16_from_float(float value) {
#if defined(__CUDA_ARCH__)
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
#endif
}

PORTOPS_FUNCTION float float_from_bf16(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
#else
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
#endif
}

PORTOPS_FUNCTION float float_rounded_to_odd(double value) {
#if defined(__CUDA_ARCH__)
  const float nearest = static_cast<float>(value);
  const double error = value - static_cast<double>(nearest);
  unsigned bits = __float_as_uint(nearest);
#else
  const float nearest = static_cast<float>(value);
  const double error = value - static_cast<double>(nearest);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
#endif
  const bool exact = !(error > 0.0 || error < 0.0);  // also for Inf and NaN, whose error is NaN
  if (exact || (bits & 0x7fffffffu) >= 0x7f800000u) return nearest;
  // Towards zero first, where rounding to nearest went away from zero; then the last bit says "and something".
  if ((error > 0.0) != (value > 0.0)) bits -= 1;
  bits |= 1u;
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

}  // namespace impl
}  // namespace portops
