// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/tensor_product.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/workspace.hpp"
#include "core/map/sum_plan.hpp"
#include "ops/products/gemm_plan.hpp"
#include "ops/products/parts_plan.hpp"
#include "ops/products/tensor_product_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

namespace portops::impl {
namespace {

using Axis = TensorProduct::Axis;
using Axes = TensorProduct::Axes;

/// The k-th axis from the last. One that a tensor does not have has extent 1; strides of such axes mean nothing.
Axis axis_from_last(const TensorRef& tensor, int k, TensorProduct::Tensors number) {
  Axis result;
  const int axis = tensor.rank() - 1 - k;
  if (axis < 0 || tensor.extent(axis) == 1) return result;
  result.extent = tensor.extent(axis);
  result.stride[number] = tensor.stride(axis);
  return result;
}

const ProductLabels& labels_of(ProductOperator op) {
  static const std::array labels{ProductLabels("matmul"), ProductLabels("matmul_grad"), ProductLabels("linear"),
                                 ProductLabels("linear_grad")};
  return labels[static_cast<std::size_t>(op)];
}

/// Whether the product is an element-wise one with sums: where there are no terms, and where each number of one operand
/// or more is used once, so that the time is that of reading it. On GPUs blas multiplies a matrix and a vector faster,
/// as they lie.
bool suits_loop(const Context& ctx, const TensorProduct& p) {
  if (p.extent(TensorProduct::inner) == 0) return !p.bias;
  if (p.bias || ctx.products() == Products::kokkos_kernels) return false;
  std::size_t rank = 0;
  for (const Axes& axes : p.axes) rank += axes.size();
  const auto lacks = [&](TensorProduct::Kinds kind) { return p.axes[kind].empty(); };
  const bool lacks_rows = lacks(TensorProduct::rows), lacks_columns = lacks(TensorProduct::columns),
             lacks_inner = lacks(TensorProduct::inner);
  if (rank > max_rank || !(lacks_rows || lacks_columns || lacks_inner)) return false;
  const bool is_matrix_and_vector = !lacks_inner && lacks_rows != lacks_columns;
  return ctx.backend() != Backend::cuda || !is_matrix_and_vector || !GemmPlan(ctx, p).is_direct();
}

Loop make_product_loop(const TensorProduct& p) {
  std::vector<std::int64_t> extents, c_extents;
  std::array<std::vector<std::int64_t>, 3> strides;
  std::array<std::int64_t, 3> size{1, 1, 1};
  const Axis* fastest = nullptr;  // of c
  for (const Axes& axes : p.axes) {
    const bool is_summed = &axes == &p.axes[TensorProduct::inner];
    for (const Axis& axis : axes) {
      extents.push_back(axis.extent);
      c_extents.push_back(is_summed ? 1 : axis.extent);
      for (std::size_t k = 0; k < strides.size(); ++k) {
        strides[k].push_back(axis.stride[k]);
        if (axis.stride[k] != 0) size[k] *= axis.extent;
      }
      const auto distance = [](const Axis& along) { return std::abs(along.stride[TensorProduct::c]); };
      if (!is_summed && (fastest == nullptr || distance(axis) < distance(*fastest))) fastest = &axis;
    }
  }
  const auto tensor = [&](TensorProduct::Tensors number, const std::vector<std::int64_t>& own_extents) {
    const TensorRef& given = p.tensor[number];
    return TensorRef(given.data(), given.type(), Extents(std::span(own_extents)), Extents(std::span(strides[number])),
                     given.space());
  };
  const TensorOrNumber a = tensor(TensorProduct::a, extents), b = tensor(TensorProduct::b, extents);
  const TensorRef c = tensor(TensorProduct::c, c_extents);
  // First the one that is read by packs: where nothing is summed, the one that moves along the neighbours in c.
  const bool sums = !p.axes[TensorProduct::inner].empty();
  const bool b_first = sums ? size[TensorProduct::b] > size[TensorProduct::a]
                            : fastest != nullptr && fastest->stride[TensorProduct::a] == 0;
  return make_loop(c.type(), Extents(std::span(extents)), std::array{b_first ? &b : &a, b_first ? &a : &b},
                   std::array{&c});
}

/// Makes one axis of the first two that allow it; false where none do.
bool merge_two(Axes& axes) {
  const auto follows = [](const Axis& axis, const Axis& outer) {
    for (std::size_t k = 0; k < axis.stride.size(); ++k) {
      if (outer.stride[k] != axis.stride[k] * axis.extent) return false;
    }
    return true;
  };
  for (Axis& axis : axes) {
    const auto outer = std::find_if(axes.begin(), axes.end(),
                                    [&](const Axis& other) { return &other != &axis && follows(axis, other); });
    if (outer == axes.end()) continue;
    axis.extent *= outer->extent;
    axes.erase(outer);
    return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(ProductOperator op) {
  constexpr std::array<std::string_view, 4> names{"matmul", "matmul_grad", "linear", "linear_grad"};
  return names[static_cast<std::size_t>(op)];
}

std::int64_t TensorProduct::extent(Kinds kind) const {
  std::int64_t result = 1;
  for (const Axis& axis : axes[kind]) result *= axis.extent;
  return result;
}

TensorProduct make_tensor_product(const TensorRef& a, const TensorRef& b, const TensorRef& c, const TensorRef& bias) {
  TensorProduct p{.tensor = {a, b, c}, .bias = bias};
  for (int k = std::max({a.rank(), b.rank(), c.rank()}) - 1; k >= 0; --k) {
    // Of the matrices, the last axis of a and the last but one of b are the inner one.
    const Axis of_c = axis_from_last(c, k, TensorProduct::c);
    const Axis of_a = axis_from_last(a, k, TensorProduct::a);
    const Axis of_b = axis_from_last(b, k, TensorProduct::b);
    const auto add = [&](TensorProduct::Kinds kind, const Axis& first, const Axis& second) {
      Axis axis{first.extent == 1 ? second.extent : first.extent, {}};
      for (std::size_t i = 0; i < axis.stride.size(); ++i) axis.stride[i] = first.stride[i] + second.stride[i];
      if (axis.extent != 1) p.axes[kind].push_back(axis);
    };
    if (k == 1) {
      add(TensorProduct::rows, of_a, of_c);
      add(TensorProduct::inner, axis_from_last(a, 0, TensorProduct::a), of_b);
    } else if (k == 0) {
      add(TensorProduct::columns, of_b, of_c);
    } else {
      Axis both{of_a.extent == 1 ? of_b.extent : of_a.extent, {of_a.stride[0], of_b.stride[1], 0}};
      const bool is_summed = of_c.extent != both.extent;
      add(is_summed                            ? TensorProduct::inner
          : both.stride[TensorProduct::b] == 0 ? TensorProduct::rows
          : both.stride[TensorProduct::a] == 0 ? TensorProduct::columns
                                               : TensorProduct::batch,
          both, of_c);
    }
  }
  for (Axes& axes : p.axes) merge_axes(axes);
  return p;
}

void merge_axes(Axes& axes) {
  while (merge_two(axes)) {
  }
}

std::size_t tensor_product_workspace(const Context& ctx, const TensorProduct& product) {
  if (product.tensor[TensorProduct::c].size() == 0) return 0;
  if (suits_loop(ctx, product)) return map_workspace(make_product_loop(product), ctx.backend());
  if (product.extent(TensorProduct::inner) == 0) return 0;
  const GemmPlan whole(ctx, product);
  const std::optional<PartsPlan> parts = PartsPlan::find(ctx, product, whole);
  return parts ? parts->workspace() : whole.workspace();
}

void multiply(const Context& ctx, ProductOperator op, const TensorProduct& product) {
  if (product.tensor[TensorProduct::c].size() == 0) return;
  if (suits_loop(ctx, product)) {
    const Loop loop = make_product_loop(product);
    return dispatch(ctx.backend(), loop.type,
                    [&]<Backend B, class T>() { TensorProductKernels<B, T>::sum(ctx, op, loop); });
  }
  const ProductLabels& labels = labels_of(op);
  if (product.extent(TensorProduct::inner) == 0) return spread_bias(ctx, labels, product);
  const GemmPlan whole(ctx, product);
  const std::optional<PartsPlan> parts = PartsPlan::find(ctx, product, whole);
  const Temporary memory(ctx, labels.workspace.c_str(), parts ? parts->workspace() : whole.workspace());
  parts ? parts->run(ctx, op, labels, memory.data()) : whole.run(ctx, labels, memory.data());
}

std::size_t ProductGradients::workspace(const Context& ctx) const {
  std::size_t bytes = of_bias ? map_workspace(*of_bias, ctx.backend()) : 0;
  for (const TensorProduct& product : products) bytes = std::max(bytes, tensor_product_workspace(ctx, product));
  return bytes;
}

void multiply(const Context& ctx, ProductOperator op, const ProductGradients& gradients) {
  const std::size_t bytes = gradients.workspace(ctx);
  const Temporary memory(ctx, labels_of(op).workspace.c_str(), bytes);
  const Context lent = Context(ctx).workspace({memory.data(), bytes});
  for (const TensorProduct& product : gradients.products) multiply(lent, op, product);
  if (!gradients.of_bias) return;
  dispatch(ctx.backend(), gradients.of_bias->type,
           [&]<Backend B, class T>() { TensorProductKernels<B, T>::sum(lent, op, *gradients.of_bias); });
}

TensorRef transposed(const TensorRef& tensor) {
  const int last = tensor.rank() - 1;
  Extents extents = tensor.extents(), strides = tensor.strides();
  std::swap(extents[last], extents[last - 1]);
  std::swap(strides[last], strides[last - 1]);
  return {tensor.data(), tensor.type(), extents, strides, tensor.space(), tensor.read_only()};
}

}  // namespace portops::impl
