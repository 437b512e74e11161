// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/products/parts_plan.hpp"

#include "core/exec/dispatch.hpp"
#include "ops/products/tensor_product_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace portops::impl {
namespace {

using Axis = TensorProduct::Axis;
using enum TensorProduct::Tensors;
using enum TensorProduct::Kinds;

/// Parts that are added one after the other, in four chains: constant data must not drift.
constexpr std::int64_t most_parts = 64;

/// Whether the elements of c are neighbours, in any order of its axes.
bool is_dense(const TensorProduct& product) {
  std::vector<Axis> axes;
  for (const TensorProduct::Kinds kind : {batch, rows, columns}) {
    axes.insert(axes.end(), product.axes[kind].begin(), product.axes[kind].end());
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.stride[c] < y.stride[c]; });
  std::int64_t size = 1;
  for (const Axis& axis : axes) {
    if (axis.stride[c] != size) return false;
    size *= axis.extent;
  }
  return true;
}

ElementType type_of_parts(ElementType type) { return type == ElementType::f64 ? ElementType::f64 : ElementType::f32; }

}  // namespace

PartsPlan::PartsPlan(const TensorProduct& product, std::size_t number) : out_(product.tensor[c]), product_(product) {
  product_.axes[inner] = {product.axes[inner][number]};
  for (std::size_t k = 0; k < product.axes[inner].size(); ++k) {
    if (k == number) continue;
    Axis axis = product.axes[inner][k];
    axis.stride[c] = count_ * out_.size();
    count_ *= axis.extent;
    product_.axes[batch].insert(product_.axes[batch].begin(), axis);
  }
  product_.tensor[c] = TensorRef(nullptr, type_of_parts(out_.type()), {count_ * out_.size()}, {1}, out_.space());
}

std::optional<PartsPlan> PartsPlan::find(const Context& ctx, const TensorProduct& product, const GemmPlan& whole) {
  if (ctx.backend() != Backend::cuda || product.axes[inner].size() < 2 || product.bias || !is_dense(product)) return {};
  std::optional<PartsPlan> best;
  std::int64_t least = whole.bytes_beside_products();
  for (std::size_t k = 0; k < product.axes[inner].size(); ++k) {
    PartsPlan parts(product, k);
    if (parts.count_ > most_parts) continue;
    const TensorRef& all = parts.product_.tensor[c];
    const GemmPlan plan(ctx, parts.product_);
    const std::int64_t bytes = plan.bytes_beside_products() + GemmPlan::bytes_of_pass +
                               2 * all.size() * static_cast<std::int64_t>(size_of(all.type()));
    if (bytes >= least) continue;
    least = bytes;
    parts.parts_ = TemporaryArray(parts.layout_, all.size(), size_of(all.type()));
    parts.rest_ = TemporaryArray(parts.layout_, static_cast<std::int64_t>(plan.workspace()), 1);
    best = std::move(parts);
  }
  return best;
}

void PartsPlan::run(const Context& ctx, ProductOperator op, const ProductLabels& labels, void* memory) const {
  TensorProduct product = product_;
  const TensorRef& all = product_.tensor[c];
  product.tensor[c] = TensorRef(parts_.in(memory), all.type(), all.extents(), all.strides(), all.space());
  GemmPlan(ctx, product).run(ctx, labels, rest_.in(memory));
  dispatch(ctx.backend(), out_.type(), [&]<Backend B, class T>() {
    TensorProductKernels<B, T>::add_parts(ctx, op, parts_.in(memory), count_, out_);
  });
}

}  // namespace portops::impl
