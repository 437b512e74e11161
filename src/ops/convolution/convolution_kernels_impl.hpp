// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/copy/copy_together.hpp"
#include "core/copy/zeros.hpp"
#include "core/exec/launch.hpp"
#include "core/reduce/sum.hpp"
#include "ops/convolution/convolution_kernels.hpp"
#include "ops/convolution/finish.hpp"
#include "ops/convolution/packed_weight.hpp"

namespace portops::impl {

/// Adds numbers to others or, where these are the first, writes them there. An item a number.
template <class A>
struct AddSums {
  static constexpr int blocks = 0;
  A* to;
  const A* from;
  std::int64_t count;
  bool first;

  std::int64_t items() const { return count; }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = first ? from[i] : to[i] + from[i]; }
};

template <Backend B, class T>
void ConvolutionKernels<B, T>::rearrange(const Context& ctx, const std::string& label, const Rearrangement& what) {
  impl::rearrange<B, T, T>(ctx, label, what);
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::copy(const Context& ctx, const std::string& label, const Copies& copies) {
  copy_together<B, T, T>(ctx, label, copies);
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::copy_sums(const Context& ctx, const std::string& label, const Copies& copies) {
  copy_together<B, Arithmetic<T>, T>(ctx, label, copies);
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::zero(const Context& ctx, const std::string& label, void* data, std::size_t bytes) {
  impl::zero<B>(ctx, label, data, bytes);
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::add_sums(const Context& ctx, const std::string& label, void* to, const void* from,
                                        std::int64_t count, bool first) {
  using A = Arithmetic<T>;
  launch_by_items<B>(ctx, label, AddSums<A>{static_cast<A*>(to), static_cast<const A*>(from), count, first});
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::bias_grad(const Context& ctx, const char* op, const ReducePlan& plan) {
  reduce<B, T>(ctx, ReduceLabels(op), Sum<Arithmetic<T>>(), Sum<double>(), plan);
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::finish(const Context& ctx, const std::string& label, const void* from,
                                      const ConvolutionOut& to, std::int64_t count) {
  if constexpr (B != Backend::cuda) {
    launch_by_items<B>(ctx, label,
                       FinishAll<T>{Finish<T>(to), static_cast<const T*>(from), static_cast<T*>(to.out.data), count});
  }
}

template <Backend B, class T>
bool ConvolutionKernels<B, T>::finishes_tiles(const Windows& windows, bool samples_strips) {
  return multiplies_vectors<Arithmetic<T>>(windows, samples_strips);
}

template <Backend B, class T>
std::size_t ConvolutionKernels<B, T>::packed_weight_bytes(const Windows& windows, bool samples_strips) {
  using A = Arithmetic<T>;
  return static_cast<std::size_t>(PackedWeight<A>{windows, multiplies_vectors<A>(windows, samples_strips)}.size()) *
         sizeof(A);
}

template <Backend B, class T>
void ConvolutionKernels<B, T>::pack_weight(const Context& ctx, const std::string& label, const Windows& windows,
                                           bool samples_strips, const Tensor4& weight, void* packed_weight) {
  if constexpr (B != Backend::cuda) {
    using A = Arithmetic<T>;
    launch_by_items<B>(ctx, label,
                       PackWeight<B, T>(windows, multiplies_vectors<A>(windows, samples_strips), weight,
                                        static_cast<A*>(packed_weight)));
  }
}

}  // namespace portops::impl
