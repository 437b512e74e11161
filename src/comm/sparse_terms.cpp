// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/sparse_terms.hpp"

#include "comm/bucket.hpp"
#include "comm/tree_kernels.hpp"
#include "core/exec/dispatch.hpp"
#include "portops/core/tensor.hpp"
#include "portops/ops/merge_rows.hpp"

#include <numeric>
#include <utility>

namespace portops::impl {
namespace {

/// Rows [first, first + count) of a contiguous tensor.
TensorRef part_of(const TensorRef& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t width = tensor.extent(0) > 0 ? tensor.size() / tensor.extent(0) : 0;
  return elements_of(tensor, first * width, count * width);
}

void wait_for(const TransferPtr& transfer) {
  if (transfer != nullptr) transfer->wait();
}

}  // namespace

autograd::Variable zeros_like(const Context& ctx, const TensorRef& tensor) {
  autograd::Variable zeros(ctx, tensor.type(), tensor.extents());
  dispatch(ctx.backend(), tensor.type(), [&]<Backend B, class T>() {
    TreeKernels<B, T>::clear(ctx, static_cast<T*>(zeros.tensor().data()), tensor.size());
  });
  return zeros;
}

void SparseTerms::take(const Context& ctx, autograd::Variable& parameter) {
  Term term;
  term.sparse = parameter.sparse_grad();
  term.dense = parameter.grad();
  if (term.sparse) {
    // A host knows how many rows there are, and sends no others.
    term.rows = ctx.backend() == Backend::cuda ? term.sparse.rows.tensor().size()
                                               : merged_count(ctx, term.sparse.count.tensor());
  } else if (term.dense) {
    term.rows = dense;
  }
  parameter.clear_grad();
  terms_.push_back(std::move(term));
}

SparseTerms::Kind SparseTerms::kind_of(std::span<const std::int64_t> rows) {
  bool has_dense = false, has_sparse = false;
  for (const std::int64_t each : rows) {
    has_dense = has_dense || each == dense;
    has_sparse = has_sparse || each >= 0;
  }
  if (has_dense && has_sparse) return Kind::mixed;
  return has_dense ? Kind::dense : has_sparse ? Kind::sparse : Kind::none;
}

void SparseTerms::sum_rows(const Context& ctx, Engine& engine, std::span<const std::int64_t> counts, double factor,
                           autograd::Variable& parameter) const {
  const TensorRef& table = parameter.tensor();
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::int64_t at = std::accumulate(counts.begin(), counts.begin() + engine.rank, std::int64_t{0});
  Extents extents = table.extents();
  extents[0] = all;
  const autograd::Variable rows(ctx, ElementType::i64, {all}), values(ctx, table.type(), extents);
  for (const Term& each : terms_) {
    if (each.rows <= 0) continue;
    copy(ctx, part_of(each.sparse.rows.tensor(), 0, each.rows), part_of(rows.tensor(), at, each.rows));
    copy(ctx, part_of(each.sparse.values.tensor(), 0, each.rows), part_of(values.tensor(), at, each.rows));
    at += each.rows;
    if (ctx.backend() != Backend::cuda) continue;  // take() has read the count
    // A place outside of the table: the count of the sum shows it on every process.
    const auto* const count = static_cast<const std::int64_t*>(each.sparse.count.tensor().data());
    auto* const last = static_cast<std::int64_t*>(rows.tensor().data()) + (at - 1);
    dispatch(ctx.backend(), table.type(),
             [&]<Backend B, class T>() { TreeKernels<B, T>::mark_refused(ctx, count, last); });
  }
  if (all > 0) {
    const Context wire = engine.begin(ctx);
    const TransferPtr transfers[] = {engine.all_gather(wire, rows.tensor(), counts),
                                     engine.all_gather(wire, values.tensor(), counts)};
    for (const TransferPtr& each : transfers) wait_for(each);
    engine.end(ctx);
  }
  const autograd::SparseGradient sum = autograd::merge_sparse(ctx, table.extent(0), rows, values);
  if (factor != 1) {
    const TensorRef& its = sum.values.tensor();
    dispatch(ctx.backend(), its.type(), [&]<Backend B, class T>() {
      TreeKernels<B, T>::scale(ctx, static_cast<T*>(its.data()), its.size(), factor);
    });
  }
  parameter.set_grad(sum);
}

void SparseTerms::sum_dense(const Context& ctx, Engine& engine, std::int64_t first, const SumRules& rules,
                            autograd::Variable& parameter) const {
  PartialSums sums;
  for (const Term& each : terms_) {
    sums.add(ctx, first++, each.dense ? each.dense : zeros_like(ctx, parameter.tensor()));
  }
  std::vector<std::vector<autograd::Variable>> lists;
  for (std::size_t node = 0; node < sums.size(); ++node) lists.push_back({sums[node]});
  Bucket bucket(parameter.tensor().type());
  bucket.add(0, parameter.tensor().extents());
  bucket.send(engine, ctx, lists, {.items = rules.items, .factor = rules.factor, .has_tree = true});
  bucket.advance();
  bucket.wait();
  engine.end(ctx);
  parameter.set_grad(bucket.take(ctx)[0]);
}

}  // namespace portops::impl
