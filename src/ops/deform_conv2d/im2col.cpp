// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/deform_conv2d/im2col.hpp"

#include "blas/gemm.hpp"
#include "core/exec/dispatch.hpp"
#include "core/exec/memory_layout.hpp"
#include "core/exec/runtime.hpp"
#include "core/exec/workspace.hpp"
#include "core/lanes/cascade.hpp"
#include "ops/deform_conv2d/deform_conv2d_kernels.hpp"
#include "ops/deform_conv2d/layouts.hpp"

#include <algorithm>
#include <array>

namespace portops::impl {
namespace {

using blas::Batch;
using blas::Transpose;

std::size_t arithmetic_size(ElementType type) { return type == ElementType::f64 ? 8 : 4; }
ElementType arithmetic_type(ElementType type) { return type == ElementType::f64 ? type : ElementType::f32; }

/// Matrices as gemm takes them.
class Matrices {
 public:
  Matrices(const Context& ctx, ElementType type) : space_(default_memory_space(ctx.backend())), type_(type) {}

  TensorRef operator()(void* data, std::int64_t rows, std::int64_t columns, std::int64_t stride) const {
    return {data, type_, {rows, columns}, {stride, 1}, space_};
  }

 private:
  MemorySpace space_;
  ElementType type_;
};

void* advanced(void* data, std::int64_t elements, ElementType type) {
  return static_cast<std::byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

/// The temporary arrays that both directions need.
struct Im2colArrays {
  TemporaryArray x, weight, columns, gemm;

  Im2colArrays(MemoryLayout& layout, const Context& ctx, const Windows& windows, const TensorRef& x_tensor,
               const TensorRef& weight_tensor, std::int64_t step, bool reads_weight = true) {
    const std::size_t element = size_of(x_tensor.type());
    if (!has_channels_last(x_tensor)) x = TemporaryArray(layout, step * windows.channels * windows.area(), element);
    if (reads_weight && !is_dense_channels_last(weight_tensor)) {
      weight = TemporaryArray(layout, weight_tensor.size(), element);
    }
    columns = TemporaryArray(layout, step * windows.pixels() * windows.column(), element);
    gemm = TemporaryArray(layout, static_cast<std::int64_t>(blas::gemm_workspace(ctx)), 1);
  }

  Workspace gemm_workspace(const Context& ctx, void* memory) const {
    return {gemm.in(memory), blas::gemm_workspace(ctx)};
  }
};

/// Runs a call step by step with the kernels of one backend and element type.
template <Backend B, class T>
class Im2col {
 public:
  using Kernels = DeformConv2dKernels<B, T>;

  Im2col(const Context& ctx, const Im2colArrays& arrays, void* memory, const TensorRef& weight)
      : ctx_(ctx), arrays_(arrays), memory_(memory), weight_(weight.data()) {
    if (!arrays.weight) return;
    weight_ = arrays.weight.in(memory);
    Kernels::rearrange(ctx, "portops::deform_conv2d::weight[channels_last]",
                       to_channels_last(weight, 0, weight.extent(0), weight_));
  }

  /// The step of `count` images from `first` on; x with its channels last.
  ImageStep step(const Windows& all, std::int64_t first, std::int64_t count, const TensorRef& x,
                 const TensorRef& offset, const TensorRef& mask) const {
    ImageStep step{.windows = all, .offset = tensor4(offset, first), .mask = tensor4(mask, first)};
    step.windows.images = count;
    step.columns = arrays_.columns.in(memory_);
    step.x = tensor4(x, first);
    if (arrays_.x) {
      const Rearrangement copy = to_channels_last(x, first, count, arrays_.x.in(memory_));
      Kernels::rearrange(ctx_, "portops::deform_conv2d::x[channels_last]", copy);
      const std::int64_t pixel = all.channels;
      step.x = {arrays_.x.in(memory_), {all.area() * pixel, 1, all.width * pixel, pixel}};
    }
    return step;
  }

  void* weight() const { return weight_; }
  Workspace workspace() const { return arrays_.gemm_workspace(ctx_, memory_); }

 private:
  const Context& ctx_;
  const Im2colArrays& arrays_;
  void* memory_;
  void* weight_;
};

/// The context of products. On hosts these are portops' own where the context leaves the choice: batches of small
/// products, which a vendor's BLAS computes one by one, took it three times as long on 16 cores.
Context of_products(const Context& ctx) {
  const bool chooses = ctx.products() == Products::automatic && ctx.backend() != Backend::cuda;
  return chooses ? Context(ctx).products(Products::own) : ctx;
}

std::int64_t steps_of(std::int64_t images, std::int64_t step) { return (images - 1) / step + 1; }

/// Calls action(first, count) for steps of images.
template <class Action>
void for_steps(std::int64_t images, std::int64_t step, const Action& action) {
  for (std::int64_t first = 0; first < images; first += step) action(first, std::min(step, images - first));
}

struct ForwardMemory {
  MemoryLayout layout;
  Im2colArrays arrays;
  bool by_pixels = false;  ///< whether a step's products have a row a pixel, or a row a channel of one image
  TemporaryArray out;      ///< where the product cannot write into the tensor itself

  ForwardMemory(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t, std::int64_t step)
      : arrays(layout, ctx, windows, t.x, t.weight, step) {
    const bool has_pixels = is_matrix_of_pixels(t.out), has_planes = is_matrix_of_planes(t.out);
    // Kokkos Kernels computes one product after the other: one for all images of a step is worth the copy.
    by_pixels = (ctx.products() == Products::kokkos_kernels && step > 1) || (has_pixels && !has_planes);
    if (by_pixels ? !has_pixels : !has_planes) {
      out = TemporaryArray(layout, step * windows.out_channels * windows.pixels(), size_of(t.x.type()));
    }
  }

  /// The product's tensor for the images from `first` on.
  Tensor4 product(const TensorRef& tensor, std::int64_t first, void* memory) const {
    if (!out) return tensor4(tensor, first);
    const std::int64_t channels = tensor.extent(1), width = tensor.extent(3);
    if (by_pixels) {
      return {out.in(memory), {channels * tensor.extent(2) * width, 1, channels * width, channels}};
    }
    const Extents strides = tensor.extents().row_major_strides();
    return {out.in(memory), {strides[0], strides[1], strides[2], strides[3]}};
  }
};

/// out + = weight · columns, group by group. out has a matrix of channels and pixels for each image.
void multiply_planes(const Context& ctx, const Windows& w, const Matrices& matrix, ElementType type, void* weight,
                     void* columns, const Tensor4& out, double beta, Workspace workspace) {
  const std::int64_t m = w.group_out_channels(), k = w.group_column(), p = w.pixels();
  // One batch of all images of a group, or of all groups of an image, whichever are more.
  const bool by_group = w.images >= w.groups;
  const Batch batch =
      by_group ? Batch{w.images, 0, p * w.column(), out.stride[0]} : Batch{w.groups, m * k, k, m * out.stride[1]};
  const std::int64_t products = by_group ? w.groups : w.images;
  for (std::int64_t i = 0; i < products; ++i) {
    void* const a = advanced(weight, by_group ? i * m * k : 0, type);
    void* const b = advanced(columns, i * (by_group ? k : p * w.column()), type);
    void* const c = advanced(out.data, i * (by_group ? m * out.stride[1] : out.stride[0]), type);
    blas::gemm(of_products(ctx), Transpose::no, Transpose::yes, 1.0, matrix(a, m, k, k), matrix(b, p, k, w.column()),
               beta, matrix(c, m, p, out.stride[1]), batch, workspace);
  }
}

/// The same for an out whose pixels are the rows of one matrix, `distance` apart.
void multiply_pixels(const Context& ctx, const Windows& w, const Matrices& matrix, void* weight, void* columns,
                     void* out, std::int64_t distance, double beta, Workspace workspace) {
  const std::int64_t m = w.group_out_channels(), k = w.group_column(), p = w.images * w.pixels();
  blas::gemm(of_products(ctx), Transpose::no, Transpose::yes, 1.0, matrix(columns, p, k, w.column()),
             matrix(weight, m, k, k), beta, matrix(out, p, m, distance), Batch{w.groups, k, m * k, m}, workspace);
}

template <Backend B, class T>
void run_forward(const Context& ctx, const Windows& windows, const DeformConv2dTensors& t, std::int64_t step) {
  const ForwardMemory plan(ctx, windows, t, step);
  const Temporary memory(ctx, "portops::deform_conv2d::workspace", plan.layout.bytes());
  const Im2col<B, T> im2col(ctx, plan.arrays, memory.data(), t.weight);
  const ElementType type = t.x.type();
  const Matrices matrix(ctx, type);
  for_steps(windows.images, step, [&](std::int64_t first, std::int64_t count) {
    const ImageStep s = im2col.step(windows, first, count, t.x, t.offset, t.mask);
    DeformConv2dKernels<B, T>::columns(ctx, s);
    const Tensor4 out = plan.product(t.out, first, memory.data());
    if (t.bias) {
      Extents extents = t.out.extents();
      extents[0] = count;
      DeformConv2dKernels<B, T>::fill(ctx, extents, out, t.bias.data(), t.bias.stride(0));
    }
    const double beta = t.bias ? 1.0 : 0.0;
    if (plan.by_pixels) {
      const std::int64_t distance = plan.out ? windows.out_channels : pixel_distance(t.out);
      multiply_pixels(ctx, s.windows, matrix, im2col.weight(), s.columns, out.data, distance, beta, im2col.workspace());
    } else {
      multiply_planes(ctx, s.windows, matrix, type, im2col.weight(), s.columns, out, beta, im2col.workspace());
    }
    if (plan.out) {
      DeformConv2dKernels<B, T>::rearrange(ctx, "portops::deform_conv2d::out[strided]",
                                           plan.by_pixels ? from_channels_last(t.out, first, count, out.data)
                                                          : from_contiguous(t.out, first, count, out.data));
    }
  });
}

/// Whether the gradients of the columns are needed, and so the weight.
bool wants_columns_grad(const DeformConv2dGradTensors& t) { return t.x_grad || t.offset_grad || t.mask_grad; }

struct BackwardMemory {
  MemoryLayout layout;
  Im2colArrays arrays;
  TemporaryArray out_grad;  ///< as a matrix with a row a pixel, where the tensor is none
  TemporaryArray x_grad;
  std::array<TemporaryArray, Cascade::most_levels> weight_grad;  ///< sums over the steps, by a tree
  TemporaryArray columns_grad;

  BackwardMemory(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t, std::int64_t step)
      : arrays(layout, ctx, windows, t.x, t.weight, step, wants_columns_grad(t)) {
    const ElementType type = t.x.type();
    if (!is_matrix_of_pixels(t.out_grad)) {
      out_grad = TemporaryArray(layout, step * windows.pixels() * windows.out_channels, size_of(type));
    }
    if (t.x_grad) x_grad = TemporaryArray(layout, step * windows.area() * windows.channels, arithmetic_size(type));
    const int levels = t.weight_grad ? Cascade::levels(steps_of(windows.images, step)) : 0;
    for (int level = 0; level < levels; ++level) {
      weight_grad[static_cast<std::size_t>(level)] = TemporaryArray(layout, t.weight.size(), arithmetic_size(type));
    }
    // Steps of fewer images may need more: they share out the channels.
    std::size_t bytes = 0;
    for (const std::int64_t images : {step, windows.images % step}) {
      Windows of_step = windows;
      of_step.images = images;
      bytes = std::max(bytes, dispatch(ctx.backend(), type, [&]<Backend B, class T>() {
                         return DeformConv2dGradKernels<B, T>::columns_grad_memory(
                             ctx, of_step, static_cast<bool>(t.x_grad), t.offset_grad || t.mask_grad);
                       }));
    }
    columns_grad = TemporaryArray(layout, static_cast<std::int64_t>(bytes), 1);
  }
};

template <Backend B, class T>
void run_backward(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& t, std::int64_t step) {
  const BackwardMemory plan(ctx, windows, t, step);
  const Temporary memory(ctx, "portops::deform_conv2d_grad::workspace", plan.layout.bytes());
  const Im2col<B, T> im2col(ctx, plan.arrays, memory.data(), t.weight);
  const ElementType type = t.x.type();
  const Matrices matrix(ctx, type);
  const Matrices sums(ctx, arithmetic_type(type));
  const std::int64_t m = windows.group_out_channels(), k = windows.group_column();
  using GradKernels = DeformConv2dGradKernels<B, T>;
  const auto weight_grad = [&](int level) {
    return plan.weight_grad[static_cast<std::size_t>(level)].in(memory.data());
  };
  const auto add_levels = [&](int level, int to, bool is_first) {
    GradKernels::add_sums(ctx, weight_grad(to), weight_grad(level), t.weight.size(), is_first);
  };
  for_steps(windows.images, step, [&](std::int64_t first, std::int64_t count) {
    const ImageStep s = im2col.step(windows, first, count, t.x, t.offset, t.mask);
    const std::int64_t p = count * windows.pixels();
    void* out_grad = tensor4(t.out_grad, first).data;
    std::int64_t distance = pixel_distance(t.out_grad);
    if (plan.out_grad) {
      out_grad = plan.out_grad.in(memory.data());
      distance = windows.out_channels;
      DeformConv2dKernels<B, T>::rearrange(ctx, "portops::deform_conv2d_grad::out_grad[channels_last]",
                                           to_channels_last(t.out_grad, first, count, out_grad));
    }
    const TensorRef grads = matrix(out_grad, p, m, distance);
    const TensorRef columns = matrix(s.columns, p, k, windows.column());
    const auto add_to_weight_grad = [&] {
      const std::int64_t index = first / step;
      blas::gemm(of_products(ctx), Transpose::yes, Transpose::no, 1.0, grads, columns,
                 Cascade::begins(index) ? 0.0 : 1.0, sums(weight_grad(0), m, k, k), Batch{windows.groups, m, k, m * k},
                 im2col.workspace());
      Cascade::carry(index + 1, add_levels);
    };
    // The columns are made by the pass that reads their gradients where it can, else before these are computed.
    const bool makes_columns = t.weight_grad && wants_columns_grad(t) && GradKernels::can_make_columns(s);
    if (t.weight_grad && !makes_columns) {
      DeformConv2dKernels<B, T>::columns(ctx, s);
      add_to_weight_grad();
    }
    if (!wants_columns_grad(t)) return;
    blas::gemm(of_products(ctx), Transpose::no, Transpose::no, 1.0, grads, matrix(im2col.weight(), m, k, k), 0.0,
               columns, Batch{windows.groups, m, m * k, k}, im2col.workspace());
    GradKernels::columns_grad(ctx, s,
                              {plan.x_grad.in(memory.data()), tensor4(t.offset_grad, first),
                               tensor4(t.mask_grad, first), plan.columns_grad.in(memory.data()), makes_columns});
    if (makes_columns) add_to_weight_grad();
    if (t.x_grad) {
      GradKernels::rearrange_sums(ctx, "portops::deform_conv2d_grad::x_grad[strided]",
                                  from_channels_last(t.x_grad, first, count, plan.x_grad.in(memory.data())));
    }
  });
  if (t.weight_grad) {
    const int total = Cascade::finish(steps_of(windows.images, step), add_levels);
    GradKernels::rearrange_sums(ctx, "portops::deform_conv2d_grad::weight_grad[strided]",
                                from_channels_last(t.weight_grad, 0, windows.out_channels, weight_grad(total)));
  }
}

}  // namespace

void deform_conv2d_by_im2col(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors,
                             std::int64_t step) {
  dispatch(ctx.backend(), tensors.x.type(),
           [&]<Backend B, class T>() { run_forward<B, T>(ctx, windows, tensors, step); });
}

void deform_conv2d_grad_by_im2col(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step) {
  dispatch(ctx.backend(), tensors.x.type(),
           [&]<Backend B, class T>() { run_backward<B, T>(ctx, windows, tensors, step); });
}

std::size_t im2col_workspace(const Context& ctx, const Windows& windows, const DeformConv2dTensors& tensors,
                             std::int64_t step) {
  return ForwardMemory(ctx, windows, tensors, step).layout.bytes();
}

std::size_t im2col_grad_workspace(const Context& ctx, const Windows& windows, const DeformConv2dGradTensors& tensors,
                                  std::int64_t step) {
  return BackwardMemory(ctx, windows, tensors, step).layout.bytes();
}

}  // namespace portops::impl
