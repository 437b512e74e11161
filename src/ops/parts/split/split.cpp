// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/parts/split/split.hpp"

#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/parts/move_parts.hpp"

namespace portops {
namespace {

/// The gradients of the parts have the extents that the parts had.
void check_sections(std::span<const TensorRef> out_grad, const impl::PartShapes& shapes, const SplitParams& params) {
  constexpr std::string_view op = "split_grad";
  const TensorRef x = TensorRef::without_data(out_grad.front().type(), shapes.whole);
  impl::check_list_size(op, {"out_grad", out_grad}, params.sections.size(), "sections");
  const impl::PartShapes divided = impl::divided_shapes(op, {"x", x}, params.sections, params.axis);
  for (std::size_t i = 0; i < out_grad.size(); ++i) {
    if (shapes.lengths[i] == divided.lengths[i]) continue;
    impl::fail("portops::split_grad: ", impl::name_in_list("out_grad", i), " has extents ",
               out_grad[i].extents().to_string(), ", expected ", divided.part(i).to_string(), " (sections[", i, "])");
  }
}

}  // namespace

void split(const Context& ctx, const TensorRef& x, std::span<const TensorRef> out, const SplitParams& params) {
  const impl::Region region("portops::split");
  const impl::PartShapes shapes = impl::check_split(ctx, x, out, params);
  if (x.size() == 0) return;

  static const impl::PartsLabels labels("split");
  impl::move_parts(
      ctx, labels,
      impl::make_parts_plan(x, out, shapes.lengths, shapes.axis, impl::PartsDirection::to_parts, ctx.backend()));
}

void split_grad(const Context& ctx, std::span<const TensorRef> out_grad, const TensorRef& x_grad,
                const SplitParams& params) {
  const impl::Region region("portops::split_grad");
  const impl::PartShapes shapes = impl::check_split_grad(ctx, out_grad, x_grad, params);
  check_sections(out_grad, shapes, params);
  if (!x_grad || x_grad.size() == 0) return;

  static const impl::PartsLabels labels("split_grad");
  impl::move_parts(ctx, labels,
                   impl::make_parts_plan(x_grad, out_grad, shapes.lengths, shapes.axis, impl::PartsDirection::to_whole,
                                         ctx.backend()));
}

}  // namespace portops
