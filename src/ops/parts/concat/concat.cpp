// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/concat/concat.hpp"

#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/parts/move_parts.hpp"

namespace portops {

void concat(const Context& ctx, std::span<const TensorRef> x, const TensorRef& out, const ConcatParams& params) {
  const impl::Region region("portops::concat");
  const impl::PartShapes shapes = impl::check_concat(ctx, x, out, params);
  if (out.size() == 0) return;

  static const impl::PartsLabels labels("concat");
  impl::move_parts(
      ctx, labels,
      impl::make_parts_plan(out, x, shapes.lengths, shapes.axis, impl::PartsDirection::to_whole, ctx.backend()));
}

void concat_grad(const Context& ctx, std::span<const TensorRef> x, const TensorRef& out_grad,
                 std::span<const TensorRef> x_grad, const ConcatParams& params) {
  const impl::Region region("portops::concat_grad");
  const impl::PartShapes shapes = impl::check_concat_grad(ctx, x, out_grad, x_grad, params);
  if (x_grad.empty() || out_grad.size() == 0) return;

  static const impl::PartsLabels labels("concat_grad");
  impl::move_parts(ctx, labels,
                   impl::make_parts_plan(out_grad, x_grad, shapes.lengths, shapes.axis, impl::PartsDirection::to_parts,
                                         ctx.backend()));
}

}  // namespace portops
