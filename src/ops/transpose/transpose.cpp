// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/transpose/transpose.hpp"

#include "core/copy/copy_in_place.hpp"
#include "core/copy/strided_copy.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/transpose/transpose_rules.hpp"

namespace portops {

void transpose(const Context& ctx, const TensorRef& x, const TensorRef& out, const TransposeParams& params) {
  const impl::Region region("portops::transpose");
  impl::check_transpose(ctx, x, out, params);
  const TensorRef from = transposed(x, params.perm);
  if (impl::holds_already("transpose", {"out", out}, {"x", from})) return;

  static const impl::CopyLabels labels("transpose");
  impl::strided_copy(ctx, labels, impl::make_copy_plan(from, out));
}

void transpose_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                    const TransposeParams& params) {
  const impl::Region region("portops::transpose_grad");
  impl::check_transpose_grad(ctx, x, out_grad, x_grad, params);
  if (!x_grad) return;
  // The axes of the gradient in the order of out_grad: the way back needs no other permutation.
  const TensorRef to = transposed(x_grad, params.perm);
  if (impl::holds_already("transpose_grad", {"x_grad", to}, {"out_grad", out_grad})) return;

  static const impl::CopyLabels labels("transpose_grad");
  impl::strided_copy(ctx, labels, impl::make_copy_plan(out_grad, to));
}

TensorRef transposed(const TensorRef& x, const std::vector<std::int64_t>& perm) {
  if (!x) impl::fail("portops::transposed: x is empty, expected a tensor");
  const std::vector<int> axes = impl::checked_perm("transposed", x.rank(), perm);
  Extents extents = x.extents(), strides = x.strides();
  for (int axis = 0; axis < x.rank(); ++axis) {
    extents[axis] = x.extent(axes[static_cast<std::size_t>(axis)]);
    strides[axis] = x.stride(axes[static_cast<std::size_t>(axis)]);
  }
  if (!x.has_data()) return TensorRef::without_data(x.type(), extents);
  return {x.data(), x.type(), extents, strides, x.space(), x.read_only()};
}

}  // namespace portops
