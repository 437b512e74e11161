// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/node.hpp"

#include <utility>

namespace portops::impl {
namespace {

/// Numbers need only ascend along every graph; one counter for all threads does that, wherever a graph is made.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Moves the nodes that gradients go to out of the operands.
void take_nodes(std::vector<Operand>& operands, std::vector<std::shared_ptr<Node>>& nodes) {
  for (Operand& operand : operands) {
    if (operand.edge.node != nullptr) nodes.push_back(std::move(operand.edge.node));
  }
  operands.clear();
}

}  // namespace

Node::Node(const Operation* its_operation) : operation(its_operation), number(next_number()) {}

Node::~Node() {
  std::vector<std::shared_ptr<Node>> nodes;
  take_nodes(operands, nodes);
  while (!nodes.empty()) {
    const std::shared_ptr<Node> node = std::move(nodes.back());
    nodes.pop_back();
    // Where another thread lets go of it at the same moment, the last one of both does the same again, one call deeper.
    if (node.use_count() == 1) take_nodes(node->operands, nodes);
  }
}

Value Leaf::gradient() const {
  const std::lock_guard lock(mutex_);
  return gradient_;
}

void Leaf::add(const Context& ctx, Value&& term) {
  const std::lock_guard lock(mutex_);
  add_value(ctx, "portops::autograd::backward", gradient_, std::move(term));
}

void Leaf::clear() {
  const std::lock_guard lock(mutex_);
  gradient_ = {};
}

void Leaf::set_hook(std::function<void(const autograd::Variable&)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

std::function<void(const autograd::Variable&)> Leaf::hook() const {
  const std::lock_guard lock(mutex_);
  return hook_;
}

void add_value(const Context& ctx, const char* label, Value& sum, Value&& term) {
  if (!sum) {
    sum = std::move(term);
  } else if (sum.is_unshared()) {
    add_tensors(ctx, sum.tensor, term.tensor, sum.tensor);
  } else if (term.is_unshared()) {
    add_tensors(ctx, term.tensor, sum.tensor, term.tensor);  // the same bits: sums of two commute
    sum = std::move(term);
  } else {
    Value both = make_value(ctx, label, sum.tensor.type(), sum.tensor.extents(), sum.levels);
    add_tensors(ctx, sum.tensor, term.tensor, both.tensor);
    sum = std::move(both);
  }
}

}  // namespace portops::impl
