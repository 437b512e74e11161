// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_unpad/sequence_unpad.hpp"

#include "core/check/check.hpp"
#include "core/exec/region.hpp"
#include "ops/sequence/padded_rows.hpp"
#include "ops/sequence/sequence_plans.hpp"
#include "ops/sequence/sequence_unpad/sequence_unpad_extents.hpp"

#include <array>

namespace portops {
namespace {

using impl::Named;

constexpr std::string_view origin = "the rows of length";

/// The extents of out.
Extents checked_extents(std::string_view op, const TensorRef& x, const Levels& length) {
  if (!length) impl::fail("portops::", op, ": length has no levels, expected levels");
  if (x.rank() < 2) {
    impl::fail("portops::", op, ": x has extents ", x.extents().to_string(),
               ", expected at least two axes, those of sequences and rows");
  }
  if (length.items() != x.extent(0)) {
    impl::fail("portops::", op, ": length has ", length.items(), " sequences, expected ", x.extent(0),
               " (the first extent of x)");
  }
  if (const std::int64_t longest = impl::longest_sequence(length); longest > x.extent(1)) {
    impl::fail("portops::", op, ": length has a sequence of ", longest, " rows, expected at most ", x.extent(1),
               " (the second extent of x)");
  }
  Extents extents = Extents::of_rank(x.rank() - 1);
  extents[0] = length.rows();
  for (int axis = 2; axis < x.rank(); ++axis) extents[axis - 1] = x.extent(axis);
  return extents;
}

}  // namespace

namespace impl {

std::map<std::string, Extents, std::less<>> sequence_unpad_extents(std::string_view op, const TensorRef& x,
                                                                   const Levels& length) {
  const Extents extents = checked_extents(op, x, length);
  return {{"out", extents}, {"out_grad", extents}};
}

Levels sequence_unpad_levels(std::string_view, const TensorRef&, const Levels& length) { return length; }

}  // namespace impl

void sequence_unpad(const Context& ctx, const TensorRef& x, const Levels& length, const TensorRef& out) {
  const impl::Region region("portops::sequence_unpad");
  constexpr const char* op = "sequence_unpad";
  impl::check_input(op, ctx, {"x", x}, x.type(), "x");
  const Extents extents = checked_extents(op, x, length);
  impl::check_output(op, ctx, {"out", out}, x.type(), "x", extents, origin);
  impl::check_no_overlap(op, {"out", out}, std::array{Named{"x", x}});
  if (out.size() == 0) return;
  impl::enqueue_moves(ctx, op, *impl::moves_from_padded(length), {x, 2}, {out, 1});
}

void sequence_unpad_grad(const Context& ctx, const TensorRef& x, const Levels& length, const TensorRef& out_grad,
                         const TensorRef& x_grad) {
  const impl::Region region("portops::sequence_unpad_grad");
  constexpr const char* op = "sequence_unpad_grad";
  impl::check_shape_only_input(op, {"x", x}, x.type(), "x");
  const Extents extents = checked_extents(op, x, length);
  impl::check_input(op, ctx, {"out_grad", out_grad}, x.type(), "x");
  impl::check_extents(op, {"out_grad", out_grad}, extents, origin);
  impl::check_x_grad(op, ctx, x_grad, x, std::array{Named{"out_grad", out_grad}});
  if (!x_grad || x_grad.size() == 0) return;
  impl::enqueue_moves(ctx, op, *impl::moves_to_padded(length, x.extent(1)), {out_grad, 1}, {x_grad, 2});
}

}  // namespace portops
