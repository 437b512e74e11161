// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/exec/launch.hpp"
#include "core/lanes/column_access.hpp"
#include "core/lanes/pack.hpp"
#include "core/lanes/philox.hpp"
#include "core/lanes/strided_tensors.hpp"
#include "core/types/overlap.hpp"
#include "ops/dropout/dropout_kernels.hpp"

#include <cmath>
#include <string>

namespace portops::impl {

/// The words that decide on elements, four on neighbouring ones.
class DropoutWords {
 public:
  static constexpr int count = 4;

  DropoutWords(std::uint64_t seed, std::uint64_t offset, const std::int64_t* step)
      : philox_(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)),
        offset_(offset),
        step_(step) {}

  /// The sequence, which may have to be read from the device's memory.
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t sequence() const {
    return step_ == nullptr ? offset_ : offset_ + static_cast<std::uint64_t>(*step_);
  }
  /// On elements 4 · block and the next ones.
  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::uint32_t (&words)[count], std::uint64_t sequence,
                                              std::int64_t block) const {
    words[0] = static_cast<std::uint32_t>(block);
    words[1] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(block) >> 32);
    words[2] = static_cast<std::uint32_t>(sequence);
    words[3] = static_cast<std::uint32_t>(sequence >> 32);
    philox_(words);
  }

 private:
  Philox philox_;
  std::uint64_t offset_;
  const std::int64_t* step_;
};

/// What becomes of an element.
template <class A>
class Drop {
 public:
  explicit Drop(double p) : factor_(p < 1.0 ? static_cast<A>(1.0 / (1.0 - p)) : A(0)) {
    const auto below = static_cast<std::uint64_t>(std::nearbyint(p * 0x1p32));
    drops_all_ = below > UINT32_MAX;
    below_ = static_cast<std::uint32_t>(below);
  }

  KOKKOS_FORCEINLINE_FUNCTION A operator()(A x, std::uint32_t word) const {
    return drops_all_ || word < below_ ? A(0) : x * factor_;
  }

 private:
  A factor_;
  std::uint32_t below_;
  bool drops_all_;
};

/// Tensors whose elements lie in their order without gaps. On a GPU a thread takes two units of whole packs, as many as
/// four words decide on or more, 256 units apart; on hosts a work item takes a run.
template <Backend B, class T>
class DropoutFlat {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int pack = static_cast<int>(16 / sizeof(T));
  /// Elements of a GPU's unit, and of a host's work item.
  static constexpr int elements = B == Backend::cuda ? (pack > DropoutWords::count ? pack : DropoutWords::count) : 4096;

  DropoutFlat(const TensorRef& x, const TensorRef& out, const DropoutWords& words, const Drop<A>& drop)
      : x_(static_cast<const T*>(x.data())),
        out_(static_cast<T*>(out.data())),
        size_(x.size()),
        words_(words),
        drop_(drop) {
    is_aligned_ = reinterpret_cast<std::uintptr_t>(x_) % 16 == 0 && reinterpret_cast<std::uintptr_t>(out_) % 16 == 0;
  }

