// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/node.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace portops::impl {

/// The calls of gradient operators in a backward pass, one after the other, as the generated functions make them: they
/// take what was kept and the gradients of the outputs, and ask for the tensors that the wanted gradients are written
/// to.
class GradientCall {
 public:
  /// Where the calls are released, what they kept ends with the gradient.
  GradientCall(const Context& ctx, bool releases) : ctx_(ctx), releases_(releases) {}

  /// `out_grads` of the call's outputs, some of which may be empty; `wanted` of the operands; both live until the end.
  /// `may_be_sparse`: a leaf that wants a sparse gradient is to have one.
  void begin(CallNode& node, std::span<Value> out_grads, std::span<const std::uint8_t> wanted, bool may_be_sparse);
  /// Gives up what was kept.
  void end();

  const Context& ctx() const { return ctx_; }
  template <class Params>
  const Params& params() const {
    return static_cast<const CallNodeOf<Params>&>(*node_).params;
  }

  bool wants(std::size_t operand) const { return wanted_[operand] != 0; }

  // What was kept, by its number.
  const TensorRef& tensor(std::size_t item) const { return kept_[item].tensor; }
  TensorOrNumber operand(std::size_t item) const {
    return node_->kept[item].is_number ? TensorOrNumber(node_->kept[item].number) : TensorOrNumber(tensor(item));
  }
  const Levels& levels(std::size_t item) const { return kept_[item].levels; }
  RaggedRef ragged(std::size_t item) const { return {tensor(item), levels(item)}; }
  /// From one to the last one.
  std::vector<TensorRef> list(std::size_t first) const;
  std::vector<RaggedRef> ragged_list(std::size_t first) const;

  const TensorRef& out_grad() const { return out_grads_[0].tensor; }
  /// Of all outputs: zeros where there is none.
  std::vector<TensorRef> out_grad_list();

  // The same as variables that lead to what they were made from: for a pass whose gradients are remembered.
  autograd::Variable variable(std::size_t item) const;
  autograd::VariableOrNumber operand_variable(std::size_t item) const;
  autograd::Variable out_grad_variable() const { return make_variable(out_grads_[0], out_grad_edges_[0]); }
  std::vector<autograd::Variable> out_grad_variables();
  /// Where these lead.
  void set_out_grad_edges(std::span<const Edge> edges) { out_grad_edges_ = edges; }

  /// Where a gradient is written; empty where it is not wanted.
  TensorRef gradient(std::size_t operand);
  /// The same, where the gradient of the output, or what was kept, may be written over.
  TensorRef gradient_over_out_grad(std::size_t operand) { return gradient_over(operand, out_grads_[0]); }
  TensorRef gradient_over_kept(std::size_t operand, std::size_t item);
  /// Of all operands.
  std::vector<TensorRef> gradient_list();

  /// Whether the gradient of the one operand is wanted sparse, and where it is then written.
  bool wants_sparse() const;
  const SparseValue& sparse_gradient(const Extents& rows, const Extents& values);

  /// What was written, by operands; or the sparse gradient.
  SparseValue& sparse() { return sparse_; }
  std::vector<Value>& gradients() { return gradients_; }

 private:
  TensorRef gradient_over(std::size_t operand, Value& value);
  Value taken(Kept& its, std::size_t index) const;

  const Context& ctx_;
  CallNode* node_ = nullptr;
  std::span<Value> out_grads_;
  std::span<const Edge> out_grad_edges_;
  std::span<const std::uint8_t> wanted_;
  bool releases_;
  bool may_be_sparse_ = false;
  std::vector<Value> kept_;
  std::vector<Value> gradients_;
  SparseValue sparse_;
};

}  // namespace portops::impl
