// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/reshape/reshape.hpp"

#include "core/copy/copy_in_place.hpp"
#include "core/copy/strided_copy.hpp"
#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/reshape/reshape_rules.hpp"

namespace portops {

void reshape(const Context& ctx, const TensorRef& x, const TensorRef& out, const ReshapeParams& params) {
  const impl::Region region("portops::reshape");
  impl::check_reshape(ctx, x, out, params);
  if (impl::holds_already("reshape", {"out", out}, {"x", x})) return;

  static const impl::CopyLabels labels("reshape");
  impl::strided_copy(ctx, labels, impl::make_copy_plan(x, out));
}

void reshape_grad(const Context& ctx, const TensorRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                  const ReshapeParams& params) {
  const impl::Region region("portops::reshape_grad");
  impl::check_reshape_grad(ctx, x, out_grad, x_grad, params);
  if (!x_grad) return;
  if (impl::holds_already("reshape_grad", {"x_grad", x_grad}, {"out_grad", out_grad})) return;

  static const impl::CopyLabels labels("reshape_grad");
  impl::strided_copy(ctx, labels, impl::make_copy_plan(out_grad, x_grad));
}

std::optional<TensorRef> reshaped(const TensorRef& x, const std::vector<std::int64_t>& shape) {
  if (!x) impl::fail("portops::reshaped: x is empty, expected a tensor");
  const Extents extents = impl::reshaped_extents("reshaped", x.extents(), shape);
  Extents strides = extents.row_major_strides();
  if (x.size() > 0 && !impl::split_axes(impl::merged_axes(x), extents, strides)) return {};
  return TensorRef(x.data(), x.type(), extents, strides, x.space(), x.read_only());
}

}  // namespace portops
