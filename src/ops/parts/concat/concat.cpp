// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/concat/concat.hpp"

#include "core/check/check_list.hpp"
#include "core/exec/region.hpp"
#include "ops/parts/move_parts.hpp"

namespace portops {

void concat(const Context& ctx, std::span<const TensorRef> x, const TensorRef& out, const ConcatParams& params) {
  const impl::Region region("portops::concat");
  constexpr std::string_view op = "concat";
  const impl::NamedList inputs{"x", x};
  const impl::PartShapes shapes = impl::joined_shapes(op, inputs, params.axis);
  const ElementType type = x.front().type();
  impl::check_list_inputs(op, ctx, inputs, type, "x[0]");
  impl::check_output(op, ctx, {"out", out}, type, "x[0]", shapes.whole, "those of x, one behind the other");
  impl::check_no_overlap(op, {"out", out}, inputs);
  if (out.size() == 0) return;

  static const impl::PartsLabels labels("concat");
  impl::move_parts(
      ctx, labels,
      impl::make_parts_plan(out, x, shapes.lengths, shapes.axis, impl::PartsDirection::to_whole, ctx.backend()));
}

void concat_grad(const Context& ctx, std::span<const TensorRef> x, const TensorRef& out_grad,
                 std::span<const TensorRef> x_grad, const ConcatParams& params) {
  const impl::Region region("portops::concat_grad");
  constexpr std::string_view op = "concat_grad";
  const impl::NamedList inputs{"x", x}, gradients{"x_grad", x_grad};
  const impl::PartShapes shapes = impl::joined_shapes(op, inputs, params.axis);
  const ElementType type = out_grad.type();
  impl::check_input(op, ctx, {"out_grad", out_grad}, type, "out_grad");
  impl::check_list_shape_only_inputs(op, inputs, type, "out_grad");
  impl::check_extents(op, {"out_grad", out_grad}, shapes.whole, "those of x, one behind the other");
  if (!x_grad.empty()) impl::check_list_size(op, gradients, x.size(), "x");
  impl::check_list_outputs(op, ctx, gradients, type, "out_grad", shapes, "the extents of x");
  impl::check_no_overlap(op, gradients, inputs);
  impl::check_no_overlap(op, gradients, impl::Named{"out_grad", out_grad});
  if (x_grad.empty() || out_grad.size() == 0) return;

  static const impl::PartsLabels labels("concat_grad");
  impl::move_parts(ctx, labels,
                   impl::make_parts_plan(out_grad, x_grad, shapes.lengths, shapes.axis, impl::PartsDirection::to_parts,
                                         ctx.backend()));
}

}  // namespace portops
