// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_unpad/sequence_unpad.hpp"

#include "core/exec/region.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/padded_rows.hpp"
#include "ops/sequence/sequence_plans.hpp"
#include "ops/sequence/sequence_unpad/sequence_unpad_rules.hpp"

namespace portops {
namespace {

/// The extents of out.
Extents checked_extents(std::string_view op, const TensorRef& x, const Levels& length) {
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

SequenceUnpadExtents sequence_unpad_extents(std::string_view op, const TensorRef& x, const Levels& length) {
  return {{checked_extents(op, x, length), "the rows of length"}};
}

Levels sequence_unpad_levels(std::string_view, const TensorRef&, const Levels& length) { return length; }

}  // namespace impl

void sequence_unpad(const Context& ctx, const TensorRef& x, const Levels& length, const TensorRef& out) {
  const impl::Region region("portops::sequence_unpad");
  constexpr const char* op = "sequence_unpad";
  impl::check_sequence_unpad(ctx, x, length, out);
  if (out.size() == 0) return;
  impl::enqueue_moves(ctx, op, *impl::moves_from_padded(length), {x, 2}, {out, 1});
}

void sequence_unpad_grad(const Context& ctx, const TensorRef& x, const Levels& length, const TensorRef& out_grad,
                         const TensorRef& x_grad) {
  const impl::Region region("portops::sequence_unpad_grad");
  constexpr const char* op = "sequence_unpad_grad";
  impl::check_sequence_unpad_grad(ctx, x, length, out_grad, x_grad);
  if (!x_grad || x_grad.size() == 0) return;
  impl::enqueue_moves(ctx, op, *impl::moves_to_padded(length, x.extent(1)), {out_grad, 1}, {x_grad, 2});
}

}  // namespace portops
