// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/atomic_pack.hpp"
#include "ops/convolution/columns.hpp"
#include "ops/convolution/deform_conv2d/bilinear.hpp"

namespace portops::impl {

/// Where the gradients of a step go that follow from those of its columns. What is not wanted is null.
template <class T>
struct ColumnsGradTargets {
  using A = Arithmetic<T>;
  A* x_grad = nullptr;  ///< sums, all channels of a pixel side by side, without gaps
  Tensor4 offset_grad, mask_grad;

  KOKKOS_FUNCTION A* x_grad_at(std::int64_t offset) const { return x_grad == nullptr ? nullptr : x_grad + offset; }
  KOKKOS_FUNCTION bool wants_products() const { return offset_grad.data != nullptr || mask_grad.data != nullptr; }
};

/// The gradients of a sample's offset and mask follow from four sums over channels: the products of the gradient of its
/// column with the pixels at its corners.
template <class T>
class SampleGrad {
 public:
  using A = Arithmetic<T>;

  SampleGrad(const Windows& windows, const ColumnsGradTargets<T>& targets) : windows_(windows), targets_(targets) {}

  KOKKOS_FUNCTION void write(const SampleIndex& at, const Sample<A>& sample, const A (&product)[corners]) const {
    const std::int64_t i = quotient(at.pixel, windows_.out_width);
    write({at.image, i, at.pixel - i * windows_.out_width}, at.deformable_group * windows_.taps() + at.tap, sample,
          product);
  }

  /// The same, of a pixel of out, and the sample's number there.
  struct Pixel {
    std::int64_t image, i, j;
  };
  KOKKOS_FUNCTION void write(const Pixel& at, std::int64_t number, const Sample<A>& sample,
                             const A (&product)[corners]) const {
    const A nothing = sample.is_nan ? Kokkos::Experimental::quiet_NaN_v<A> : A(0);
    const A up = A(1) - sample.down, left = A(1) - sample.right;
    if (targets_.mask_grad.data != nullptr) {
      A weight[corners];
      sample.weights(weight);
      A sum = nothing;
      for (int k = 0; k < corners; ++k) sum = sample.exists[k] ? Kokkos::fma(weight[k], product[k], sum) : sum;
      element(targets_.mask_grad, at, number) = static_cast<T>(sum);
    }
    if (targets_.offset_grad.data != nullptr) {
      // A corner that does not exist has products 0.
      const A down = left * (product[2] - product[0]) + sample.right * (product[3] - product[1]);
      const A right = up * (product[1] - product[0]) + sample.down * (product[3] - product[2]);
      element(targets_.offset_grad, at, 2 * number) = static_cast<T>(sample.factor * (down + nothing));
      element(targets_.offset_grad, at, 2 * number + 1) = static_cast<T>(sample.factor * (right + nothing));
    }
  }

 private:
  KOKKOS_FUNCTION static T& element(const Tensor4& tensor, const Pixel& at, std::int64_t channel) {
    return static_cast<T*>(tensor.data)[tensor.offset(at.image, channel, at.i, at.j)];
  }

  Windows windows_;
  ColumnsGradTargets<T> targets_;
};

/// How a pack of channels, or the first `count` of it, is added to sums that other threads add to, and to others.
struct AddAtomically {
  template <class A, int N>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(A* to, const A (&values)[N], int /*count*/) const {
    add_atomically(in_device_memory(to), values);
  }
};
struct AddAlone {
  template <class A, int N>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(A* to, const A (&values)[N], int count) const {
    if (count == N) {
      for (int i = 0; i < N; ++i) to[i] += values[i];
    } else {
      for (int i = 0; i < count; ++i) to[i] += values[i];
    }
  }
};

/// What a pack of channels of a sample adds to the products and, by `add`, to x_grad.
template <Backend B, class T, int N, class Add>
KOKKOS_FORCEINLINE_FUNCTION void take_pack(const bool (&exists)[corners], const Arithmetic<T> (&weight)[corners],
                                           const T* const (&pixel)[corners], Arithmetic<T>* const (&x_grad)[corners],
                                           const T* column_grad, int count, bool wants_products, bool wants_x_grad,
                                           Arithmetic<T> (&product)[corners][N], const Add& add) {
  using A = Arithmetic<T>;
  A grad[N];
  read_channels<B, T, N>(grad, column_grad, count);
  if (wants_products) {
    // All corners are read before the first one is waited for; one that does not exist is another's, for nothing.
    A value[corners][N];
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) read_channels<B, T, N>(value[k], pixel[k], count);
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      if (!exists[k]) continue;
      PORTOPS_UNROLL
      for (int i = 0; i < N; ++i) product[k][i] = Kokkos::fma(grad[i], value[k][i], product[k][i]);
    }
  }
  if (!wants_x_grad) return;
  PORTOPS_UNROLL
  for (int k = 0; k < corners; ++k) {
    if (!exists[k]) continue;
    A share[N];
    PORTOPS_UNROLL
    for (int i = 0; i < N; ++i) share[i] = weight[k] * grad[i];
    add(x_grad[k], share, count);
  }
}

