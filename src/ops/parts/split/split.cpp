// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/split/split.hpp"

#include "core/check/check_list.hpp"
#include "core/exec/region.hpp"
#include "ops/parts/move_parts.hpp"

namespace portops {

void split(const Context& ctx, const TensorRef& x, std::span<const TensorRef> out, const SplitParams& params) {
  const impl::Region region("portops::split");
  constexpr std::string_view op = "split";
  const impl::NamedList outputs{"out", out};
  const ElementType type = x.type();
  impl::check_input(op, ctx, {"x", x}, type, "x");
  const impl::PartShapes shapes = impl::divided_shapes(op, {"x", x}, params.sections, params.axis);
  impl::check_list_size(op, outputs, shapes.lengths.size(), "sections");
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) impl::fail("portops::split: ", impl::name_in_list("out", i), " is empty, expected a tensor");
  }
  impl::check_list_outputs(op, ctx, outputs, type, "x", shapes, "what sections gives out");
  impl::check_no_overlap(op, outputs, {"x", x});
  if (x.size() == 0) return;

  static const impl::PartsLabels labels("split");
  impl::move_parts(
      ctx, labels,
      impl::make_parts_plan(x, out, shapes.lengths, shapes.axis, impl::PartsDirection::to_parts, ctx.backend()));
}

void split_grad(const Context& ctx, std::span<const TensorRef> out_grad, const TensorRef& x_grad,
                const SplitParams& params) {
  const impl::Region region("portops::split_grad");
  constexpr std::string_view op = "split_grad";
  const impl::NamedList inputs{"out_grad", out_grad};
  const impl::PartShapes shapes = impl::joined_shapes(op, inputs, params.axis);
  const ElementType type = out_grad.front().type();
  impl::check_list_inputs(op, ctx, inputs, type, "out_grad[0]");
  // For its errors: the gradients have the extents that the parts had.
  const TensorRef x = TensorRef::without_data(type, shapes.whole);
  impl::check_list_size(op, inputs, params.sections.size(), "sections");
  const impl::PartShapes divided = impl::divided_shapes(op, {"x", x}, params.sections, params.axis);
  for (std::size_t i = 0; i < out_grad.size(); ++i) {
    if (shapes.lengths[i] == divided.lengths[i]) continue;
    impl::fail("portops::split_grad: ", impl::name_in_list("out_grad", i), " has extents ",
               out_grad[i].extents().to_string(), ", expected ", divided.part(i).to_string(), " (sections[", i, "])");
  }
  if (!x_grad) return;
  impl::check_output(op, ctx, {"x_grad", x_grad}, type, "out_grad[0]", shapes.whole,
                     "those of out_grad, one behind the other");
  impl::check_no_overlap(op, {"x_grad", x_grad}, inputs);
  if (x_grad.size() == 0) return;

  static const impl::PartsLabels labels("split_grad");
  impl::move_parts(ctx, labels,
                   impl::make_parts_plan(x_grad, out_grad, shapes.lengths, shapes.axis, impl::PartsDirection::to_whole,
                                         ctx.backend()));
}

}  // namespace portops
