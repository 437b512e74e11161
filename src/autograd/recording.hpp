// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "autograd/node.hpp"
#include "autograd/observer.hpp"
#include "core/exec/region.hpp"

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace portops::impl {

/// A call of an operator with a gradient, as the generated functions make it: the inputs are kept, the operator is
/// called, what it wrote is changed, made or kept, and the call is finished. Where no gradient of an input is wanted,
/// or the scope wants none, nothing is kept.
class Recording {
 public:
  /// `variables`: the inputs that have gradients, in the order of the gradient operator.
  Recording(const Context& ctx, const Operation& operation, std::initializer_list<const autograd::Variable*> variables);
  /// A list of them.
  Recording(const Context& ctx, const Operation& operation, const std::vector<autograd::Variable>& variables);

  /// Whether the call is remembered.
  bool is_on() const { return is_on_; }
  /// Whether it is, and a gradient of this variable is wanted.
  bool wants(std::size_t variable) const { return is_on_ && operands_[variable].edge.node != nullptr; }

  /// Throws Error unless the input is a tensor.
  void check_given(std::string_view name, const autograd::Variable& input) const;
  /// Throws Error where the output is a leaf whose gradient is wanted: it has no place to remember the call.
  void check_in_place(std::string_view name, const autograd::Variable& output) const;

  /// What an output is written over, which takes on its levels. Throws Error where these are those of other rows.
  autograd::Variable in_place(std::string_view name, const autograd::Variable& place, const Levels& levels = {}) const;
  /// Memory for an output. Throws Error as in_place does.
  autograd::Variable output(std::string_view name, ElementType type, const Extents& extents,
                            const Levels& levels = {}) const;

  // What the gradient takes, in its order.
  void keep(const autograd::Variable& tensor, bool elements = true);
  void keep(const autograd::VariableOrNumber& operand, bool elements = true);
  void keep(const Levels& levels);
  void keep(const std::vector<autograd::Variable>& list, bool elements = true);

  /// Whether somebody wants to hear of the call; then the observer does.
  bool is_observed() const { return scopes().observer != nullptr; }
  void observe(const std::vector<ObservedInput>& inputs, const std::vector<ObservedAttribute>& attributes,
               const std::vector<ObservedOutput>& outputs) const {
    scopes().observer->called(operation_->name, inputs, attributes, outputs);
  }

  /// The call has written to memory that was there before.
  void change(const autograd::Variable& output) const;
  /// The call is finished: these are its outputs that have gradients, and its options.
  template <class Params>
  void finish(std::initializer_list<const autograd::Variable*> outputs, Params&& params) {
    finish(outputs.begin(), outputs.size(), std::forward<Params>(params));
  }
  template <class Params>
  void finish(const std::vector<autograd::Variable>& outputs, Params&& params) {
    std::vector<const autograd::Variable*> all;
    for (const autograd::Variable& output : outputs) all.push_back(&output);
    finish(all.data(), all.size(), std::forward<Params>(params));
  }

 private:
  template <class Params>
  void finish(const autograd::Variable* const* outputs, std::size_t count, Params&& params) {
    if (is_on_) {
      auto node = std::make_shared<CallNodeOf<std::remove_cvref_t<Params>>>(operation_);
      node->params = std::forward<Params>(params);
      link(node, outputs, count);
    }
    if (scopes().finds_nan) check_outputs(outputs, count);
  }
  void check_levels(std::string_view name, const Extents& extents, const Levels& levels) const;
  void add_operand(const autograd::Variable& variable);
  void keep_value(Kept& its, const autograd::Variable& tensor, bool elements);
  void link(const std::shared_ptr<CallNode>& node, const autograd::Variable* const* outputs, std::size_t count);
  void check_outputs(const autograd::Variable* const* outputs, std::size_t count) const;

  Region region_;
  const Context& ctx_;
  const Operation* operation_;
  bool is_on_ = false;
  std::vector<NodeOperand> operands_;
  std::vector<Kept> kept_;
};

/// Options of an operator that has none.
struct NoParams {};

// What generated functions hand to the plain call.
std::vector<TensorRef> tensors_of(const std::vector<autograd::Variable>& list);
std::vector<RaggedRef> ragged_of(const std::vector<autograd::Variable>& list);
/// The levels of the first that has some.
Levels shared_levels(std::initializer_list<const autograd::Variable*> variables);

}  // namespace portops::impl
