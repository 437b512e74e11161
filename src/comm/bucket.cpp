// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/bucket.hpp"

#include "portops/ops/concat.hpp"
#include "portops/ops/reshape.hpp"
#include "portops/ops/split.hpp"

#include <algorithm>
#include <utility>

namespace portops::impl {
namespace {

/// The elements in one axis, as they lie or, where these have gaps or another order, copied.
autograd::Variable flat(const Context& ctx, const autograd::Variable& x) {
  const TensorRef& tensor = x.tensor();
  if (const auto view = reshaped(tensor, {-1})) return *view;
  autograd::Variable out(ctx, tensor.type(), {tensor.size()});
  reshape(ctx, tensor, out.tensor(), {.shape = {-1}});
  return out;
}

}  // namespace

void Bucket::add(std::size_t parameter, const Extents& extents) {
  parameters_.push_back(parameter);
  extents_.push_back(extents);
  size_ += extents.product();
}

void Bucket::send(Engine& engine, const Context& ctx, const std::vector<std::vector<autograd::Variable>>& lists,
                  const SumRules& rules) {
  const auto nodes = static_cast<std::int64_t>(lists.size());
  memory_ = autograd::Variable(ctx, type_, {nodes, size_});
  for (std::int64_t node = 0; node < nodes; ++node) {
    std::vector<autograd::Variable> owners;
    std::vector<TensorRef> parts;
    for (const autograd::Variable& each : lists[static_cast<std::size_t>(node)]) {
      owners.push_back(flat(ctx, each));
      parts.push_back(owners.back().tensor());
    }
    concat(ctx, parts, elements_of(memory_.tensor(), node * size_, size_));
  }
  sums_ = sums_of(engine, ctx, memory_.tensor(), rules);
}

bool Bucket::advance() {
  bool may_go_on = true;
  for (ProcessSum& each : sums_) may_go_on = may_go_on && each.advance();
  return may_go_on;
}

bool Bucket::is_done() const {
  return std::all_of(sums_.begin(), sums_.end(), [](const ProcessSum& each) { return each.is_done(); });
}

void Bucket::wait() {
  for (ProcessSum& each : sums_) each.wait();
}

std::vector<autograd::Variable> Bucket::take(const Context& ctx) {
  std::vector<autograd::Variable> gradients;
  std::vector<TensorRef> parts;
  SplitParams params;
  for (const Extents& extents : extents_) {
    const std::int64_t count = extents.product();
    gradients.emplace_back(ctx, type_, extents);
    parts.push_back(elements_of(gradients.back().tensor(), 0, count));
    params.sections.push_back(count);
  }
  split(ctx, elements_of(memory_.tensor(), 0, size_), parts, params);
  memory_ = {};
  sums_.clear();
  return gradients;
}

}  // namespace portops::impl
