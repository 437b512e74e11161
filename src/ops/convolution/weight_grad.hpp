// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "core/lanes/cascade.hpp"
#include "ops/convolution/im2col.hpp"

#include <array>
#include <string>

namespace portops::impl {

/// weight_grad, as a product over the pixels of a step's columns and out_grad, collected over the steps by a tree.
class WeightGrad {
 public:
  WeightGrad() = default;
  /// `padding`: the columns that the rows of out_grad have beyond its channels.
  WeightGrad(MemoryLayout& layout, const TensorRef& weight_grad, std::int64_t steps, std::int64_t padding = 0);

  /// The product of the index-th step; grads and columns have a row a pixel.
  template <Backend B, class T>
  void add(const Context& ctx, const std::string& label, const Windows& windows, std::int64_t index,
           const TensorRef& grads, const TensorRef& columns, void* memory, Workspace workspace) const {
    multiply(ctx, windows, index, grads, columns, memory, workspace);
    Cascade::carry(index + 1, levels<B, T>(ctx, label, windows, memory));
  }

  /// Adds up the sums over all steps, which then are to be rounded into `to`.
  template <Backend B, class T>
  Rearrangement finish(const Context& ctx, const std::string& label, const Windows& windows, std::int64_t steps,
                       const TensorRef& to, void* memory) const {
    const int total = Cascade::finish(steps, levels<B, T>(ctx, label, windows, memory));
    return from_channels_last(to, 0, windows.out_channels, sums(total, memory));
  }

 private:
  void* sums(int level, void* memory) const { return levels_[static_cast<std::size_t>(level)].in(memory); }
  void multiply(const Context& ctx, const Windows& windows, std::int64_t index, const TensorRef& grads,
                const TensorRef& columns, void* memory, Workspace workspace) const;

  /// Adds a level to another one.
  template <Backend B, class T>
  auto levels(const Context& ctx, const std::string& label, const Windows& windows, void* memory) const {
    return [this, &ctx, &label, &windows, memory](int level, int to, bool is_first) {
      ConvolutionKernels<B, T>::add_sums(ctx, label, sums(to, memory), sums(level, memory),
                                         windows.out_channels * windows.group_column(), is_first);
    };
  }

  std::array<TemporaryArray, Cascade::most_levels> levels_;
};

inline std::int64_t steps_of(std::int64_t images, std::int64_t step) { return (images - 1) / step + 1; }
inline std::size_t arithmetic_size(ElementType type) { return type == ElementType::f64 ? 8 : 4; }
/// Of sums of weight_grad over so many chunks of pixels.
inline std::size_t chunk_sums_bytes(const Windows& windows, std::int64_t chunks, ElementType type) {
  MemoryLayout layout;
  layout.add(chunks * windows.out_channels * windows.group_column(), arithmetic_size(type));
  return layout.bytes();
}
inline ElementType arithmetic_type(ElementType type) { return type == ElementType::f64 ? type : ElementType::f32; }

/// out_grad of a step as a matrix with a row a pixel: where the tensor is none, a copy. Of a single group its rows may
/// be padded with zeros, to so many columns.
class OutGradRows {
 public:
  OutGradRows() = default;
  OutGradRows(MemoryLayout& layout, const Windows& windows, const TensorRef& out_grad, std::int64_t step,
              std::int64_t columns, bool is_copied) {
    if (!is_copied) return;
    padding_ = columns - windows.out_channels;
    copy_ = TemporaryArray(layout, step * windows.pixels() * columns, size_of(out_grad.type()));
  }
  OutGradRows(MemoryLayout& layout, const Windows& windows, const TensorRef& out_grad, std::int64_t step,
              std::int64_t columns)
      : OutGradRows(layout, windows, out_grad, step, columns, !is_matrix_of_pixels(out_grad)) {}
  OutGradRows(MemoryLayout& layout, const Windows& windows, const TensorRef& out_grad, std::int64_t step)
      : OutGradRows(layout, windows, out_grad, step, windows.out_channels) {}

  std::int64_t padding() const { return padding_; }

  /// Those of `count` images from `first` on, once the copies are made.
  TensorRef rows(const Context& ctx, const ConvolutionLabels& labels, const Windows& windows, const TensorRef& out_grad,
                 std::int64_t first, std::int64_t count, void* memory, Copies& copies) const {
    const Matrices matrix(ctx, out_grad.type());
    const std::int64_t pixels = windows.pixels(), columns = windows.group_out_channels();
    if (!copy_) return matrix(tensor4(out_grad, first).data, count * pixels, columns, pixel_distance(out_grad));
    const std::int64_t distance = windows.out_channels + padding_;
    copies.add(to_channels_last(out_grad, first, count, copy_.in(memory), distance));
    const TensorRef all = matrix(copy_.in(memory), count * pixels, columns + padding_, distance);
    if (padding_ > 0) {
      const Extents zeros{count * pixels, padding_};
      fill_with_bias(ctx, labels, moved(all, windows.out_channels, zeros, all.strides()));
    }
    return all;
  }

 private:
  std::int64_t padding_ = 0;
  TemporaryArray copy_;
};

}  // namespace portops::impl
