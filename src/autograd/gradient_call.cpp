// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "autograd/gradient_call.hpp"

#include "autograd/fill.hpp"
#include "core/types/fail.hpp"

#include <utility>

namespace portops::impl {
void GradientCall::begin(CallNode& node, std::span<Value> out_grads, std::span<const std::uint8_t> wanted,
                         bool may_be_sparse) {
  node_ = &node;
  out_grads_ = out_grads;
  wanted_ = wanted;
  may_be_sparse_ = may_be_sparse;
  for (std::size_t item = 0; item < node.kept.size(); ++item) kept_.push_back(taken(node.kept[item], item));
  gradients_.clear();
  gradients_.resize(node.operands.size());
  sparse_ = {};
}

void GradientCall::end() {
  kept_.clear();
  if (releases_) node_->kept = {};
}

Value GradientCall::taken(Kept& its, std::size_t index) const {
  if (its.packed == nullptr) return releases_ ? std::move(its.value) : its.value;
  const autograd::NoGradients not_remembered;
  const autograd::Variable unpacked = its.packed->hooks->unpack(ctx_, its.packed->value);
  const TensorRef& expected = its.value.tensor;
  if (unpacked.tensor().type() != expected.type() || unpacked.tensor().extents() != expected.extents()) {
    fail("portops::", node_->operation->grad_name, ": hooks unpacked ", name_of(unpacked.tensor().type()), " ",
         unpacked.tensor().extents().to_string(), " for ", node_->operation->kept_names[index], " that ",
         node_->operation->name, " kept, expected ", name_of(expected.type()), " ", expected.extents().to_string());
  }
  Value value = unpacked.data()->value;
  value.levels = its.value.levels;
  return value;
}

std::vector<TensorRef> GradientCall::list(std::size_t first) const {
  std::vector<TensorRef> tensors;
  for (std::size_t item = first; item < kept_.size(); ++item) tensors.push_back(kept_[item].tensor);
  return tensors;
}

std::vector<RaggedRef> GradientCall::ragged_list(std::size_t first) const {
  std::vector<RaggedRef> all;
  for (std::size_t item = first; item < kept_.size(); ++item) all.push_back(ragged(item));
  return all;
}

autograd::Variable GradientCall::variable(std::size_t item) const {
  const int operand = node_->operation->kept_operands[item];
  return make_variable(kept_[item],
                       operand == no_operand ? Edge() : node_->operands[static_cast<std::size_t>(operand)].edge);
}

autograd::VariableOrNumber GradientCall::operand_variable(std::size_t item) const {
  if (node_->kept[item].is_number) return node_->kept[item].number;
  return variable(item);
}

std::vector<autograd::Variable> GradientCall::out_grad_variables() {
  out_grad_list();
  std::vector<autograd::Variable> all;
  for (std::size_t output = 0; output < out_grads_.size(); ++output) {
    all.push_back(make_variable(out_grads_[output], out_grad_edges_[output]));
  }
  return all;
}

TensorRef GradientCall::gradient(std::size_t operand) {
  if (!wants(operand)) return {};
  const NodeOperand& its = node_->operands[operand];
  gradients_[operand] = make_value(ctx_, node_->operation->grad_label, its.type, its.extents, its.levels);
  return gradients_[operand].tensor;
}

TensorRef GradientCall::gradient_over(std::size_t operand, Value& value) {
  if (!wants(operand)) return {};
  const NodeOperand& its = node_->operands[operand];
  if (!value.is_unshared() || value.tensor.type() != its.type || value.tensor.extents() != its.extents ||
      !is_contiguous(value.tensor)) {
    return gradient(operand);
  }
  gradients_[operand] = value;
  gradients_[operand].levels = its.levels;
  return value.tensor;
}

TensorRef GradientCall::gradient_over_kept(std::size_t operand, std::size_t item) {
  return releases_ ? gradient_over(operand, kept_[item]) : gradient(operand);
}

bool GradientCall::wants_sparse() const {
  const Node* node = node_->operands[0].edge.node.get();
  return may_be_sparse_ && wants(0) && node->is_leaf() && static_cast<const Leaf*>(node)->is_sparse;
}

const SparseValue& GradientCall::sparse_gradient(const Extents& rows, const Extents& values) {
  const char* label = node_->operation->grad_label;
  sparse_ = {make_value(ctx_, label, ElementType::i64, rows), make_value(ctx_, label, node_->operands[0].type, values),
             make_value(ctx_, label, ElementType::i64, {})};
  return sparse_;
}

std::vector<TensorRef> GradientCall::gradient_list() {
  std::vector<TensorRef> tensors;
  for (std::size_t operand = 0; operand < node_->operands.size(); ++operand) tensors.push_back(gradient(operand));
  return tensors;
}

std::vector<TensorRef> GradientCall::out_grad_list() {
  std::vector<TensorRef> tensors;
  for (std::size_t output = 0; output < out_grads_.size(); ++output) {
    if (!out_grads_[output]) {
      const TensorRef& like = node_->output_shapes[output];
      out_grads_[output] = make_value(ctx_, node_->operation->grad_label, like.type(), like.extents());
      fill(ctx_, out_grads_[output].tensor, 0.0);
    }
    tensors.push_back(out_grads_[output].tensor);
  }
  return tensors;
}

}  // namespace portops::impl
