// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/gemm_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

namespace portops::impl {
namespace {

using Axes = TensorProduct::Axes;
using Axis = TensorProduct::Axis;
using enum TensorProduct::Tensors;
using enum TensorProduct::Kinds;
using blas::Transpose;

std::int64_t least_stride(const Axes& axes, TensorProduct::Tensors tensor) {
  std::int64_t least = INT64_MAX;
  for (const Axis& axis : axes) least = std::min(least, std::abs(axis.stride[tensor]));
  return least;
}

/// The kinds of a tensor's axes in the order in which a contiguous copy has them. An operand's copy has neighbours
/// along the same axis as the operand, but not along one of several rows or columns, of which the matrices may take
/// another.
std::array<TensorProduct::Kinds, 3> kinds_in_copy(const TensorProduct& product, TensorProduct::Tensors tensor) {
  if (tensor == c) return {batch, rows, columns};
  const TensorProduct::Kinds own = tensor == a ? rows : columns;
  const bool has_neighbours = product.axes[own].size() == 1 &&
                              least_stride(product.axes[own], tensor) < least_stride(product.axes[inner], tensor);
  if (has_neighbours) return {batch, inner, own};
  return {batch, own, inner};
}

/// Whether the tensor's elements along the axes are those of one axis.
bool is_one_axis(const Axes& axes, TensorProduct::Tensors tensor) {
  for (std::size_t k = 1; k < axes.size(); ++k) {
    if (axes[k - 1].stride[tensor] != axes[k].stride[tensor] * axes[k].extent) return false;
  }
  return true;
}

void order_by_stride(Axes& axes, TensorProduct::Tensors tensor) {
  std::stable_sort(axes.begin(), axes.end(), [&](const Axis& x, const Axis& y) {
    return std::abs(x.stride[tensor]) > std::abs(y.stride[tensor]);
  });
}

/// Takes the axis of the matrices out of those of their kind: that of neighbours in c or in the operand, or else the
/// longest.
Axis take_axis(Axes& axes, TensorProduct::Tensors operand) {
  if (axes.empty()) return {};
  auto found = axes.end();
  for (const TensorProduct::Tensors tensor : {c, operand}) {
    if (found != axes.end()) break;
    found = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.stride[tensor] == 1; });
  }
  if (found == axes.end()) {
    found =
        std::max_element(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.extent < y.extent; });
  }
  const Axis result = *found;
  axes.erase(found);
  return result;
}

/// Whether gemm takes the matrices with these rows.
bool has_rows(const Axis& row, const Axis& column, TensorProduct::Tensors tensor) {
  return (column.extent == 1 || column.stride[tensor] == 1) && (row.extent == 1 || row.stride[tensor] >= column.extent);
}

/// The first matrix of a tensor, with rows without gaps.
TensorRef matrix(const TensorRef& tensor, void* data, const Axis& row, const Axis& column,
                 TensorProduct::Tensors number) {
  return {data, tensor.type(), {row.extent, column.extent}, {row.stride[number], 1}, tensor.space()};
}

struct Operand {
  TensorRef matrix;
  Transpose transpose;
};

/// The same of one that may have columns without gaps instead.
Operand operand(const TensorRef& tensor, void* data, const Axis& row, const Axis& column,
                TensorProduct::Tensors number) {
  if (has_rows(row, column, number)) return {matrix(tensor, data, row, column, number), Transpose::no};
  return {matrix(tensor, data, column, row, number), Transpose::yes};
}

}  // namespace

void spread_bias(const Context& ctx, const ProductLabels& labels, const TensorProduct& product) {
  const TensorRef& to = product.tensor[c];
  Extents strides = Extents::of_rank(to.rank());
  strides[to.rank() - 1] = product.bias.stride(0);
  const TensorRef from(product.bias.data(), to.type(), to.extents(), strides, product.bias.space());
  strided_copy(ctx, labels.copies, make_copy_plan(from, to));
}

GemmPlan::GemmPlan(const Context& ctx, const TensorProduct& product) : product_(product) {
  // All copied, they are matrices.
  while (const std::optional<Tensors> tensor = find_matrices()) is_copied_[*tensor] = true;
  if (ctx.backend() == Backend::cuda) join_batches();
  for (const Tensors tensor : {a, b, c}) {
    if (!is_copied_[tensor]) continue;
    copies_[tensor] = TemporaryArray(layout_, copied_elements(tensor), size_of(product_.tensor[tensor].type()));
  }
  gemm_ = TemporaryArray(layout_, static_cast<std::int64_t>(blas::gemm_workspace(ctx)), 1);
}