  std::int64_t items() const {
    if constexpr (B == Backend::cuda) return ceil_div(size_, std::int64_t{2} * threads * elements) * threads;
    return ceil_div(size_, std::int64_t{elements});
  }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    if constexpr (B == Backend::cuda) {
      const std::int64_t first = (item / threads * 2 * threads + item % threads) * elements;
      if (is_aligned_ && first + (threads + 1) * elements <= size_) return drop_units<true, 2>(first);
      PORTOPS_NO_UNROLL
      for (int unit = 0; unit < 2; ++unit) drop_units<false, 1>(first + unit * threads * elements);
    } else {
      KOKKOS_IF_ON_HOST((const std::int64_t first = item * elements; const std::int64_t left = size_ - first;
                         drop_run(first, left < elements ? static_cast<int>(left) : elements);))
    }
  }

 private:
  static constexpr int threads = 256;

  template <bool at_once, int units>
  KOKKOS_FORCEINLINE_FUNCTION void drop_units(std::int64_t first) const {
    using Access = ColumnAccess<pack, at_once>;
    constexpr int packs = elements / pack;
    const std::int64_t left = size_ - first;
    const int count = at_once || left >= elements ? elements : left < 0 ? 0 : static_cast<int>(left);
    Word<T, pack> x[units][packs];
    PORTOPS_UNROLL
    for (int unit = 0; unit < units; ++unit) {
      PORTOPS_UNROLL
      for (int k = 0; k < packs; ++k) {
        Access::load(x[unit][k], x_ + first + (unit * threads * elements + k * pack), 1, count - k * pack);
      }
    }
    const std::uint64_t sequence = words_.sequence();
    PORTOPS_UNROLL
    for (int unit = 0; unit < units; ++unit) {
      PORTOPS_UNROLL
      for (int at = 0; at < elements; at += DropoutWords::count) {
        std::uint32_t words[DropoutWords::count];
        words_(words, sequence, (first + (unit * threads * elements + at)) / DropoutWords::count);
        PORTOPS_UNROLL
        for (int i = 0; i < DropoutWords::count; ++i) {
          Word<T, pack>& own = x[unit][(at + i) / pack];
          own.set((at + i) % pack, static_cast<T>(drop_(static_cast<A>(own[(at + i) % pack]), words[i])));
        }
      }
      PORTOPS_UNROLL
      for (int k = 0; k < packs; ++k) {
        Access::store(out_ + first + (unit * threads * elements + k * pack), x[unit][k], 1, count - k * pack);
      }
    }
  }

  /// In pieces that a compiler makes vectors of: so many blocks of words side by side, and then their elements.
  void drop_run(std::int64_t first, int count) const {
    constexpr int side_by_side = 16, piece = side_by_side * DropoutWords::count;
    const std::uint64_t sequence = words_.sequence();
    for (int at = 0; at < count; at += piece) {
      const int size = count - at < piece ? count - at : piece;
      std::uint32_t words[piece];
      for (int block = 0; block < side_by_side; ++block) {
        std::uint32_t own[DropoutWords::count];
        words_(own, sequence, (first + at) / DropoutWords::count + block);
        for (int i = 0; i < DropoutWords::count; ++i) words[block * DropoutWords::count + i] = own[i];
      }
      A values[piece] = {};
      host::convert<T, piece>(values, x_ + first + at, size);
      for (int i = 0; i < piece; ++i) values[i] = drop_(values[i], words[i]);
      host::round<T, piece>(out_ + first + at, values, size);
    }
  }

  const T* x_;
  T* out_;
  std::int64_t size_;
  bool is_aligned_;
  DropoutWords words_;
  Drop<A> drop_;
};

/// Any other tensors, a work item an element.
template <Backend B, class T>
class DropoutStrided {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  DropoutStrided(const TensorRef& x, const TensorRef& out, const DropoutWords& words, const Drop<A>& drop)
      : size_(x.size()), tensors_(x.rank(), x.extents().begin()), words_(words), drop_(drop) {
    tensors_.set(0, x.data(), x.strides().begin());
    tensors_.set(1, out.data(), out.strides().begin());
  }

  std::int64_t items() const { return size_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t offset[2] = {};
    tensors_.locate(item, offset);
    std::uint32_t words[DropoutWords::count];
    words_(words, words_.sequence(), item / DropoutWords::count);
    std::uint32_t word = words[0];
    PORTOPS_UNROLL
    for (int i = 1; i < DropoutWords::count; ++i) word = item % DropoutWords::count == i ? words[i] : word;
    const A x = static_cast<A>(tensors_.template at<const T>(0, offset));
    tensors_.template at<T>(1, offset) = static_cast<T>(drop_(x, word));
  }

 private:
  std::int64_t size_;
  StridedTensors<2> tensors_;
  DropoutWords words_;
  Drop<A> drop_;
};

template <Backend B, class T>
void DropoutKernels<B, T>::dropout(const Context& ctx, bool is_gradient, const TensorRef& x, const TensorRef& out,
                                   const DropoutNumbers& numbers) {
  static const std::string labels[2][2] = {
      {"portops::dropout::drop[strided]", "portops::dropout::drop[flat]"},
      {"portops::dropout_grad::drop[strided]", "portops::dropout_grad::drop[flat]"}};
  const DropoutWords words(numbers.seed, numbers.offset, numbers.step);
  const Drop<Arithmetic<T>> drop(numbers.p);
  if (is_row_major(x) && is_row_major(out)) {
    launch_by_items<B>(ctx, labels[is_gradient][true], DropoutFlat<B, T>(x, out, words, drop));
  } else {
    launch_by_items<B>(ctx, labels[is_gradient][false], DropoutStrided<B, T>(x, out, words, drop));
  }
}

}  // namespace portops::impl
