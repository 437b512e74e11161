// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sequence/sequence_pad/sequence_pad.hpp"

#include "core/exec/dispatch.hpp"
#include "core/exec/region.hpp"
#include "core/types/levels_data.hpp"
#include "generated/checks.hpp"
#include "ops/sequence/padded_rows.hpp"
#include "ops/sequence/sequence_pad/sequence_pad_rules.hpp"
#include "ops/sequence/sequence_plans.hpp"
#include "ops/sequence/step_kernels.hpp"

namespace portops {
namespace {

/// The extents of out.
Extents checked_extents(std::string_view op, const RaggedRef& x, const SequencePadParams& params) {
  const std::int64_t longest = impl::longest_sequence(x.levels);
  if (params.padded_length < -1 || (params.padded_length >= 0 && params.padded_length < longest)) {
    impl::fail("portops::", op, ": padded_length is ", params.padded_length, ", expected -1 or at least ", longest,
               " (the longest sequence)");
  }
  const Extents& rows = x.values.extents();
  if (rows.rank() == max_rank) {
    impl::fail("portops::", op, ": x has extents ", rows.to_string(), ", expected at most ", max_rank - 1, " axes");
  }
  Extents extents = Extents::of_rank(rows.rank() + 1);
  extents[0] = x.levels.items();
  extents[1] = params.padded_length < 0 ? longest : params.padded_length;
  for (int axis = 1; axis < rows.rank(); ++axis) extents[axis + 1] = rows[axis];
  return extents;
}

std::shared_ptr<const impl::Table<std::int64_t>> lengths_of(const Levels& levels) {
  return levels.data()->plan<impl::Table<std::int64_t>>({static_cast<std::int64_t>(impl::PlanKind::lengths)}, [&] {
    const auto& offsets = levels.offsets();
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) lengths.push_back(offsets[i + 1] - offsets[i]);
    return impl::Table(std::move(lengths));
  });
}

void write_lengths(const Context& ctx, const RaggedRef& x, const TensorRef& length) {
  if (!length || length.size() == 0) return;
  const auto lengths = lengths_of(x.levels);
  impl::StepStrides to;
  to.data = length.data();
  to.row = length.stride(0);
  impl::dispatch(ctx.backend(), x.values.type(),
                 [&]<Backend B, class T>() { impl::StepKernels<B, T>::write(ctx, "sequence_pad", *lengths, to); });
}

}  // namespace

namespace impl {

SequencePadExtents sequence_pad_extents(std::string_view op, const RaggedRef& x, const SequencePadParams& params) {
  const Extents out = checked_extents(op, x, params);
  return {{out, "the sequences of x, side by side"}, {{out[0]}, "a number a sequence of x"}};
}

Levels sequence_pad_levels(std::string_view, const RaggedRef& x, const SequencePadParams&) { return x.levels.upper(); }

}  // namespace impl

void sequence_pad(const Context& ctx, const RaggedRef& x, const TensorRef& out, const TensorRef& length,
                  const SequencePadParams& params) {
  const impl::Region region("portops::sequence_pad");
  constexpr const char* op = "sequence_pad";
  impl::check_sequence_pad(ctx, x, out, length, params);
  if (out.size() == 0) return write_lengths(ctx, x, length);
  const auto plan = impl::moves_to_padded(x.levels, out.extent(1));
  // Both tables, and the memory that they may take, before the first kernel.
  const impl::TableUse<impl::Move> moves(ctx, plan->moves);
  write_lengths(ctx, x, length);
  impl::enqueue_moves(ctx, op, *plan, {x.values, 1}, {out, 2}, params.pad_value);
}

void sequence_pad_grad(const Context& ctx, const RaggedRef& x, const TensorRef& out_grad, const TensorRef& x_grad,
                       const SequencePadParams& params) {
  const impl::Region region("portops::sequence_pad_grad");
  constexpr const char* op = "sequence_pad_grad";
  impl::check_sequence_pad_grad(ctx, x, out_grad, x_grad, params);
  if (!x_grad || x_grad.size() == 0) return;
  impl::enqueue_moves(ctx, op, *impl::moves_from_padded(x.levels), {out_grad, 2}, {x_grad, 1});
}

}  // namespace portops
