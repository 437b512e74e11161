// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/node.hpp"

#include "autograd/fill.hpp"
#include "portops/core/tensor.hpp"

#include <cstddef>
#include <utility>

namespace portops::impl {
namespace {

/// Numbers need only ascend along every graph; one counter for all threads does that, wherever a graph is made.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Moves the nodes that gradients go to out of the operands.
void take_nodes(std::vector<NodeOperand>& operands, std::vector<std::shared_ptr<Node>>& nodes) {
  for (NodeOperand& operand : operands) {
    if (operand.edge.node != nullptr) nodes.push_back(std::move(operand.edge.node));
  }
  operands.clear();
}

constexpr const char* label = "portops::autograd::backward";

/// Adds the rows of a sparse gradient to a dense one.
void add_to_dense(const Context& ctx, Value& sum, const SparseValue& term) {
  if (sum.is_unshared()) return add_rows(ctx, sum.tensor, term, sum.tensor);
  Value both = make_value(ctx, label, sum.tensor.type(), sum.tensor.extents(), sum.levels);
  add_rows(ctx, sum.tensor, term, both.tensor);
  sum = std::move(both);
}

/// One contiguous tensor behind the other.
Value joined(const Context& ctx, const TensorRef& a, const TensorRef& b) {
  Extents extents = a.extents();
  extents[0] += b.extent(0);
  Value out = make_value(ctx, label, a.type(), extents);
  auto* data = static_cast<std::byte*>(out.tensor.data());
  const auto bytes = static_cast<std::size_t>(a.size()) * size_of(a.type());
  copy(ctx, a, TensorRef(data, a.type(), a.extents(), a.extents().row_major_strides(), out.tensor.space()));
  copy(ctx, b, TensorRef(data + bytes, b.type(), b.extents(), b.extents().row_major_strides(), out.tensor.space()));
  return out;
}

/// What lies behind the count of a term has no place in the table, and is left out.
SparseValue merged(const Context& ctx, std::int64_t height, const SparseValue& a, const SparseValue& b) {
  const Value rows = joined(ctx, a.rows.tensor, b.rows.tensor), values = joined(ctx, a.values.tensor, b.values.tensor);
  if (ctx.backend() == Backend::cuda) {  // on hosts what made the counts has thrown
    std::int64_t* end = static_cast<std::int64_t*>(rows.tensor.data());
    for (const SparseValue* term : {&a, &b}) {
      const std::int64_t its = term->rows.tensor.size();
      end += its;
      if (its > 0) mark_refused(ctx, values.tensor.type(), term->count.tensor, end - 1);
    }
  }
  SparseValue out{make_value(ctx, label, ElementType::i64, rows.tensor.extents()),
                  make_value(ctx, label, values.tensor.type(), values.tensor.extents()),
                  make_value(ctx, label, ElementType::i64, {})};
  merge_rows_of(ctx, height, rows.tensor, values.tensor, out);
  return out;
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

SparseValue Leaf::sparse_gradient() const {
  const std::lock_guard lock(mutex_);
  return sparse_;
}

void Leaf::add(const Context& ctx, Value&& term) {
  const std::lock_guard lock(mutex_);
  if (sparse_) {
    add_to_dense(ctx, term, sparse_);
    sparse_ = {};
  }
  add_value(ctx, gradient_, std::move(term));
}

void Leaf::add(const Context& ctx, SparseValue&& term) {
  const std::lock_guard lock(mutex_);
  if (gradient_) {
    add_to_dense(ctx, gradient_, term);
  } else {
    sparse_ = sparse_ ? merged(ctx, value.tensor.extent(0), sparse_, term) : std::move(term);
  }
}

void Leaf::replace(Value gradient) {
  const std::lock_guard lock(mutex_);
  gradient_ = std::move(gradient);
  sparse_ = {};
}

void Leaf::replace(SparseValue gradient) {
  const std::lock_guard lock(mutex_);
  gradient_ = {};
  sparse_ = std::move(gradient);
}

void Leaf::set_hook(std::function<void(const autograd::Variable&)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

std::function<void(const autograd::Variable&)> Leaf::hook() const {
  const std::lock_guard lock(mutex_);
  return hook_;
}

void add_value(const Context& ctx, Value& sum, Value&& term) {
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