/// The axes of a tensor's copy, in their order. A batch that the tensor is broadcast along is not copied, unless it is
/// to be spread.
std::vector<TensorProduct::Axis*> GemmPlan::axes_in_copy(TensorProduct& product, Tensors tensor) const {
  std::vector<Axis*> result;
  for (const TensorProduct::Kinds kind : kinds_in_copy(product, tensor)) {
    for (Axis& axis : product.axes[kind]) {
      if (kind != batch || axis.stride[tensor] != 0 || is_spread_[tensor]) result.push_back(&axis);
    }
  }
  return result;
}

std::optional<TensorProduct::Tensors> GemmPlan::find_matrices() {
  TensorProduct p = product_;
  for (const Tensors tensor : {a, b, c}) {
    if (!is_copied_[tensor]) continue;
    std::int64_t stride = 1;
    const std::vector<Axis*> axes = axes_in_copy(p, tensor);
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      (*axis)->stride[tensor] = stride;
      stride *= (*axis)->extent;
    }
  }
  merge_axes(p.axes[inner]);
  if (p.axes[inner].size() > 1) {
    // One that has them as one axis gives them their order; else a's copy does.
    for (const auto& [tensor, other] : {std::pair{a, b}, std::pair{b, a}}) {
      order_by_stride(p.axes[inner], tensor);
      if (!is_one_axis(p.axes[inner], tensor)) continue;
      order_by_stride(product_.axes[inner], tensor);
      return other;
    }
    return a;
  }
  merge_axes(p.axes[rows]);
  merge_axes(p.axes[columns]);
  row_ = take_axis(p.axes[rows], a);
  column_ = take_axis(p.axes[columns], b);
  inner_ = p.axes[inner].empty() ? Axis{} : p.axes[inner].front();
  batch_ = p.axes[batch];
  for (const TensorProduct::Kinds kind : {rows, columns}) {
    batch_.insert(batch_.end(), p.axes[kind].begin(), p.axes[kind].end());
  }
  merge_axes(batch_);
  std::stable_sort(batch_.begin(), batch_.end(), [](const Axis& x, const Axis& y) { return x.extent < y.extent; });

  const std::array<std::array<Axis, 2>, 3> matrices{{{row_, inner_}, {inner_, column_}, {row_, column_}}};
  for (const Tensors tensor : {a, b, c}) {
    const auto& [first, second] = matrices[tensor];
    const bool is_backwards =
        std::any_of(batch_.begin(), batch_.end(), [&](const Axis& axis) { return axis.stride[tensor] < 0; });
    if (is_backwards || (!has_rows(first, second, tensor) && !has_rows(second, first, tensor))) return tensor;
  }
  is_turned_ = !has_rows(row_, column_, c);
  return {};
}

std::int64_t GemmPlan::launches() const {
  std::int64_t result = 1;
  for (std::size_t k = 0; k + 1 < batch_.size(); ++k) result *= batch_[k].extent;
  return result;
}

std::int64_t GemmPlan::copied_elements(Tensors tensor) const {
  TensorProduct product = product_;
  std::int64_t size = 1;
  for (const Axis* axis : axes_in_copy(product, tensor)) size *= axis->extent;
  return size;
}

std::int64_t GemmPlan::bytes_beside_products() const {
  std::int64_t bytes = launches() * bytes_of_products;
  for (const Tensors tensor : {a, b, c}) {
    if (!is_copied_[tensor]) continue;
    const auto element = static_cast<std::int64_t>(size_of(product_.tensor[tensor].type()));
    bytes += bytes_of_pass + 2 * copied_elements(tensor) * element;
  }
  return bytes;
}

void GemmPlan::join_batches() {
  if (launches() == 1) return;
  const GemmPlan without = *this;
  for (const Tensors tensor : {a, b, c}) {
    const std::optional<GemmPlan> joined = without.with_copy(tensor);
    if (joined && joined->bytes_beside_products() < bytes_beside_products()) *this = *joined;
  }
}

