// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/divide.hpp"
#include "core/lanes/pack.hpp"
#include "ops/convolution/windows.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>

// Depthwise convolution on GPUs, for windows of K × K: what its kernels have in common. A thread has a strip of pixels,
// one under the other, of P neighbouring channels.

namespace portops::impl {

/// Which position of `from` a tap k reads for position i of `to`, along an axis.
enum class Reach : std::uint8_t {
  neighbours,   ///< i − before + k: strips read a row once for all taps
  every_other,  ///< 2 i − before + k: so do these
  strided,      ///< i · stride − before + k · dilation
  turned        ///< (i + before − k · dilation) / stride, where stride divides it: x_grad
};

/// Of strips whose pixels share rows: from a pixel's first row to the next one's; else 0.
constexpr int shared_step(Reach reach) { return reach == Reach::neighbours ? 1 : reach == Reach::every_other ? 2 : 0; }

/// Along one axis. `outside` is a zero of the padding, `nothing` no term of the sum at all.
template <Reach reach>
class AxisReach {
 public:
  static constexpr std::int32_t outside = -1, nothing = -2;

  AxisReach(std::int64_t stride, std::int64_t before, std::int64_t dilation, std::int64_t extent)
      : stride_(static_cast<std::uint32_t>(stride)),
        before_(static_cast<std::int32_t>(before)),
        dilation_(static_cast<std::int32_t>(dilation)),
        extent_(static_cast<std::int32_t>(extent)) {}

  KOKKOS_FORCEINLINE_FUNCTION std::int32_t operator()(std::int32_t i, std::int32_t k) const {
    std::int32_t at;
    if constexpr (reach != Reach::turned) {
      at = position(i, k);
    } else {
      const std::int32_t distance = i + before_ - k * dilation_;
      // Below 0 too stride has to divide it for the tap to read a zero; which one does not matter.
      const std::uint32_t size = static_cast<std::uint32_t>(distance < 0 ? -distance : distance);
      const std::uint32_t quotient = stride_.quotient(size);
      if (quotient * stride_.value() != size) return nothing;
      at = distance < 0 ? outside : static_cast<std::int32_t>(quotient);
    }
    return at >= 0 && at < extent_ ? at : outside;
  }

  /// Where it would be in an image without end; not of turned ones.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t position(std::int32_t i, std::int32_t k) const {
    if constexpr (step > 0) {
      return i * step - before_ + k;
    } else {
      // Of rows behind the last one, which nobody asks for, it may overflow.
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * stride_.value()) - before_ + k * dilation_;
    }
  }
  /// Whether all taps of the positions from i to before `end` read pixels of the image.
  KOKKOS_FORCEINLINE_FUNCTION bool is_inside(std::int32_t i, std::int32_t end, std::int32_t taps) const {
    return reach != Reach::turned && position(i, 0) >= 0 && position(end - 1, taps - 1) < extent_;
  }

 private:
  static constexpr int step = shared_step(reach);

  Divisor stride_;
  std::int32_t before_, dilation_, extent_;  ///< extent: of `from`
};

/// P neighbours, as one access moves them.
template <class T, int P>
struct alignas(P * sizeof(T)) Neighbours {
  T element[P];
};

template <class T, int P>
KOKKOS_FORCEINLINE_FUNCTION void read_neighbours(Arithmetic<T> (&to)[P], const T* from) {
  const auto read = *reinterpret_cast<const Neighbours<T, P>*>(from);
  PORTOPS_UNROLL
  for (int p = 0; p < P; ++p) to[p] = static_cast<Arithmetic<T>>(read.element[p]);
}

template <class T, int P>
KOKKOS_FORCEINLINE_FUNCTION void write_neighbours(T* to, const Arithmetic<T> (&from)[P]) {
  Neighbours<T, P> rounded;
  PORTOPS_UNROLL
  for (int p = 0; p < P; ++p) rounded.element[p] = static_cast<T>(from[p]);
  *reinterpret_cast<Neighbours<T, P>*>(to) = rounded;
}

/// The rows of `from` that a strip of `rows` pixels of `to` reads, and the pixels of one column of it. `inside`: all of
/// these rows are rows of the image.
template <class T, int K, Reach reach, int P, int rows, bool inside>
class StripRows {
 public:
  using A = Arithmetic<T>;

  KOKKOS_FORCEINLINE_FUNCTION StripRows(const AxisReach<reach>& down, std::int32_t i, std::int32_t stride_y) {
    PORTOPS_UNROLL
    for (int n = 0; n < count; ++n) {
      const std::int32_t pixel = step > 0 ? i : i + n / K, tap = step > 0 ? n : n % K;
      at_[n] = inside ? down.position(pixel, tap) : down(pixel, tap);
      offset_[n] = at_[n] * stride_y;
    }
  }

  /// The pixels of a column, from the channels' first pixel on; zeros where there is no such column.
  KOKKOS_FORCEINLINE_FUNCTION void read(const T* from, std::int32_t column, std::int32_t stride_x) {
    const bool exists = column >= 0;
    const std::int32_t offset_x = exists ? column * stride_x : 0;
    PORTOPS_UNROLL
    for (int n = 0; n < count; ++n) {
      if (inside || (exists && at_[n] >= 0)) {
        read_neighbours<T, P>(value_[n], from + (offset_[n] + offset_x));
      } else {
        PORTOPS_UNROLL
        for (int p = 0; p < P; ++p) value_[n][p] = A(0);
      }
    }
    if constexpr (inside) {
      PORTOPS_UNROLL
      for (int n = 0; n < count; ++n) {
        PORTOPS_UNROLL
        for (int p = 0; p < P; ++p) value_[n][p] = exists ? value_[n][p] : A(0);
      }
    }
  }

  /// What tap k reads for pixel n of the strip, and whether it is a term of its sum.
  KOKKOS_FORCEINLINE_FUNCTION const A (&value(int n, int k) const)[P] { return value_[index(n, k)]; }
  KOKKOS_FORCEINLINE_FUNCTION bool has(int n, int k) const {
    return reach != Reach::turned || at_[index(n, k)] != AxisReach<reach>::nothing;
  }

 private:
  static constexpr int step = shared_step(reach);
  static constexpr int count = step > 0 ? (rows - 1) * step + K : rows* K;
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int index(int n, int k) { return step > 0 ? n * step + k : n * K + k; }

  std::int32_t at_[count], offset_[count];
  A value_[count][P];
};

}  // namespace portops::impl
