// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/process_sum.hpp"

#include "comm/share.hpp"
#include "comm/tree.hpp"
#include "comm/tree_kernels.hpp"
#include "core/exec/dispatch.hpp"

#include <algorithm>

namespace portops::impl {

TensorRef elements_of(const TensorRef& tensor, std::int64_t first, std::int64_t count) {
  auto* data = static_cast<std::byte*>(tensor.data()) + static_cast<std::size_t>(first) * size_of(tensor.type());
  return {data, tensor.type(), {count}, {1}, tensor.space()};
}

std::vector<ProcessSum> sums_of(Engine& engine, const Context& ctx, const TensorRef& x, const SumRules& rules) {
  std::vector<ProcessSum> sums;
  const std::int64_t all = x.extent(1), most = engine.size > 1 ? most_elements : std::max<std::int64_t>(all, 1);
  for (std::int64_t first = 0; first < all; first += most) {
    sums.emplace_back(engine, ctx, x, first, std::min(most, all - first), rules);
  }
  return sums;
}

ProcessSum::ProcessSum(Engine& engine, const Context& ctx, const TensorRef& x, std::int64_t first, std::int64_t count,
                       const SumRules& rules)
    : engine_(engine), wire_(ctx), x_(x), first_(first), count_(count), rules_(rules) {
  if (!rules_.has_tree) {
    wire_ = engine_.begin(ctx);
    transfers_.push_back(engine_.all_reduce(wire_, row(0)));
    return;
  }
  if (engine_.size == 1) {
    wire_ = engine_.begin(ctx);
    add(x_.data(), row(0));
    return;
  }
  std::vector<int> nodes;
  for (int rank = 0; rank < engine_.size; ++rank) {
    const comm::Range share = comm::share_of(rules_.items, rank, engine_.size);
    nodes.push_back(tree_nodes(share.first, share.first + share.count));
  }
  const int most = *std::max_element(nodes.begin(), nodes.end());
  const std::int64_t stretch = engine_.size * comm::share_of(count_, engine_.rank, engine_.size).count;
  received_ = autograd::Variable(ctx, x_.type(), {most * stretch});
  wire_ = engine_.begin(ctx);  // it sees the memory, too
  for (int node = 0; node < most; ++node) {
    Exchange its{.send = row(std::min<std::int64_t>(node, x_.extent(0) - 1)),
                 .receive = elements_of(received_.tensor(), node * stretch, stretch),
                 .is_sender = {}};
    for (const int each : nodes) its.is_sender.push_back(node < each);
    transfers_.push_back(engine_.exchange(wire_, its));
  }
  is_exchanging_ = true;
  // An engine that enqueues everything in one order wants the same one of exchanges and gatherings on all processes,
  // which must not depend on when each of them gets to `advance`: the second step follows the first at once.
  if (transfers_[0] == nullptr) add_and_gather();
}

TensorRef ProcessSum::row(std::int64_t node) const { return elements_of(x_, node * x_.extent(1) + first_, count_); }

void ProcessSum::add(const void* nodes, const TensorRef& out) const {
  const TreeNodes its{.nodes = nodes,
                      .out = out.data(),
                      .count = out.size(),
                      .items = rules_.items,
                      .size = engine_.size,
                      .factor = rules_.factor};
  dispatch(wire_.backend(), x_.type(), [&]<Backend B, class T>() { TreeKernels<B, T>::add(wire_, its); });
}

void ProcessSum::scale(const TensorRef& x) const {
  dispatch(wire_.backend(), x.type(), [&]<Backend B, class T>() {
    TreeKernels<B, T>::scale(wire_, static_cast<T*>(x.data()), x.size(), rules_.factor);
  });
}

void ProcessSum::add_and_gather() {
  is_exchanging_ = false;
  transfers_.clear();
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < engine_.size; ++rank) {
    counts.push_back(comm::share_of(count_, rank, engine_.size).count);
  }
  const comm::Range own = comm::share_of(count_, engine_.rank, engine_.size);
  add(received_.tensor().data(), elements_of(row(0), own.first, own.count));
  transfers_.push_back(engine_.all_gather(wire_, row(0), counts));
}

bool ProcessSum::has_arrived() const {
  bool has_arrived = true;
  for (const TransferPtr& each : transfers_) has_arrived = (each == nullptr || each->is_done()) && has_arrived;
  return has_arrived;
}

bool ProcessSum::is_done() const { return !is_exchanging_ && has_arrived(); }

bool ProcessSum::advance() {
  const bool may_go_on = has_arrived() || !is_exchanging_;
  if (may_go_on && is_exchanging_) add_and_gather();
  return may_go_on;
}

void ProcessSum::wait() {
  const auto wait_for_all = [this] {
    for (const TransferPtr& each : transfers_) {
      if (each != nullptr) each->wait();
    }
  };
  wait_for_all();
  if (is_exchanging_) {
    add_and_gather();
    wait_for_all();
  }
  transfers_.clear();
  if (!rules_.has_tree && rules_.factor != 1) scale(row(0));
}

}  // namespace portops::impl