std::optional<GemmPlan> GemmPlan::with_copy(Tensors tensor) const {
  GemmPlan result = *this;
  result.is_copied_[tensor] = true;
  if (tensor != c) {
    result.is_spread_[tensor] = true;
    // Of the rows that b lacks, or the columns that a does, all but those of the matrices are a batch.
    Axes& lacking = result.product_.axes[tensor == a ? columns : rows];
    merge_axes(lacking);
    if (!lacking.empty()) {
      const Axis own = take_axis(lacking, tensor == a ? b : a);
      Axes& all = result.product_.axes[batch];
      all.insert(all.end(), lacking.begin(), lacking.end());
      order_by_stride(all, c);
      lacking = {own};
    }
  }
  if (result.find_matrices()) return {};
  return result;
}

void* GemmPlan::data_of(Tensors tensor, void* memory) const {
  return is_copied_[tensor] ? copies_[tensor].in(memory) : product_.tensor[tensor].data();
}

/// Into the copy, or out of it in the case of c.
void GemmPlan::copy(const Context& ctx, const ProductLabels& labels, Tensors tensor, void* memory) const {
  TensorProduct product = product_;
  std::vector<std::int64_t> extents, strides;
  for (const Axis* axis : axes_in_copy(product, tensor)) {
    extents.push_back(axis->extent);
    strides.push_back(axis->stride[tensor]);
  }
  const TensorRef& given = product_.tensor[tensor];
  const Extents all{std::span<const std::int64_t>(extents)};
  const TensorRef strided(given.data(), given.type(), all, Extents(std::span<const std::int64_t>(strides)),
                          given.space());
  const TensorRef dense(data_of(tensor, memory), given.type(), all, all.row_major_strides(), given.space());
  strided_copy(ctx, labels.copies, tensor == c ? make_copy_plan(dense, strided) : make_copy_plan(strided, dense));
}

void GemmPlan::run(const Context& ctx, const ProductLabels& labels, void* memory) const {
  for (const Tensors tensor : {a, b}) {
    if (is_copied_[tensor]) copy(ctx, labels, tensor, memory);
  }
  // Its columns are rows of what is computed.
  const bool has_bias_in_c = product_.bias && is_turned_;
  if (has_bias_in_c) spread_bias(ctx, labels, product_);
  multiply(ctx, memory, has_bias_in_c ? 1.0 : 0.0, has_bias_in_c ? TensorRef() : product_.bias);
  if (is_copied_[c]) copy(ctx, labels, c, memory);
}

void GemmPlan::multiply(const Context& ctx, void* memory, double beta, const TensorRef& bias) const {
  const Workspace workspace{gemm_.in(memory), blas::gemm_workspace(ctx)};
  const Axis last = batch_.empty() ? Axis{} : batch_.back();
  const std::int64_t batches = launches();
  for (std::int64_t index = 0; index < batches; ++index) {
    std::array<void*, 3> data{};
    for (const Tensors tensor : {a, b, c}) {
      std::int64_t offset = 0, rest = index;
      for (std::size_t k = 0; k + 1 < batch_.size(); ++k) {
        offset += rest % batch_[k].extent * batch_[k].stride[tensor];
        rest /= batch_[k].extent;
      }
      const auto element = static_cast<std::int64_t>(size_of(product_.tensor[tensor].type()));
      data[tensor] = static_cast<std::byte*>(data_of(tensor, memory)) + offset * element;
    }
    const TensorRef& of_c = product_.tensor[c];
    if (is_turned_) {
      const Operand left = operand(product_.tensor[b], data[b], column_, inner_, b);
      const Operand right = operand(product_.tensor[a], data[a], inner_, row_, a);
      blas::gemm(ctx, left.transpose, right.transpose, 1.0, left.matrix, right.matrix, beta,
                 matrix(of_c, data[c], column_, row_, c), {last.extent, last.stride[b], last.stride[a], last.stride[c]},
                 workspace);
    } else {
      const Operand left = operand(product_.tensor[a], data[a], row_, inner_, a);
      const Operand right = operand(product_.tensor[b], data[b], inner_, column_, b);
      blas::gemm(ctx, left.transpose, right.transpose, 1.0, left.matrix, right.matrix, beta,
                 matrix(of_c, data[c], row_, column_, c), {last.extent, last.stride[a], last.stride[b], last.stride[c]},
                 workspace, bias, is_copied_[b] || batches > 1 ? nullptr : product_.kept_b);
    }
  }
}

}  // namespace portops::impl