/// On a GPU: the gradients that follow from a step's columns, a group of lanes a sample. x_grad is summed by atomic
/// additions.
template <Backend B, class T, int N>
class ColumnsGrad {
 public:
  using A = Arithmetic<T>;
  using Team = typename Kokkos::TeamPolicy<SpaceOf<B>>::member_type;
  static constexpr int threads = 256;
  static constexpr int blocks = 3;
  /// Of a team: fewer than of Columns, so that teams end at different times.
  static constexpr int team_samples = 32;
  std::int64_t first_team = 0;

  ColumnsGrad(const Windows& windows, const SamplerOf<T>& sampler, const T* x, const PixelStrides& strides,
              const T* column_grads, const ColumnsGradTargets<T>& targets)
      : windows_(windows),
        sampler_(sampler),
        packs_(windows),
        x_(x),
        strides_(strides),
        column_grads_(column_grads),
        targets_(targets),
        sample_grad_(windows, targets),
        lanes_(packs_.template lanes<B>()) {}

  std::int64_t teams() const { return ceil_div(windows_.all_samples(), team_samples); }
  static std::size_t scratch_bytes() { return team_samples * sizeof(Entry); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t first = (first_team + team.league_rank()) * team_samples;
    const std::int64_t left = windows_.all_samples() - first;
    const int count = left < team_samples ? static_cast<int>(left) : team_samples;
    auto* const entries = scratch_of<Entry>(team);
    for (int i = team.team_rank(); i < count; i += threads) entries[i] = make_entry(first + i);
    team.team_barrier();
    const int lane = team.team_rank() & (lanes_ - 1);
    // All lanes of a warp take part in the sums.
    for (int begin = 0; begin < count; begin += threads / lanes_) {
      const int i = begin + team.team_rank() / lanes_;
      A product[corners] = {};
      if (i < count) take(entries[i], lane, product);
      if (!targets_.wants_products()) continue;
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) product[k] = sum_over_lanes(product[k], lanes_);
      if (i >= count || lane != 0) continue;
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) entries[i].product[k] = product[k];
    }
    if (!targets_.wants_products()) return;
    team.team_barrier();
    for (int i = team.team_rank(); i < count; i += threads) {
      sample_grad_.write(sample_index(windows_, first + i), entries[i].sample, entries[i].product);
    }
  }

 private:
  /// A sample, as far as it does not depend on the channel, and then its products.
  struct Entry {
    std::int64_t pixel[corners];   ///< where the channels of the corners lie in x
    std::int64_t x_grad[corners];  ///< and in x_grad
    std::int64_t column;
    A weight[corners];
    A product[corners];
    Sample<A> sample;
  };

  KOKKOS_FUNCTION Entry make_entry(std::int64_t index) const {
    const SampleIndex at = sample_index(windows_, index);
    const Sample<A> sample = sampler_(at);
    const PixelStrides dense = dense_strides(windows_);
    Entry entry{};
    entry.column = column_offset(windows_, at);
    entry.sample = sample;
    sample.weights(entry.weight);
    for (int k = 0; k < corners; ++k) {
      entry.weight[k] *= sample.factor;
      entry.pixel[k] = sample.offset(strides_, k);
      entry.x_grad[k] = sample.offset(dense, k);
    }
    return entry;
  }

  KOKKOS_FUNCTION void take(const Entry& entry, int lane, A (&product)[corners]) const {
    const T* const column_grad = column_grads_ + entry.column;
    const T* pixel[corners];
    A* x_grad[corners];
    A weight[corners];
    bool exists[corners];
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) {
      pixel[k] = x_ + entry.pixel[k];
      x_grad[k] = targets_.x_grad_at(entry.x_grad[k]);
      weight[k] = entry.weight[k];
      exists[k] = entry.sample.exists[k];
    }
    if (!(exists[0] || exists[1] || exists[2] || exists[3])) return;
    const int deformable_group = entry.sample.deformable_group;
    const int count = packs_.count();
    A products[corners][N] = {};
    for (int i = lane; i < count; i += lanes_) {
      const auto pack = packs_(deformable_group, i);
      const T* pixel_pack[corners];
      A* x_grad_pack[corners];
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) {
        pixel_pack[k] = pixel[k] + pack.channel;
        x_grad_pack[k] = targets_.x_grad == nullptr ? nullptr : x_grad[k] + pack.channel;
      }
      take_pack<B, T, N>(exists, weight, pixel_pack, x_grad_pack, column_grad + pack.column, pack.count,
                         targets_.wants_products(), targets_.x_grad != nullptr, products, AddAtomically());
    }
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) product[k] = sum_of(products[k]);
  }

  Windows windows_;
  SamplerOf<T> sampler_;
  ChannelPacks<N> packs_;
  const T* x_;
  PixelStrides strides_;
  const T* column_grads_;
  ColumnsGradTargets<T> targets_;
  SampleGrad<T> sample_grad_;
  int lanes_;
};

