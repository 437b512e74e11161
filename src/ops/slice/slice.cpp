// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/slice/slice.hpp"

#include "core/copy/copy_in_place.hpp"
#include "core/copy/strided_copy.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/slice/fill_slice.hpp"
#include "ops/slice/slice_rules.hpp"

namespace portops {

void slice(const Context& ctx, const TensorRef& x, const TensorRef& out, const SliceParams& params) {
  const impl::Region region("portops::slice");
  impl::check_slice(ctx, x, out, params);
  const TensorRef from = sliced(x, params);
  if (impl::holds_already("slice", {"out", out}, {"x", from})) return;

  static const impl::CopyLabels labels("slice");
  impl::strided_copy(ctx, labels, impl::make_copy_plan(from, out));
}

void slice_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                const SliceParams& params) {
  const impl::Region region("portops::slice_grad");
  impl::check_slice_grad(ctx, x, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return;
  if (out_grad.size() != x_grad.size()) {
    return impl::fill_slice(ctx, out_grad, x_grad, impl::axis_slices("slice_grad", x_grad.extents(), params));
  }
  static const impl::CopyLabels labels("slice_grad");
  impl::strided_copy(ctx, labels, impl::make_copy_plan(out_grad, sliced(x_grad, params)));
}

TensorRef sliced(const TensorRef& x, const SliceParams& params) {
  if (!x) impl::fail("portops::sliced: x is empty, expected a tensor");
  const auto slices = impl::axis_slices("sliced", x.extents(), params);
  Extents extents = x.extents(), strides = x.strides();
  std::int64_t first = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const impl::AxisSlice& slice = slices[static_cast<std::size_t>(axis)];
    extents[axis] = slice.count;
    strides[axis] = x.stride(axis) * slice.step;
    first += slice.first * x.stride(axis);
  }
  if (!x.has_data()) return TensorRef::without_data(x.type(), extents);
  // Of no elements there is none that could lie somewhere.
  const std::int64_t bytes = extents.product() == 0 ? 0 : first * static_cast<std::int64_t>(size_of(x.type()));
  return {static_cast<std::byte*>(x.data()) + bytes, x.type(), extents, strides, x.space(), x.read_only()};
}

}  // namespace portops