/// On hosts: the same, an item an image and a block of channels, so that no two threads add to one element of x_grad
/// and each adds in the same order. The products are left as sums over the block, for ProductsOfBlocks.
template <Backend B, class T, int N>
class ColumnsGradHost {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;
  static constexpr int block_packs = 64 / N;

  ColumnsGradHost(const Windows& windows, const SamplerOf<T>& sampler, const T* x, const PixelStrides& strides,
                  const T* column_grads, const ColumnsGradTargets<T>& targets, A* products)
      : windows_(windows),
        sampler_(sampler),
        packs_(windows),
        x_(x),
        strides_(strides),
        column_grads_(column_grads),
        targets_(targets),
        products_(products) {}

  /// Of the channels of a deformable group.
  static std::int64_t blocks_of_channels(const Windows& windows) {
    return ceil_div(ChannelPacks<N>(windows).count(), block_packs);
  }
  std::int64_t items() const { return windows_.images * windows_.deformable_groups * blocks_of_channels(windows_); }

  void operator()(std::int64_t item) const {
    const std::int64_t blocks = blocks_of_channels(windows_);
    const std::int64_t block = item % blocks;
    const std::int64_t group = item / blocks % windows_.deformable_groups;
    const std::int64_t image = item / blocks / windows_.deformable_groups;
    for (std::int64_t pixel = 0; pixel < windows_.pixels(); ++pixel) {
      for (std::int64_t tap = 0; tap < windows_.taps(); ++tap) take({image, pixel, group, tap}, block);
    }
  }

 private:
  void take(const SampleIndex& at, std::int64_t block) const {
    const Sample<A> sample = sampler_(at);
    A products[corners][N] = {};
    if (!sample.is_outside()) take_channels(at, sample, static_cast<int>(block), products);
    if (!targets_.wants_products()) return;
    const std::int64_t index = sample_number(windows_, at);
    const std::int64_t samples = windows_.all_samples();
    for (int k = 0; k < corners; ++k) products_[(block * samples + index) * corners + k] = sum_of(products[k]);
  }

  void take_channels(const SampleIndex& at, const Sample<A>& sample, int block, A (&products)[corners][N]) const {
    const T* const column_grad = column_grads_ + column_offset(windows_, at);
    const PixelStrides dense = dense_strides(windows_);
    A weight[corners];
    sample.weights(weight);
    for (A& w : weight) w *= sample.factor;
    const int end = std::min((block + 1) * block_packs, packs_.count());
    for (int i = block * block_packs; i < end; ++i) {
      const auto pack = packs_(sample.deformable_group, i);
      const T* pixel[corners];
      A* x_grad[corners];
      for (int k = 0; k < corners; ++k) {
        pixel[k] = x_ + sample.offset(strides_, k) + pack.channel;
        x_grad[k] = targets_.x_grad_at(sample.offset(dense, k) + pack.channel);
      }
      take_pack<B, T, N>(sample.exists, weight, pixel, x_grad, column_grad + pack.column, pack.count,
                         targets_.wants_products(), targets_.x_grad != nullptr, products, AddAlone());
    }
  }

  Windows windows_;
  SamplerOf<T> sampler_;
  ChannelPacks<N> packs_;
  const T* x_;
  PixelStrides strides_;
  const T* column_grads_;
  ColumnsGradTargets<T> targets_;
  A* products_;
};

/// Adds up the products that are left of each sample, a sum for each block of channels; those of corners that do not
/// exist may be anything. An item a sample.
template <Backend B, class T>
class ProductsOfBlocks {
 public:
  using A = Arithmetic<T>;
  static constexpr int blocks = 0;

  ProductsOfBlocks(const Windows& windows, const SamplerOf<T>& sampler, const ColumnsGradTargets<T>& targets,
                   const A* products, std::int64_t blocks_of_channels)
      : windows_(windows),
        sampler_(sampler),
        sample_grad_(windows, targets),
        products_(products),
        blocks_of_channels_(blocks_of_channels) {}

  KOKKOS_FUNCTION std::int64_t items() const { return windows_.all_samples(); }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    A product[corners] = {};
    for (std::int64_t block = 0; block < blocks_of_channels_; ++block) {
      PORTOPS_UNROLL
      for (int k = 0; k < corners; ++k) product[k] += products_[(block * items() + index) * corners + k];
    }
    const SampleIndex at = sample_index(windows_, index);
    const Sample<A> sample = sampler_(at);
    PORTOPS_UNROLL
    for (int k = 0; k < corners; ++k) product[k] = sample.exists[k] ? product[k] : A(0);
    sample_grad_.write(at, sample, product);
  }

 private:
  Windows windows_;
  SamplerOf<T> sampler_;
  SampleGrad<T> sample_grad_;
  const A* products_;
  std::int64_t blocks_of_channels_;
};

}  // namespace portops::impl
